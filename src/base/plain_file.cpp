#include "base/plain_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace divvy {
namespace {

Error failed(const std::string& path) {
  const int code = errno;
  const ErrorCode kind = code == ENOENT ? ErrorCode::kNotFound : ErrorCode::kIo;
  return {kind, "reading " + path + ": " + std::strerror(code)};
}

Result<std::string> readAll(int file, const std::string& path, std::size_t most) {
  std::string text;
  std::array<char, 65536> part;
  for (;;) {
    const ssize_t got = read(file, part.data(), part.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return failed(path);
    if (got == 0) return text;
    text.append(part.data(), static_cast<std::size_t>(got));
    if (text.size() > most)
      return Error{ErrorCode::kCorrupt, path + " has more than " + std::to_string(most) + " bytes"};
  }
}

}  // namespace

Result<std::string> readPlainFile(const std::string& path, std::size_t most) {
  // A pipe nobody writes to would be waited for, and a device may act on being opened.
  struct stat info {};
  if (lstat(path.c_str(), &info) != 0) return failed(path);
  if (!S_ISREG(info.st_mode)) return Error{ErrorCode::kCorrupt, path + " is not a regular file"};
  const Fd file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  return file.valid() ? readPlainFile(file, path, most) : failed(path);
}

Result<std::string> readPlainFile(const Fd& file, const std::string& path, std::size_t most) {
  struct stat info {};
  if (fstat(file.get(), &info) != 0) return failed(path);
  if (S_ISREG(info.st_mode)) return readAll(file.get(), path, most);
  return Error{ErrorCode::kCorrupt, path + " is not a regular file"};
}

}  // namespace divvy
