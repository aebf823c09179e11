#include "socket_folder.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>

namespace divvy::kubelet {

FileId fileId(const std::string& path) {
  struct stat info {};
  if (lstat(path.c_str(), &info) != 0) return {};
  return {info.st_dev, info.st_ino, info.st_ctim.tv_sec, info.st_ctim.tv_nsec};
}

SocketFolder::SocketFolder(std::string path)
    : path_(std::move(path)),
      events_(inotify_init1(IN_NONBLOCK | IN_CLOEXEC)),
      bell_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {}

SocketFolder::~SocketFolder() {
  if (events_ >= 0) close(events_);
  if (bell_ >= 0) close(bell_);
}

void SocketFolder::wait(int ms) {
  // Watching what is watched already changes nothing.
  inotify_add_watch(events_, path_.c_str(), IN_CREATE | IN_DELETE | IN_MOVED_TO | IN_MOVED_FROM);
  std::array<pollfd, 2> ready{pollfd{events_, POLLIN, 0}, pollfd{bell_, POLLIN, 0}};
  if (poll(ready.data(), ready.size(), ms) <= 0) return;
  std::array<char, 4096> gone;
  while (read(events_, gone.data(), gone.size()) > 0) {
  }
  while (read(bell_, gone.data(), sizeof(std::uint64_t)) > 0) {
  }
}

void SocketFolder::wake() {
  const std::uint64_t once = 1;
  // A bell that cannot ring any louder rings already.
  static_cast<void>(write(bell_, &once, sizeof once));
}

}  // namespace divvy::kubelet
