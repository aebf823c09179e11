// Which cards are full, and what of them the kubelet is not to offer by any name.
#include <algorithm>
#include <utility>

#include "container/injection.h"
#include "deviceplugin/capacity_check.h"
#include "deviceplugin/device_plugin.h"
#include "deviceplugin/unit_withholding.h"
#include "kube/device_list.h"
#include "os/log.h"
#include "pods/pod_allocation.h"

namespace divvy::agent {
namespace {

constexpr int kNoNuma = -1;
// In place of a doubt, which names sums: each is another.
constexpr const char* kDoubted = "its checksum is another";

}  // namespace

// By UUID: memory that tenants were given, and to how many. It costs nothing to look at that.
DevicePluginController::Given DevicePluginController::given() const {
  Given given;
  for (const auto& [id, tenant] : tenants_.all()) {
    for (const ShareRecord& share : tenant->record.shares) {
      auto& [memory, count] = given[share.uuid];
      memory = memory + share.reserve;
      ++count;
    }
  }
  return given;
}

std::string DevicePluginController::crampedNow(const Decision& decision, const std::string& uid,
                                               const std::string& id) const {
  if (tenants_.all().contains(id)) return "who had these devices before has not gone yet";
  std::vector<HeldCapacity> holdings;
  for (const auto& [other, tenant] : tenants_.all())
    for (const ShareRecord& share : tenant->record.shares)
      if (tenant->record.lodger.uid != uid || !tenant->said_ended)
        holdings.push_back({other, share.uuid, share.reserve, tenant->said_ended});
  return capacityShortfall(decision, inventory_.devices(), tenants_.memory().devices, holdings);
}

// All is promised, or as many have a share as may.
std::set<std::string> DevicePluginController::fullNow() const {
  Given given = this->given();
  std::set<std::string> full;
  const std::vector<DeviceTerms>& terms = tenants_.memory().devices;
  for (std::size_t at = 0; at < inventory_.devices().size(); ++at) {
    const Device& device = inventory_.devices()[at];
    const Bytes offered = offeredBy(device, terms.at(at).overcommit_permille);
    const auto& [memory, count] = given[device.info.uuid];
    if (memory + mib(1) > offered || count >= cluster_.per_device) full.insert(device.info.uuid);
  }
  return full;
}

Result<std::vector<kubelet::CheckpointEntry>> DevicePluginController::noted() {
  std::string doubt;
  Result<std::vector<kubelet::CheckpointEntry>> noted = kubelet::readCheckpoint(*sockets_, &doubt);
  const std::string trouble = !noted ? noted.error().message() : doubt.empty() ? "" : kDoubted;
  if (trouble == noted_trouble_) return noted;
  if (!noted) {
    warn(trouble + ": whose devices are which is known of containers that go on only");
  } else if (!doubt.empty()) {
    warn(doubt + ": it may be damaged, and is believed where pod resources do not say otherwise");
  } else {
    info("the kubelet's checkpoint can be " +
         std::string(noted_trouble_ == kDoubted ? "believed" : "read") + " again");
  }
  noted_trouble_ = trouble;
  return noted;
}

// Of pods that are over the kubelet notes some for a while longer.
std::optional<DevicePluginController::Taken> DevicePluginController::takenUnits() {
  const auto noted = this->noted();
  if (!noted) return std::nullopt;
  Taken taken;
  for (const kubelet::CheckpointEntry& one : *noted)
    if (living_.contains(one.uid))
      for (const std::string& id : one.ids) taken.emplace(one.resource, id);
  return taken;
}

// Pods keep theirs: a kubelet that begins anew turns those away whose units are not well. Where its
// notes cannot be read nothing is taken back.
void DevicePluginController::noteWithheld() {
  withheld_.clear();
  taken_.clear();
  const std::vector<Device>& devices = inventory_.devices();
  const bool occupied = std::any_of(devices.begin(), devices.end(), [&](const Device& device) {
    return !tenants_.health().good(device.info.index);
  });
  if (full_.withdrawn().empty() && !occupied) return;
  const std::optional<Taken> taken = takenUnits();
  if (!taken) return;
  taken_ = *taken;
  if (full_.withdrawn().empty()) return;
  Given given = this->given();
  for (const ExtendedResource& name : names_) {
    std::vector<AdvertisedDevice> counted;
    for (const std::size_t at : name.devices) {
      const std::string& uuid = inventory_.devices()[at].info.uuid;
      // None of it is offered, and nobody sent there.
      if (!tenants_.health().good(inventory_.devices()[at].info.index)) continue;
      AdvertisedDevice& device = counted.emplace_back();
      device.withdrawn = full_.withdrawn().contains(uuid);
      const unsigned there = std::min(given[uuid].second, cluster_.per_device);
      device.seats = device.withdrawn ? 0 : std::min(name.units, cluster_.per_device - there);
      for (kubelet::Device& unit : agent::unitsOf(uuid, kNoNuma, name.units))
        if (!taken_.contains({name.resource, unit.id})) device.free.push_back(std::move(unit.id));
    }
    withheld_[name.resource] = withheldOf(counted);
  }
}

void DevicePluginController::noteFull() {
  // By one name the kubelet counts itself what it has given; and whoever else places pods would not
  // wait for units to come back.
  const bool ours = cluster_.dialect == Dialect::kHami;
  if (!ours || names_.size() < 2 || said_.empty() || !pods_known_) return;
  const std::set<std::string> before = full_.withdrawn();
  if (!full_.look(fullNow(), kube::decodeDevices(said_[kube::kFullKey]), nowMs())) return;
  if (full_.withdrawn() != before) {
    noteWithheld();
    offer();
  }
  tell();
}

}  // namespace divvy::agent
