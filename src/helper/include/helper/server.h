// The helper: a small process with the privileges that a node's agent needs.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "driver/nvml.h"
#include "kubelet/kubelet_dirs.h"

namespace divvy::helper {

struct ServerOptions {
  std::string socket;      // of the listening socket; its folder exists
  unsigned agent_uid = 0;  // uid that is served, besides root
  // Folders shared with the agent again when an agent starts, because an earlier one may have run
  // as root.
  std::vector<std::string> lent;
  std::shared_ptr<kubelet::KubeletDirs> sockets;
  std::string cdi_dir;  // runtime's folder of CDI specs; empty: none are written
  // Called when processes of a device are first requested, and again while it fails.
  std::function<Result<driver::Nvml>()> open_driver;
  std::function<void(const std::string&)> say;  // called from any thread
  // Folders of the driver's libraries, in addition to the system's.
  std::vector<std::string> libraries;
  std::string cards;  // folder with simulated cards' state; empty: none
};

// Serves until SIGTERM or SIGINT, each connection on a thread of its own. From its start the
// process makes only listed system calls (seccomp_filter.h). If the kernel has Landlock, it opens
// only files that `options` name and the system's libraries (landlock.h); without Landlock it
// reports that. All folders in `options` exist before the call. Returns when no request is served
// any more, or after a second: a thread that waits for an unresponsive driver lasts until the
// process ends.
Result<void> serve(const ServerOptions& options);

}  // namespace divvy::helper
