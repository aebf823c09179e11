#include "os/heartbeat_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cstdlib>
#include <ctime>

#include "base/fd.h"

namespace divvy::agent {

void markWatch(const std::string& file) {
  if (utimensat(AT_FDCWD, file.c_str(), nullptr, AT_SYMLINK_NOFOLLOW) == 0) return;
  const Fd made(open(file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0660));
}

bool watchedLately(const std::string& file) {
  struct stat info {};
  if (lstat(file.c_str(), &info) != 0) return false;
  return std::abs(std::time(nullptr) - info.st_mtime) <= kWatchGapSeconds;
}

}  // namespace divvy::agent
