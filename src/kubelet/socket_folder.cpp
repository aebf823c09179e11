#include "socket_folder.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace divvy::kubelet {

FileId fileId(const std::string& path) {
  struct stat info {};
  if (lstat(path.c_str(), &info) != 0) return {};
  return {info.st_dev, info.st_ino, info.st_ctim.tv_sec, info.st_ctim.tv_nsec};
}

bool isListenedTo(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return false;
  std::memcpy(address.sun_path, path.c_str(), path.size());
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return false;
  const bool heard = connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  // Who has more callers than he can take is there, too.
  const bool busy = !heard && errno == EAGAIN;
  close(fd);
  return heard || busy;
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
