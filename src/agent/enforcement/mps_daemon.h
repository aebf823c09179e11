// Finds a running MPS control daemon. Private.
#pragma once

#include <sys/types.h>

#include <string>

namespace divvy::agent {

struct MpsDaemon {
  std::string dir;      // pipe directory
  int pid = 0;          // 0: none
  std::string missing;  // why there is none, as part of a sentence; empty: it runs
};

// Looks in `dir` (empty: NVIDIA's default, /tmp/nvidia-mps) for a daemon that `user` may use: the
// user's own or root's. Sends nothing and never blocks. The daemon's socket outlives the daemon; so
// the process in its PID file is checked.
MpsDaemon findMpsDaemon(const std::string& dir, uid_t user);

}  // namespace divvy::agent
