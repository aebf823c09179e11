// Which pod a process is in, by the kernel's word. Source: the kubelet's names of pods' groups.
#pragma once

#include <string>
#include <string_view>

namespace divvy::agent {

// `text`: a /proc/PID/cgroup. True if one of its groups is that pod's, or below it: "pod<UID>" with
// the cgroupfs driver, "kubepods-...-pod<UID>.slice" with '_' for '-' with systemd's. Pure.
bool groupIsOfPod(std::string_view text, const std::string& uid);

// The UID of the pod that a /proc/PID/cgroup names; empty: none. Pure.
std::string podOfGroup(std::string_view text);

// The same of a living process; empty also: it has gone.
std::string podOf(int pid);

// groupIsOfPod() of a living process, seen from the namespaces that we are in. False: it has gone,
// or is another's.
bool processIsOfPod(int pid, const std::string& uid);

}  // namespace divvy::agent
