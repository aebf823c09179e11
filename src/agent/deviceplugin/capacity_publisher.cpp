#include "deviceplugin/capacity_publisher.h"

#include <algorithm>

#include "container/tenant_edits.h"
#include "deviceplugin/unit_withholding.h"
#include "kube/device_list.h"

namespace divvy::agent {
namespace {

constexpr int kNoNuma = -1;

}  // namespace

DeviceAllocations CapacityPublisher::allocations() const {
  DeviceAllocations allocations;
  for (const auto& [id, tenant] : inputs_.tenants.all()) {
    for (const ShareRecord& share : tenant->record.shares) {
      DeviceAllocation& held = allocations[share.uuid];
      held.memory = held.memory + share.reserve;
      ++held.tenants;
    }
  }
  return allocations;
}

// The checkpoint keeps some entries of ended pods for a while.
std::optional<CapacityPublisher::Ids> CapacityPublisher::heldIds() const {
  const auto entries = inputs_.kubelet.checkpoint();
  if (!entries) return std::nullopt;
  Ids held;
  for (const kubelet::CheckpointEntry& one : *entries)
    if (inputs_.pods.find(one.uid) != nullptr)
      for (const std::string& id : one.ids) held.emplace(one.resource, id);
  return held;
}

std::set<std::string> CapacityPublisher::withheldOf(const ExtendedResource& resource,
                                                    const DeviceAllocations& allocations) const {
  const unsigned per_device = inputs_.cluster.per_device;
  std::vector<AdvertisedDevice> counted;
  for (const std::size_t at : resource.devices) {
    const Device& card = inputs_.inventory.devices()[at];
    const std::string& uuid = card.info.uuid;
    // The kubelet offers none of its IDs, and no pod is sent to it.
    if (!good(card)) continue;
    AdvertisedDevice& device = counted.emplace_back();
    device.withdrawn = full_.withdrawn().contains(uuid);
    const auto found = allocations.find(uuid);
    const unsigned tenants = found == allocations.end() ? 0 : found->second.tenants;
    const unsigned there = std::min(tenants, per_device);
    device.seats = device.withdrawn ? 0 : std::min(resource.units, per_device - there);
    for (kubelet::Device& unit : unitsOf(uuid, kNoNuma, resource.units))
      if (!held_.contains({resource.resource, unit.id})) device.free.push_back(std::move(unit.id));
  }
  return agent::withheldOf(counted);
}

// Where the checkpoint cannot be read, no ID is withheld.
void CapacityPublisher::updateWithheld() {
  withheld_.clear();
  held_.clear();
  const std::vector<Device>& devices = inputs_.inventory.devices();
  const bool occupied = std::any_of(devices.begin(), devices.end(),
                                    [this](const Device& device) { return !good(device); });
  if (full_.withdrawn().empty() && !occupied) return;
  std::optional<Ids> held = heldIds();
  if (!held) return;
  held_ = std::move(*held);
  if (full_.withdrawn().empty()) return;
  const DeviceAllocations allocations = this->allocations();
  for (const ExtendedResource& resource : inputs_.resources)
    withheld_[resource.resource] = withheldOf(resource, allocations);
}

CapacityPublisher::Change CapacityPublisher::updateFull() {
  const bool withholds = inputs_.cluster.dialect == Dialect::kHami && inputs_.resources.size() >= 2;
  if (!withholds || !inputs_.node.known() || !inputs_.pods.synced()) return Change::kNone;
  const std::set<std::string> before = full_.withdrawn();
  const std::set<std::string> full =
      fullDevices(inputs_.inventory.devices(), inputs_.tenants.memory().devices, allocations(),
                  inputs_.cluster.per_device);
  const std::set<std::string> published =
      kube::decodeDevices(inputs_.node.published(kube::kFullDevicesKey));
  if (!full_.update(full, published, nowMs())) return Change::kNone;

  if (full_.withdrawn() == before) return Change::kFull;
  updateWithheld();
  return Change::kWithheld;
}

bool CapacityPublisher::offers(const std::string& resource, const std::string& id,
                               unsigned device) const {
  const DeviceHealth& health = inputs_.tenants.health();
  const bool kept = held_.contains({resource, id}) && !health.faulty(device);
  const auto withheld = withheld_.find(resource);
  return (kept || health.good(device)) &&
         (withheld == withheld_.end() || !withheld->second.contains(id));
}

}  // namespace divvy::agent
