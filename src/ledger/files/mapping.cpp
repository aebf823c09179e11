#include "files/mapping.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

namespace divvy::ledger {

Error systemError(const std::string& doing) {
  const int code = errno;
  return {code == ENOENT || code == ENOTDIR ? ErrorCode::kNotFound : ErrorCode::kIo,
          doing + ": " + std::generic_category().message(code)};
}

Result<Mapping> Mapping::open(const std::filesystem::path& path, std::size_t size) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0) return systemError("opening " + path.string());
  struct stat info {};
  if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) {
    close(fd);
    return Error(ErrorCode::kCorrupt, path.string() + " is not a plain file");
  }
  if (static_cast<std::size_t>(info.st_size) < size) {
    close(fd);
    return Error(ErrorCode::kCorrupt, path.string() +
                                          " is truncated: " + std::to_string(info.st_size) +
                                          " bytes of " + std::to_string(size));
  }
  void* memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (memory == MAP_FAILED) {
    Error error = systemError("mapping " + path.string());
    close(fd);
    return error;
  }
  return Mapping(fd, memory, size);
}

Mapping::Mapping(Mapping&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      memory_(std::exchange(other.memory_, nullptr)),
      size_(other.size_) {}

Mapping::~Mapping() {
  if (memory_ != nullptr) munmap(memory_, size_);
  if (fd_ >= 0) close(fd_);
}

Result<std::size_t> Mapping::copyStart(void* to, std::size_t size) const {
  std::size_t got = 0;
  while (got < size) {
    const ssize_t n = pread(fd_, static_cast<char*>(to) + got, size - got, static_cast<off_t>(got));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return Error(ErrorCode::kIo, systemError("reading tenant page").message());
    if (n == 0) break;
    got += static_cast<std::size_t>(n);
  }
  std::memset(static_cast<char*>(to) + got, 0, size - got);
  return got;
}

}  // namespace divvy::ledger
