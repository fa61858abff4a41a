// A file mapped read-only into memory; the mapping lives as long as the object.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "warpfold/core/error.h"

namespace warpfold {

class MemoryMap {
 public:
  // Errors: kIo with the path and the system's reason. An empty file gives an empty span.
  static Result<MemoryMap> open(const std::string& path);

  MemoryMap() = default;
  MemoryMap(MemoryMap&& other) noexcept;
  MemoryMap& operator=(MemoryMap&& other) noexcept;
  ~MemoryMap();

  std::span<const std::byte> bytes() const { return {data_, size_}; }

  // Tells the system that these bytes will not be read again soon, so that they leave the resident set.
  // They stay valid: a later read fetches them from the file. `part` must lie inside bytes().
  void release(std::span<const std::byte> part) const;

 private:
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace warpfold
