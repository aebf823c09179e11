// A container's share, as the scheduler wrote it on its pod. Pure.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "agent/placement.h"
#include "agent/protocol.h"
#include "device/device_health.h"
#include "device/inventory.h"
#include "kube/assignment.h"
#include "kube/pod.h"
#include "kube/registration.h"
#include "kubelet/pod_resources.h"
#include "tenant/tenant_record.h"

namespace divvy::agent {

// What `divvy run` would have asked, and what placement would have answered.
struct PodAllocation {
  PodContainer container;
  RunRequest request;
  Decision decision;
};

// `node`: ours. kUnavailable: not now (the pod has ended, is another node's, nothing is written);
// kCorrupt: what is written cannot be; kNotFound: a device that is not here.
// kUsage: what the pod itself says. `cards`: the same devices, with what is promised of them.
Result<PodAllocation> podShare(const kube::Pod& pod, const kubelet::PodDevices& held,
                               const std::string& node, const std::vector<Device>& devices,
                               const std::vector<Card>& cards);

// A pod that has something of an excluded card (`has`: UUIDs) keeps it; nobody else gets any of it:
// kUnavailable.
Result<void> openTo(const Decision& decision, const std::vector<Device>& devices,
                    const std::set<std::string>& has);

// UUIDs of all that its scheduler says it has; empty: it says nothing that is understood.
std::set<std::string> assignedCards(const kube::Pod& pod);

// What a text of kAllocated's form gives that container of the pod. kUnavailable: there is none of
// that name; kCorrupt.
Result<std::vector<kube::AssignedDevice>> assignedIn(const kube::Pod& pod,
                                                     const std::string& container,
                                                     const std::string& text);
// What so much of a device is: all whole MiB are all of it. `card`: the device, and what is
// promised of it.
Bytes limitOf(const kube::AssignedDevice& given, const Device& device, const Card& card);

// Memory that tenants may be promised of a device, where all of it may be so often (permille).
Bytes offeredBy(const Device& device, unsigned permille);

// The node's devices in the scheduler's words, on these terms, without those that are excluded;
// each may be shared by `count`, and promises `cores` percent. `health`: of them.
std::vector<kube::RegisteredDevice> registrationOf(const std::vector<Device>& devices,
                                                   const std::vector<DeviceTerms>& terms,
                                                   unsigned count, const DeviceHealth& health = {},
                                                   unsigned cores = 100);

}  // namespace divvy::agent
