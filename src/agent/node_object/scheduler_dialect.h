// The annotations that node and scheduler exchange, translated so that the rest of the agent knows
// one dialect. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "agent/cluster_node.h"
#include "base/result.h"
#include "kube/pod.h"
#include "kube/registration.h"

namespace divvy::agent {

// The annotation that registers devices.
const char* registrationKey(Dialect dialect);

// The annotation of pods that their scheduler writes.
const char* assignmentKey(Dialect dialect);

// The node's annotations; an empty value: to be removed. `scores`: of links between devices, in
// HAMi's form; Volcano's dialect has none. `lodgers`: UIDs of this node's pods with an assignment;
// Volcano recounts when they change.
std::map<std::string, std::string> registrationIn(
    Dialect dialect, const std::vector<kube::RegisteredDevice>& devices, const std::string& scores,
    const std::set<std::string>& lodgers);

// The node's annotations that an agent of ours left in another dialect and that are to be removed.
// Annotations of other programs are not among them.
std::set<std::string> leftBehind(Dialect dialect, const std::map<std::string, std::string>& notes);

// Whether Volcano locks the node for each placement. It then binds a pod that finds the lock taken,
// as the second pod of a gang may, without an assignment (its 1.10, deviceshare).
bool takesTurns(Dialect dialect, const std::map<std::string, std::string>& notes);

// Adds the assignment that our scheduler would have written, if another scheduler wrote its own. An
// assignment of ours is left as it is. kUnavailable: there is neither. kCorrupt: it cannot be
// decoded.
Result<void> understand(Dialect dialect, const std::vector<kube::RegisteredDevice>& devices,
                        kube::Pod* pod);

// The capacity that the node's status publishes beside devices, by resource: sums of MiB and
// percent. Volcano's memory and cores are of healthy devices only. Empty: nothing is published.
std::map<std::string, std::uint64_t> announcedOf(
    const ClusterNode& cluster, const std::vector<kube::RegisteredDevice>& devices);

}  // namespace divvy::agent
