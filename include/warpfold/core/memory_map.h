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

  // Advice to the system; it changes no byte, and parts outside bytes() are ignored.
  // prefetch: maps these pages in one step instead of one fault each. release: these bytes will not be read again
  // soon, so they leave the resident set; a later read fetches them from the file.
  void prefetch(std::span<const std::byte> part) const;
  void release(std::span<const std::byte> part) const;

 private:
  void advise(std::span<const std::byte> part, bool whole_pages_only, int advice) const;

  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace warpfold
