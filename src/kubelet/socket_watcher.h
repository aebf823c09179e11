// Watches the folder with the sockets of the kubelet and its plugins.
#pragma once

#include <memory>

#include "base/fd.h"
#include "kubelet/kubelet_dirs.h"

namespace divvy::kubelet {

// Waits for files that are added to the folder or removed. wait() is for one thread, notify() for
// any.
class SocketWatcher {
 public:
  explicit SocketWatcher(std::shared_ptr<KubeletDirs> sockets);

  // Waits until the folder changes, notify() is called, or `ms` milliseconds have passed. It may
  // return early. A folder that does not exist yet is looked up again at each call.
  void wait(int ms);
  void notify();

 private:
  std::shared_ptr<KubeletDirs> sockets_;
  FileId watched_;  // folder of events_
  Fd events_;       // inotify
  Fd bell_;         // eventfd
};

}  // namespace divvy::kubelet
