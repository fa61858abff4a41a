#include "warpfold/core/memory_map.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <functional>
#include <utility>

#include <fmt/format.h>

namespace warpfold {

Result<MemoryMap> MemoryMap::open(const std::string& path) {
  // Non-blocking, so that a pipe is refused below instead of waited for.
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
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

void MemoryMap::advise(std::span<const std::byte> part, bool whole_pages_only, int advice) const {
  const std::less_equal<const std::byte*> before;
  if (part.empty() || !before(data_, part.data()) || !before(part.data() + part.size(), data_ + size_)) return;
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto first = reinterpret_cast<std::uintptr_t>(part.data()), last = first + part.size();
  const std::uintptr_t begin = (whole_pages_only ? first + page - 1 : first) / page * page;
  const std::uintptr_t end = (whole_pages_only ? last : last + page - 1) / page * page;
  if (end > begin) ::madvise(reinterpret_cast<void*>(begin), end - begin, advice);
}

void MemoryMap::prefetch(std::span<const std::byte> part) const {
#ifdef MADV_POPULATE_READ
  advise(part, false, MADV_POPULATE_READ);
#else
  advise(part, false, MADV_WILLNEED);
#endif
}

void MemoryMap::release(std::span<const std::byte> part) const {
  advise(part, true, MADV_DONTNEED);  // the first and last page may hold a neighbour's bytes
}

}  // namespace warpfold
