#include "files/new_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "base/folder_mode.h"

namespace divvy::ledger {
namespace {

Result<void> writeAll(int fd, const void* bytes, std::size_t size) {
  std::size_t sent = 0;
  while (sent < size) {
    const ssize_t n = write(fd, static_cast<const char*>(bytes) + sent, size - sent);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return ioError("writing", errno);
    sent += static_cast<std::size_t>(n);
  }
  return {};
}

}  // namespace

Error ioError(const std::string& doing, int code) {
  return {ErrorCode::kIo, doing + ": " + std::generic_category().message(code)};
}

Result<void> writeFile(int dir, const NewFile& file) {
  const int fd = openat(dir, file.name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd < 0) return ioError(std::string("creating ") + file.name, errno);
  Result<void> result = writeAll(fd, file.start, file.start_size);
  if (result && ftruncate(fd, static_cast<off_t>(file.size)) != 0) {
    result = ioError(std::string("sizing ") + file.name, errno);
  }
  if (result) {
    const int code = posix_fallocate(fd, 0, static_cast<off_t>(file.allocated));
    if (code != 0) result = ioError(std::string("preallocating ") + file.name, code);
  }
  if (result && (fchmod(fd, modeIn(dir, file.mode)) != 0 || fsync(fd) != 0)) {
    result = ioError(std::string("finishing ") + file.name, errno);
  }
  close(fd);
  return result;
}

}  // namespace divvy::ledger
