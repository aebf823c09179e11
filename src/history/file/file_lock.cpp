#include "file/file_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace divvy::history {

Result<Fd> lockFile(const std::string& path) {
  Fd file(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file.valid())
    return Error(ErrorCode::kIo, "cannot open " + path + ": " + std::strerror(errno));
  char text[128] = {};
  if (flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
    const int reason = errno;
    if (reason != EWOULDBLOCK)
      return Error(ErrorCode::kIo, "cannot lock " + path + ": " + std::strerror(reason));
    const ssize_t size = pread(file.get(), text, sizeof text - 1, 0);
    std::string holder(text, size > 0 ? static_cast<std::size_t>(size) : 0);
    for (char& letter : holder)
      if (letter < 0x20 || letter > 0x7e) letter = ' ';
    return Error(ErrorCode::kUnavailable,
                 "another process has locked " + path + " (" +
                     (holder.empty() ? "it has not written its ID" : holder) +
                     "); end it, or choose another file for the history");
  }
  char host[64] = {};
  gethostname(host, sizeof host - 1);
  const std::string holder = "process " + std::to_string(getpid()) + " of " + host;
  // The text is for messages only.
  if (ftruncate(file.get(), 0) == 0 && pwrite(file.get(), holder.data(), holder.size(), 0) < 0) {
  }
  return file;
}

}  // namespace divvy::history
