#include "socket_watcher.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <utility>

namespace divvy::kubelet {

SocketWatcher::SocketWatcher(std::shared_ptr<KubeletDirs> sockets)
    : sockets_(std::move(sockets)), bell_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {}

void SocketWatcher::wait(int ms) {
  // The change times of the folder may differ; only its identity matters.
  const FileId folder = sockets_->fileIdOf("");
  if (!events_.valid() || folder.inode != watched_.inode || folder.device != watched_.device) {
    Result<Fd> events = sockets_->watch();
    events_ = events ? std::move(*events) : Fd();
    watched_ = folder;
    // Changes before the new watch began were not reported.
    if (events_.valid()) return;
  }
  std::array<pollfd, 2> ready{pollfd{events_.get(), POLLIN, 0}, pollfd{bell_.get(), POLLIN, 0}};
  if (poll(ready.data(), ready.size(), ms) <= 0) return;
  std::array<char, 4096> gone;
  while (events_.valid() && read(events_.get(), gone.data(), gone.size()) > 0) {
  }
  while (read(bell_.get(), gone.data(), sizeof(std::uint64_t)) > 0) {
  }
}

void SocketWatcher::notify() {
  const std::uint64_t once = 1;
  // If the counter is at its maximum, the reader is woken anyway.
  [[maybe_unused]] const ssize_t written = write(bell_.get(), &once, sizeof once);
}

}  // namespace divvy::kubelet
