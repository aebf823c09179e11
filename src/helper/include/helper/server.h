// The part of a node's agent that needs rights: a process of its own that has them and does little.
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
  std::string socket;      // where it listens; its folder is there
  unsigned agent_uid = 0;  // who is answered, beside root
  // Folders that are lent again whenever an agent begins: its predecessor may have been root.
  std::vector<std::string> lent;
  std::shared_ptr<kubelet::KubeletDirs> sockets;
  std::string cdi_dir;  // where the runtime looks for devices; empty: nothing is written there
  // When somebody asks first who uses a device; again while it fails.
  std::function<Result<driver::Nvml>()> open_driver;
  std::function<void(const std::string&)> say;  // any thread
  std::vector<std::string> libraries;  // folders beside the system's that the driver is loaded from
  std::string cards;                   // folder of simulated cards' state; empty: none
};

// Answers until SIGTERM or SIGINT, each connection on a thread of its own. From its beginning on
// this process makes the system calls of a list (seccomp_filter.h), and opens the files that the
// terms name, and the system's libraries, where the kernel has Landlock (landlock.h); where it has
// not that is said. Folders of the terms are there before. Returns once nobody is answered any
// more, or a second later: who waits for a driver that does not answer is left to the process' end.
Result<void> serve(const ServerOptions& terms);

}  // namespace divvy::helper
