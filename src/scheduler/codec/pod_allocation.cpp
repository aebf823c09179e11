// A pod's allocation, from its annotations.
#include <algorithm>

#include "annotations/assignment.h"
#include "annotations/pending_resize.h"
#include "annotations/placement_annotations.h"
#include "annotations/share.h"
#include "codec/pod_request.h"
#include "kube/assignment.h"
#include "kube/instances.h"
#include "kube/labels.h"
#include "requests/colocation.h"
#include "requests/partitioning.h"

namespace divvy::scheduler {
namespace {

Error unreadable(const Error& error, const kube::Pod& pod, const std::string& key) {
  return Error(error).context("pod " + pod.meta.namespace_name + '/' + pod.meta.name +
                              ", annotation " + key);
}

// ---- charges ------------------------------------------------------------------------------------

// A share's charge on its device.
engine::Charge chargeOf(const engine::Share& share, const engine::DevicePart* part) {
  engine::Charge charge{share.uuid, share.memory, share.compute, 1};
  if (share.part.empty()) return charge;
  charge.parts = 1;
  if (part != nullptr) charge.cpus = part->cpus;
  charge.slices = share.size == 0 ? 0 : ((1u << share.size) - 1) << share.start;
  return charge;
}

void add(std::vector<engine::Charge>* charges, const engine::Charge& one, bool together) {
  const auto found = std::find_if(charges->begin(), charges->end(),
                                  [&](const engine::Charge& old) { return old.uuid == one.uuid; });
  if (found == charges->end()) {
    charges->push_back(one);
    return;
  }
  const auto join = [&](auto a, auto b) { return together ? a + b : std::max(a, b); };
  found->memory = Bytes{join(found->memory.count, one.memory.count)};
  found->compute = {join(found->compute.milli, one.compute.milli)};
  found->slots = join(found->slots, one.slots);
  found->parts = join(found->parts, one.parts);
  found->cpus = join(found->cpus, one.cpus);
  found->slices |= one.slices;
}

// The most at any time: init containers that end one at a time, each beside the sidecars before it;
// in the end all the others.
std::vector<engine::Charge> chargesOf(const std::vector<std::vector<engine::Charge>>& containers,
                                      const std::vector<kube::PodContainer>& init) {
  std::vector<engine::Charge> there;
  std::vector<engine::Charge> most;
  // By time somewhere, whatever else.
  std::vector<engine::DeviceUuid> timed;
  for (std::size_t at = 0; at < containers.size(); ++at) {
    const bool ends = at < init.size() && !init[at].sidecar;
    std::vector<engine::Charge> then = there;
    for (const engine::Charge& one : containers[at]) {
      add(ends ? &then : &there, one, true);
      if (one.parts == 0) timed.push_back(one.uuid);
    }
    for (const engine::Charge& one : ends ? then : there) add(&most, one, false);
  }
  for (engine::Charge& one : most)
    one.shared_too =
        one.parts > 0 && std::find(timed.begin(), timed.end(), one.uuid) != timed.end();
  return most;
}

// ---- shares -------------------------------------------------------------------------------------

const DeviceMetadata* knownIn(const DeviceMetadataMap* devices, const std::string& uuid) {
  if (devices == nullptr) return nullptr;
  const auto found = devices->find(uuid);
  return found == devices->end() ? nullptr : &found->second;
}

std::shared_ptr<const engine::Partitioning> partingFor(const vendors::Kind& kind,
                                                       const DeviceMetadata* device) {
  if (device != nullptr) return device->parting;
  return kind.templates.empty() ? nullptr : requests::partitioningOf(kind, "");
}

const engine::DevicePart* partNamed(const engine::Partitioning* parting,
                                    const engine::PartName& name) {
  if (parting == nullptr || name.empty()) return nullptr;
  const auto found = std::find_if(parting->parts.begin(), parting->parts.end(),
                                  [&](const engine::DevicePart& one) { return one.name == name; });
  return found == parting->parts.end() ? nullptr : &*found;
}

bool softOf(const kube::Pod& pod, const vendors::Kind& kind) {
  const std::string* mode = kube::valueOf(pod.meta.annotations, kind.soft_split);
  return mode != nullptr && *mode == kind.soft_split_value;
}

using Instances = std::vector<kube::AssignedInstance>;

void place(const Instances& instances, std::size_t container, std::size_t device,
           engine::Share* share) {
  const auto found =
      std::find_if(instances.begin(), instances.end(), [&](const kube::AssignedInstance& one) {
        return one.container == container && one.device == device && one.uuid == share->uuid.text;
      });
  if (found == instances.end()) return;
  share->part = engine::PartName(found->profile);
  share->start = found->start;
  share->size = found->size;
}

struct Held {
  std::vector<std::vector<engine::Share>> shares;
  std::vector<std::vector<engine::Charge>> charges;
};

Result<void> read(const kube::Pod& pod, const vendors::Kind& kind, const DeviceMetadataMap* devices,
                  Held* held) {
  const vendors::PodDialect& wire = kind.wire.pod;
  const std::string* text = kube::valueOf(pod.meta.annotations, wire.allocated);
  if (text == nullptr) return {};
  const Result<kube::Assignment> assigned = kube::decodeAssignment(*text);
  if (!assigned) return unreadable(assigned.error(), pod, wire.allocated);
  Instances instances;
  if (const std::string* said = kube::valueOf(pod.meta.annotations, wire.instances)) {
    Result<Instances> read = kube::decodeInstances(*said);
    if (!read) return unreadable(read.error(), pod, wire.instances);
    instances = std::move(*read);
  }
  const bool soft = softOf(pod, kind);
  const std::uint8_t sort = requests::sortOf(kind, pod.meta.annotations);
  const std::size_t count = std::max(held->shares.size(), assigned->size());
  held->shares.resize(count);
  held->charges.resize(count);
  for (std::size_t at = 0; at < assigned->size(); ++at) {
    for (std::size_t i = 0; i < (*assigned)[at].size(); ++i) {
      const kube::AssignedDevice& said = (*assigned)[at][i];
      const DeviceMetadata* device = knownIn(devices, said.uuid);
      engine::Share share = shareOf(said, kind, device, soft);
      place(instances, at, i, &share);
      const auto parting = partingFor(kind, device);
      const engine::DevicePart* part = partNamed(parting.get(), share.part);
      // A node rounds it; the part has the exact value.
      if (part != nullptr) share.compute = part->compute;
      held->charges[at].push_back(chargeOf(share, part));
      held->charges[at].back().sort = sort;
      held->shares[at].push_back(std::move(share));
    }
  }
  return {};
}

// Until a resize is done the pod keeps its old size, and the new one is held for it.
Result<void> addPending(const kube::Pod& pod, const vendors::Catalog& catalog,
                        const DeviceMetadataMap* devices, std::vector<engine::Charge>* charges) {
  const std::optional<kube::ResizeState> pending = pendingChange(pod);
  const vendors::Kind* kind = changeableKind(catalog);
  if (!pending || kind == nullptr) return {};
  kube::Pod then = pod;
  then.meta.annotations.erase(kube::kChangeStateKey);
  then.meta.annotations.erase(kube::kResizeStateKey);
  then.meta.annotations.insert_or_assign(kind->wire.pod.allocated, pending->assignment);
  const Result<std::optional<engine::Allocation>> more = heldBy(then, catalog, devices);
  if (!more) return more.error();
  if (!*more) return {};
  for (const engine::Charge& one : (*more)->placement.charges) add(charges, one, false);
  return {};
}

}  // namespace

Result<std::optional<engine::Allocation>> heldBy(const kube::Pod& pod,
                                                 const vendors::Catalog& catalog,
                                                 const DeviceMetadataMap* devices) {
  // Ours ride on the binding: before it, whatever is written there is not from us.
  if (pod.ended() || pod.node.empty() || !asksForDevices(pod, catalog))
    return std::optional<engine::Allocation>();
  Held held;
  for (const vendors::Kind* kind : catalog.kinds()) {
    if (!kind->wire.placed()) continue;
    const Result<void> taken = read(pod, *kind, devices, &held);
    if (!taken) return taken.error();
  }
  const bool any = std::any_of(held.shares.begin(), held.shares.end(),
                               [](const auto& shares) { return !shares.empty(); });
  if (!any) return std::optional<engine::Allocation>();
  engine::Allocation allocation;
  allocation.id = engine::RequestId(pod.meta.uid);
  allocation.placement.node = engine::NodeName(pod.node);
  if (const std::string* pool = kube::valueOf(pod.meta.annotations, kAssignedPool))
    allocation.placement.pool = engine::PoolName(*pool);
  // A pod with unreadable hours holds its whole allocation all day.
  if (const auto use = expectedUse(pod.meta.annotations)) allocation.placement.daily = *use;
  allocation.placement.charges = chargesOf(held.charges, pod.init);
  allocation.placement.containers = std::move(held.shares);
  const Result<void> pending = addPending(pod, catalog, devices, &allocation.placement.charges);
  if (!pending) return pending.error();
  return std::optional(std::move(allocation));
}

}  // namespace divvy::scheduler
