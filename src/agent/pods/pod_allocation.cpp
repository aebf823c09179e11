#include "pods/pod_allocation.h"

#include <algorithm>

#include "engine/memory.h"
#include "kube/assignment.h"
#include "pods/pod_annotations.h"

namespace divvy::agent {
namespace {

// Source: facts on the incumbent's control plane, 2.1 and 2.2.
constexpr const char* kAllocated = "hami.io/vgpu-devices-allocated";
constexpr const char* kBrand = "NVIDIA";
constexpr unsigned kWhole = 100;

std::string wordsFor(const kubelet::PodDevices& held) {
  return "container " + held.container + " of pod " + held.namespace_name + "/" + held.pod;
}

// Index of the container in assignments: init containers come first. -1: no such container.
int placeOf(const kube::Pod& pod, const std::string& name) {
  int at = 0;
  for (const auto* list : {&pod.init, &pod.containers}) {
    for (const kube::PodContainer& one : *list) {
      if (one.name == name) return at;
      ++at;
    }
  }
  return -1;
}

Result<std::vector<kube::AssignedDevice>> assignedTo(const kube::Pod& pod,
                                                     const kubelet::PodDevices& held) {
  const auto written = pod.meta.annotations.find(kAllocated);
  if (written == pod.meta.annotations.end())
    return Error{ErrorCode::kUnavailable,
                 "pod " + held.namespace_name + "/" + held.pod + " has no " + kAllocated +
                     ": was it placed by a scheduler that knows nothing of shares?"};
  Result<std::vector<kube::AssignedDevice>> given =
      assignedIn(pod, held.container, written->second);
  if (!given) return std::move(given).error().context(kAllocated);
  if (given->size() != held.ids.size())
    return Error{ErrorCode::kCorrupt, wordsFor(held) + " was given " +
                                          std::to_string(given->size()) +
                                          " devices by the scheduler and " +
                                          std::to_string(held.ids.size()) + " by the kubelet"};
  return given;
}

}  // namespace

namespace {

// Adds the share of one device. `card`: the device with its allocations.
Result<void> add(const kube::AssignedDevice& one, const std::string& whose, const Device& device,
                 const Card& card, PodAllocation* share) {
  const Bytes offered = offeredBy(device, card.overcommit_permille);
  const std::uint64_t most = offered.count >> 20;
  if (one.mebibytes == 0 || one.mebibytes > most)
    return Error{ErrorCode::kCorrupt, whose + " was given " + std::to_string(one.mebibytes) +
                                          " MiB of " + one.uuid + "; 1 to " + std::to_string(most) +
                                          " are accepted"};
  for (const auto& other : share->decision.shares)
    if (other.index == device.info.index)
      return Error{ErrorCode::kCorrupt, whose + " was given " + one.uuid + " twice"};
  ShareRequest& ask = share->request.ask;
  const Bytes limit = limitOf(one, device, card);
  const unsigned cores = std::min(one.cores, kWhole);
  ask.cores += cores;
  ask.memory.bytes = limit;
  const Bytes guarantee = guaranteeOn(ask, card);
  const engine::Part part =
      engine::partOn(card.placementInput(), limit, guarantee, !ask.context_inside);
  share->decision.shares.push_back({device.info.index, limit, part.reserve(), cores, guarantee});
  return {};
}

}  // namespace

Result<PodAllocation> podShare(const kube::Pod& pod, const kubelet::PodDevices& held,
                               const std::string& node, const std::vector<Device>& devices,
                               const std::vector<Card>& cards) {
  if (pod.node != node || pod.ended())
    return Error{ErrorCode::kUnavailable, "pod " + held.namespace_name + "/" + held.pod + " is " +
                                              (pod.ended() ? "over" : "on node " + pod.node)};
  Result<std::vector<kube::AssignedDevice>> assigned = assignedTo(pod, held);
  if (!assigned) return assigned.error();
  PodAllocation share;
  share.container = {pod.meta.uid, held.namespace_name, held.pod, held.container};
  share.request.ask.gpus = static_cast<unsigned>(assigned->size());
  share.request.ask.user = held.namespace_name;
  share.request.command = {held.namespace_name + "/" + held.pod, held.container};
  const Result<void> heard = applyAnnotations(pod, held.container, &share.request);
  if (!heard) return heard.error();
  for (const kube::AssignedDevice& one : *assigned) {
    const auto device = std::find_if(devices.begin(), devices.end(), [&](const Device& known) {
      return known.info.uuid == one.uuid;
    });
    if (device == devices.end())
      return Error{ErrorCode::kNotFound,
                   wordsFor(held) + " was given " + one.uuid + ", which is not here"};
    const auto place = static_cast<std::size_t>(device - devices.begin());
    const Result<void> added = add(one, wordsFor(held), *device, cards.at(place), &share);
    if (!added) return added.error();
  }
  return share;
}

Result<void> openTo(const Decision& decision, const std::vector<Device>& devices,
                    const std::set<std::string>& has) {
  for (const Device& device : devices) {
    const bool given =
        std::any_of(decision.shares.begin(), decision.shares.end(),
                    [&](const PlacedShare& one) { return one.index == device.info.index; });
    if (given && device.excluded && !has.contains(device.info.uuid))
      return Error{ErrorCode::kUnavailable, device.info.uuid + " is excluded on this node"};
  }
  return {};
}

std::set<std::string> assignedCards(const kube::Pod& pod) {
  std::set<std::string> cards;
  const auto written = pod.meta.annotations.find(kAllocated);
  if (written == pod.meta.annotations.end()) return cards;
  const Result<kube::Assignment> assignment = kube::decodeAssignment(written->second);
  if (!assignment) return cards;
  for (const auto& container : *assignment)
    for (const kube::AssignedDevice& one : container) cards.insert(one.uuid);
  return cards;
}

Result<std::vector<kube::AssignedDevice>> assignedIn(const kube::Pod& pod,
                                                     const std::string& container,
                                                     const std::string& text) {
  const int at = placeOf(pod, container);
  if (at < 0)
    return Error{ErrorCode::kUnavailable, "no container " + container + " of pod " +
                                              pod.meta.namespace_name + "/" + pod.meta.name +
                                              " any more"};
  Result<kube::Assignment> assignment = kube::decodeAssignment(text);
  if (!assignment) return assignment.error();
  const auto place = static_cast<std::size_t>(at);
  if (place >= assignment->size()) return std::vector<kube::AssignedDevice>();
  return std::move((*assignment)[place]);
}

// A share of all whole MiB gets the rest of the memory as well.
Bytes limitOf(const kube::AssignedDevice& given, const Device& device, const Card& card) {
  const Bytes offered = offeredBy(device, card.overcommit_permille);
  return given.mebibytes == offered.count >> 20 ? offered : mib(given.mebibytes);
}

Bytes offeredBy(const Device& device, unsigned permille) {
  const std::uint64_t physical = device.info.physical.count;
  return {physical / kNoOvercommit * permille +
          physical % kNoOvercommit * permille / kNoOvercommit};
}

std::vector<kube::RegisteredDevice> registrationOf(const std::vector<Device>& devices,
                                                   const std::vector<DeviceTerms>& terms,
                                                   unsigned count, const DeviceHealth& health,
                                                   unsigned cores) {
  std::vector<kube::RegisteredDevice> registered;
  for (std::size_t at = 0; at < devices.size(); ++at) {
    const Device& device = devices[at];
    if (device.excluded) continue;
    kube::RegisteredDevice& one = registered.emplace_back();
    one.id = device.info.uuid;
    one.index = device.info.index;
    one.count = count;
    one.mebibytes = offeredBy(device, terms.at(at).overcommit_permille).count >> 20;
    one.cores = cores;
    one.type = device.info.model.starts_with(kBrand) ? device.info.model
                                                     : kBrand + ("-" + device.info.model);
    one.numa = device.place.numa.value_or(0);
    one.mode = "hami-core";
    one.healthy = health.good(device.info.index);
  }
  return registered;
}

}  // namespace divvy::agent
