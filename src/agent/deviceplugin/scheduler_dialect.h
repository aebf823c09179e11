// What a node says of its devices to the scheduler that places its pods, and what that one says of
// the pods: translated where it comes in and goes out, so that the agent knows one language. Pure.
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

// Annotations of the node; empty: it is not to be there. `scores`: of links between devices, as
// HAMi's has them; Volcano's has none. `lodgers`: UIDs of the pods here that the scheduler gave
// something; Volcano's counts anew when they change.
std::map<std::string, std::string> registrationIn(
    Dialect dialect, const std::vector<kube::RegisteredDevice>& devices, const std::string& scores,
    const std::set<std::string>& lodgers);

// Of the node's annotations those that an agent of ours left which spoke another dialect: they are
// to go. What other programs wrote is theirs.
std::set<std::string> leftBehind(Dialect dialect, const std::map<std::string, std::string>& notes);

// Volcano's scheduler has the node placed on in turns. It then binds a pod that finds the lock
// taken, as the second of a gang may, without saying what it was given (its 1.10, deviceshare).
bool takesTurns(Dialect dialect, const std::map<std::string, std::string>& notes);

// Gives the pod the assignment that ours would have written, where the scheduler wrote its own; one
// that was placed by ours before is left. kUnavailable: there is neither. kCorrupt: it cannot be
// understood.
Result<void> understand(Dialect dialect, const std::vector<kube::RegisteredDevice>& devices,
                        kube::Pod* pod);

// What the node's status says can be asked for beside devices, by resource: MiB and percent of all
// of them; of Volcano of those that are healthy. Empty where the node is not to say it.
std::map<std::string, std::uint64_t> announcedOf(
    const ClusterNode& cluster, const std::vector<kube::RegisteredDevice>& devices);

}  // namespace divvy::agent
