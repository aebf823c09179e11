// Which pod a process is in, by the kernel's word. Source: the kubelet's names of pods' groups.
#pragma once

#include <string>
#include <string_view>

namespace divvy::agent {

// The UID of the pod that a /proc/PID/cgroup names; empty: none. The first line that names one
// decides, in this order: memory of version 1, version 2, systemd of version 1. In it the first
// part of the path that is a pod's decides: "pod<UID>" with the cgroupfs driver,
// "...-pod<UID>.slice" with
// '_' for '-' with systemd's. What is below it the process may have made itself. Pure.
std::string podOfGroup(std::string_view text);

// True if that is this pod, whatever the form of its UID. Pure.
bool groupIsOfPod(std::string_view text, const std::string& uid);

// The same of a living process; empty also: it has gone.
std::string podOf(int pid);

// groupIsOfPod() of a living process, seen from the namespaces that we are in. False: it has gone,
// or is another's.
bool processIsOfPod(int pid, const std::string& uid);

}  // namespace divvy::agent
