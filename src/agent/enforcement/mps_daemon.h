// Finds a running MPS control daemon. Private.
#pragma once

#include <sys/types.h>

#include <string>

namespace divvy::agent {

struct MpsDaemon {
  std::string dir;      // its pipe directory
  int pid = 0;          // 0: none
  std::string missing;  // why none, as part of a sentence; empty: it runs
};

// Looks in `dir` (empty: NVIDIA's default, /tmp/nvidia-mps) for a daemon that `user` may use: its
// own or root's. Talks to nobody and never waits: the daemon's socket outlives it, so what counts
// is that the process named in its PID file is one.
MpsDaemon findMpsDaemon(const std::string& dir, uid_t user);

}  // namespace divvy::agent
