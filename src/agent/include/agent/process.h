// Processes as the agent needs them: identity that survives PID reuse, exit as a descriptor, and
// who carries a tenant's directory in its environment.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/fd.h"

namespace divvy::agent {

// A process and its start time (clock ticks since boot, /proc/<pid>/stat field 22). 0, 0 = none.
struct ProcessId {
  int pid = 0;
  std::uint64_t start_time = 0;
  friend auto operator<=>(const ProcessId&, const ProcessId&) = default;
};

// Start time of the process with this number, zombies included; 0 when there is none.
std::uint64_t startTimeOf(int pid);

// True while the process is stopped (SIGSTOP and its like) or held by a debugger.
bool isStopped(int pid);

// PID of the parent; 0 when there is no such process.
int parentOf(int pid);

// DIVVY_TENANT_DIR in the environment that the process was started with; empty: none, or not ours
// to read.
std::string tenantDirOf(int pid);

// A pidfd of exactly this process, zombies included; invalid when there is none. Close-on-exec.
Fd openProcess(const ProcessId& id);

// True once all threads of the process behind the pidfd have ended. Never blocks.
bool hasEnded(int pidfd);

// Living processes of `uid` whose environment names `tenant_dir` as DIVVY_TENANT_DIR. A process in
// the middle of execve may be missed by one scan, so absence is believed after two.
std::vector<ProcessId> processesIn(const std::string& tenant_dir, uid_t uid);

// Living processes, of whomever, of which that is true. As with processesIn.
std::vector<ProcessId> processesWhere(const std::function<bool(int pid)>& holds);

// The user's name, or the number where it has none.
std::string userName(uid_t uid);

}  // namespace divvy::agent
