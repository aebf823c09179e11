// Processes: identity that survives PID reuse, exit as a descriptor, and the processes that have a
// tenant's directory in their environment.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/fd.h"

namespace divvy::agent {

// A process and its start time (clock ticks since boot, /proc/<pid>/stat field 22). 0, 0: none.
struct ProcessId {
  int pid = 0;
  std::uint64_t start_time = 0;
  friend auto operator<=>(const ProcessId&, const ProcessId&) = default;
};

// Start time of the process with this PID, zombies included; 0: no such process.
std::uint64_t startTimeOf(int pid);

// True while the process is stopped (as by SIGSTOP) or held by a debugger.
bool isStopped(int pid);

// PID of the parent; 0: no such process.
int parentOf(int pid);

// DIVVY_TENANT_DIR in the environment at the process' start; empty: none, or not readable for us.
std::string tenantDirOf(int pid);

// A pidfd of exactly this process, zombies included; invalid: no such process. Close-on-exec.
Fd openProcess(const ProcessId& id);

// True once all threads of the process behind the pidfd have ended. Never blocks.
bool hasEnded(int pidfd);

// Living processes of `uid` with DIVVY_TENANT_DIR=`tenant_dir` in their environment. A scan may
// miss a process during execve, so a process is absent only after two scans without it.
std::vector<ProcessId> processesIn(const std::string& tenant_dir, uid_t uid);

// Living processes of any user for which `holds` returns true. A scan may miss a process, as in
// processesIn().
std::vector<ProcessId> processesWhere(const std::function<bool(int pid)>& holds);

// The user's name, or the number if it has none.
std::string userName(uid_t uid);

}  // namespace divvy::agent
