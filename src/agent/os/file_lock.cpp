#include "agent/file_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>

namespace divvy::agent {

bool holdsPath(const Fd& lock, const std::string& path) {
  struct stat locked {};
  struct stat present {};
  return fstat(lock.get(), &locked) == 0 && stat(path.c_str(), &present) == 0 &&
         locked.st_ino == present.st_ino && locked.st_dev == present.st_dev;
}

Fd lockPath(const std::string& path, bool directory, bool wait) {
  const int flags =
      O_CLOEXEC | O_NOFOLLOW | (directory ? O_RDONLY | O_DIRECTORY : O_RDWR | O_CREAT);
  for (;;) {
    Fd fd(open(path.c_str(), flags, 0660));
    if (!fd.valid()) return fd;
    while (flock(fd.get(), LOCK_EX | (wait ? 0 : LOCK_NB)) != 0) {
      if (errno != EINTR) return Fd();
    }
    if (holdsPath(fd, path)) return fd;
    if (directory) {  // removed meanwhile: the caller creates it again
      errno = ENOENT;
      return Fd();
    }
  }
}

}  // namespace divvy::agent
