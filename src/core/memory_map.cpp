#include "warpfold/core/memory_map.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <utility>

#include <fmt/format.h>

namespace warpfold {

Result<MemoryMap> MemoryMap::open(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return fail(ErrorCode::kIo, fmt::format("{}: {}", path, std::strerror(errno)));
  struct stat st {};
  if (::fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
    const int e = errno;
    const bool regular = S_ISREG(st.st_mode);
    ::close(fd);
    return fail(ErrorCode::kIo, fmt::format("{}: {}", path, regular ? std::strerror(e) : "not a regular file"));
  }
  MemoryMap map;
  map.size_ = static_cast<std::size_t>(st.st_size);
  if (map.size_ > 0) {
    void* p = ::mmap(nullptr, map.size_, PROT_READ, MAP_PRIVATE, fd, 0);
    if (p == MAP_FAILED) {
      const int e = errno;
      ::close(fd);
      map.size_ = 0;
      return fail(ErrorCode::kIo, fmt::format("{}: cannot map {} bytes: {}", path, st.st_size, std::strerror(e)));
    }
    map.data_ = static_cast<const std::byte*>(p);
  }
  ::close(fd);
  return map;
}

MemoryMap::MemoryMap(MemoryMap&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

MemoryMap& MemoryMap::operator=(MemoryMap&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

MemoryMap::~MemoryMap() {
  if (data_) ::munmap(const_cast<std::byte*>(data_), size_);
}

void MemoryMap::release(std::span<const std::byte> part) const {
  // Only whole pages inside `part`: its first and last page may hold a neighbour's bytes.
  const std::uintptr_t page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto begin = (reinterpret_cast<std::uintptr_t>(part.data()) + page - 1) / page * page;
  const auto end = (reinterpret_cast<std::uintptr_t>(part.data()) + part.size()) / page * page;
  if (end > begin) ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
}

}  // namespace warpfold
