// A container's share, as the scheduler wrote it into its pod. Pure.
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

// The request that `divvy run` would have sent, and the decision that placement would have made.
struct PodAllocation {
  PodContainer container;
  RunRequest request;
  Decision decision;
};

// `node`: this node. `cards`: the same devices, with their allocations.
// kUnavailable: not now (the pod has ended, is on another node, or has no assignment). kCorrupt:
// the assignment is not valid. kNotFound: a device is not on this node. kUsage: an annotation of
// the user is not valid.
Result<PodAllocation> podShare(const kube::Pod& pod, const kubelet::PodDevices& held,
                               const std::string& node, const std::vector<Device>& devices,
                               const std::vector<Card>& cards);

// kUnavailable: the decision has an excluded card, and the pod has nothing of it (`has`: UUIDs). A
// pod keeps its cards.
Result<void> openTo(const Decision& decision, const std::vector<Device>& devices,
                    const std::set<std::string>& has);

// UUIDs of all cards in the pod's assignment; empty: none, or not decodable.
std::set<std::string> assignedCards(const kube::Pod& pod);

// The devices of that container in an assignment (`text`, in the form of kAllocated). kUnavailable:
// the pod has no such container. kCorrupt: the text cannot be decoded.
Result<std::vector<kube::AssignedDevice>> assignedIn(const kube::Pod& pod,
                                                     const std::string& container,
                                                     const std::string& text);
// The bytes of an assignment on a device: all whole MiB mean the whole memory. `card`: the device
// with its allocations.
Bytes limitOf(const kube::AssignedDevice& given, const Device& device, const Card& card);

// Memory of a device that may be promised, with overcommit `permille`.
Bytes offeredBy(const Device& device, unsigned permille);

// The registration of the node's devices on these terms, without excluded devices. Each may be
// shared by `count` containers and promises `cores` percent. `health`: of the devices.
std::vector<kube::RegisteredDevice> registrationOf(const std::vector<Device>& devices,
                                                   const std::vector<DeviceTerms>& terms,
                                                   unsigned count, const DeviceHealth& health = {},
                                                   unsigned cores = 100);

}  // namespace divvy::agent
