// The pod of a process, according to the kernel. Source: the kubelet's names of pods' cgroups.
#pragma once

#include <string>
#include <string_view>

namespace divvy::agent {

// Returns the UID of the pod in a /proc/PID/cgroup; empty: none. The first line with a pod decides,
// in this order: memory of version 1, version 2, systemd of version 1.
// In a line, the first part of the path with a pod decides: "pod<UID>" with the cgroupfs driver;
// "...-pod<UID>.slice", with '_' for '-', with systemd's. The process itself may have made the
// parts below. Pure.
std::string podOfGroup(std::string_view text);

// Whether the text names this pod, whatever the form of its UID. Pure.
bool groupIsOfPod(std::string_view text, const std::string& uid);

// The same for a living process; empty also if it has ended.
std::string podOf(int pid);

// groupIsOfPod() for a living process, seen from our namespaces. False also if it has ended.
bool processIsOfPod(int pid, const std::string& uid);

}  // namespace divvy::agent
