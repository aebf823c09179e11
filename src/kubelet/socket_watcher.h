// The folder in which a kubelet and its plugins have their sockets.
#pragma once

#include <memory>

#include "base/fd.h"
#include "kubelet/kubelet_dirs.h"

namespace divvy::kubelet {

// Tells when something comes into the folder or leaves it. wait() is one thread's, wake() anyone's.
class SocketWatcher {
 public:
  explicit SocketWatcher(std::shared_ptr<KubeletDirs> sockets);

  // Until something happens there, somebody calls wake(), or so long. May return for nothing; a
  // folder that is not there yet is looked for again at each call.
  void wait(int ms);
  void wake();

 private:
  std::shared_ptr<KubeletDirs> sockets_;
  FileId watched_;  // the folder that events_ are of
  Fd events_;       // inotify
  Fd bell_;         // eventfd
};

}  // namespace divvy::kubelet
