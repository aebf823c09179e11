// Which devices a node has, in each kind's own words.
#include <algorithm>
#include <set>

#include "base/quantity.h"
#include "codec/device_topology.h"
#include "codec/pod_request.h"
#include "codec/vendor_plugin.h"
#include "kube/device_list.h"
#include "kube/labels.h"
#include "kube/registration.h"
#include "requests/partitioning.h"

namespace divvy::scheduler {
namespace {

using kube::RegisteredDevice;
using Registered = std::vector<RegisteredDevice>;

constexpr std::int32_t kMilliPerPercent = 10;
constexpr std::int64_t kMaxCards = 1024;
constexpr std::uint32_t kWhole = 1000;
// On machines with such a type any number of neighbours is a run. Source: facts, 1.2.
constexpr const char* kInstanceType = "node.kubernetes.io/instance-type";
constexpr std::string_view kAnyRun = "inf";
// "Deleted_" and an instant: the handshake of an agent that was taken for dead.
constexpr std::string_view kDeleted = "Deleted";

// Placement of processors and memory is kube-scheduler's: it has filtered by them before it asks.
constexpr engine::Cpu kEnoughCpu{std::int64_t{1} << 40};
constexpr Bytes kEnoughMemory = gib(1u << 20);

std::string idOf(const vendors::Kind& kind, const std::string& node, std::uint32_t index) {
  return vendors::fill(kind.wire.node.id, [&](std::string_view name) {
    return name == "node" ? node : std::to_string(index);
  });
}

// ---- registered devices -------------------------------------------------------------------------

Result<std::int64_t> amountOf(const kube::Quantities& amounts, const std::string& resource) {
  const auto found = amounts.find(resource);
  if (resource.empty() || found == amounts.end()) return std::int64_t{0};
  const Result<Quantity> read = Quantity::parse(found->second);
  const auto whole = read ? read->whole() : std::nullopt;
  if (!whole || *whole < 0)
    return Error{ErrorCode::kCorrupt, "resource " + resource + ": \"" + found->second +
                                          "\" is not a whole number of 0 or more"};
  return *whole;
}

// Cards that only show in how much of a resource there is.
Result<Registered> countedOf(const kube::Node& node, const vendors::Kind& kind) {
  const vendors::NodeDialect& wire = kind.wire.node;
  const auto total = amountOf(node.capacity, wire.resource);
  if (!total) return total.error();
  const auto memory = amountOf(node.capacity, wire.memory);
  if (!memory) return memory.error();
  // The cards of an amount that cannot be allocated are unknown, unless it is the whole amount.
  const auto usable = amountOf(node.allocatable, wire.resource);
  if (!usable) return usable.error();
  const std::int64_t per_card = wire.per_card;
  if (*total > kMaxCards * per_card)
    return Error{ErrorCode::kCorrupt, "resource " + wire.resource + ": more than " +
                                          std::to_string(kMaxCards) + " cards"};
  const auto cards = static_cast<std::uint32_t>((*total + per_card - 1) / per_card);
  Bytes each = kind.card.memory;
  if (!wire.memory.empty() && *total > 0) {
    const auto all = static_cast<unsigned __int128>(*memory) * kind.memory.unit.count;
    each =
        Bytes{static_cast<std::uint64_t>(all * wire.per_card / static_cast<std::uint64_t>(*total))};
  }
  Registered devices;
  for (std::uint32_t index = 0; index < cards; ++index) {
    RegisteredDevice one;
    one.id = idOf(kind, node.meta.name, index);
    one.index = index;
    one.count = wire.tenants;
    one.mebibytes = each.count / mib(1).count;
    one.cores = kind.cores.per_card;
    one.type = kind.wire.pod.type;
    one.healthy = *usable > 0;
    devices.push_back(std::move(one));
  }
  return devices;
}

Result<Registered> registeredOf(const kube::Node& node, const vendors::Kind& kind) {
  const vendors::NodeDialect& wire = kind.wire.node;
  if (wire.form == vendors::NodeForm::kCapacity) return countedOf(node, kind);
  const std::string* text = kube::valueOf(node.meta.annotations, wire.annotation);
  if (text == nullptr) return Registered();
  Result<Registered> devices = [&] {
    switch (wire.form) {
      case vendors::NodeForm::kList:
        return kube::decodeRegistrationList(*text);
      case vendors::NodeForm::kMetax:
        return kube::decodeRegistrationMetax(*text);
      case vendors::NodeForm::kDrs:
        return kube::decodeRegistrationDrs(*text);
      default:
        return kube::decodeRegistration(*text);
    }
  }();
  if (!devices) return std::move(devices).error().context("annotation " + wire.annotation);
  for (RegisteredDevice& one : *devices)
    if (one.id.empty()) one.id = idOf(kind, node.meta.name, one.index);
  return devices;
}

// ---- in the engine's terms ----------------------------------------------------------------------

// The descriptor's where it knows the instance: it is exact where a node rounds.
engine::Compute computeOf(const kube::RegisteredProfile& profile,
                          const engine::Partitioning* known) {
  if (known != nullptr) {
    const auto found =
        std::find_if(known->parts.begin(), known->parts.end(),
                     [&](const engine::DevicePart& one) { return one.name.text == profile.name; });
    if (found != known->parts.end()) return found->compute;
  }
  const std::uint32_t compute = std::min(profile.cores * kMilliPerPercent, kWhole);
  return {static_cast<std::int32_t>(compute)};
}

std::shared_ptr<const engine::Partitioning> sorted(engine::Partitioning parting) {
  std::stable_sort(parting.parts.begin(), parting.parts.end(),
                   [](const engine::DevicePart& a, const engine::DevicePart& b) {
                     return std::pair(a.memory, a.size) < std::pair(b.memory, b.size);
                   });
  return std::make_shared<engine::Partitioning>(std::move(parting));
}

// Of instances as the node reports them.
std::shared_ptr<const engine::Partitioning> instancesOf(const RegisteredDevice& device,
                                                        const engine::Partitioning* known) {
  engine::Partitioning parting;
  for (const kube::RegisteredProfile& one : device.profiles) {
    engine::DevicePart part{
        engine::PartName(one.name), mib(one.mebibytes), computeOf(one, known), 0, 0, {}};
    for (const kube::RegisteredPlace& place : one.places) {
      part.size = place.size;
      part.starts.push_back(place.start);
      parting.slices = std::max(parting.slices, place.start + place.size);
    }
    std::sort(part.starts.begin(), part.starts.end());
    if (!part.starts.empty()) parting.parts.push_back(std::move(part));
  }
  return sorted(std::move(parting));
}

// There are as many slices as the device has tenants at most. The profile with less memory counts
// among those of one size: a request names only the number of slices.
std::shared_ptr<const engine::Partitioning> slicesOf(const RegisteredDevice& device) {
  engine::Partitioning parting;
  parting.cpus = device.count;
  std::uint32_t most = 1;
  for (const kube::RegisteredProfile& one : device.profiles) most = std::max(most, one.slices);
  std::set<std::uint32_t> seen;
  for (const kube::RegisteredProfile& one : device.profiles) {
    if (!seen.insert(one.slices).second) continue;
    const auto compute = static_cast<std::int32_t>(one.slices * kWhole / most);
    parting.parts.push_back(
        {requests::sliceName(one.slices), mib(one.mebibytes), {compute}, one.slices, 0, {}});
  }
  return sorted(std::move(parting));
}

engine::Compute computeOf(const RegisteredDevice& device, const vendors::Kind& kind) {
  // The descriptor of another kind has the compute of a device; its units are not percent.
  const bool percent = kind.wire.pod.cores == vendors::CoreForm::kPercent && !kind.wholeOnly();
  return percent ? engine::Compute{static_cast<std::int32_t>(device.cores) * kMilliPerPercent}
                 : engine::kWholeDevice;
}

// The profile of an instance that is registered as a device; empty: it is none.
std::string profileOf(const RegisteredDevice& device, const vendors::Kind& kind) {
  if (kind.instances_prefix.empty() || device.mode == "mig") return {};
  return kube::profileIn(device.type);
}

// A pod that requests its profile has it alone.
std::shared_ptr<const engine::Partitioning> wholeInstance(const RegisteredDevice& device,
                                                          const vendors::Kind& kind) {
  const std::string profile = profileOf(device, kind);
  if (profile.empty()) return nullptr;
  auto parting = std::make_shared<engine::Partitioning>();
  const engine::Compute all = computeOf(device, kind);
  parting->parts.push_back({engine::PartName(profile), mib(device.mebibytes), all, 0, 0, {}});
  return parting;
}

std::shared_ptr<const engine::Partitioning> partingOf(const RegisteredDevice& device,
                                                      const vendors::Kind& kind) {
  if (auto instance = wholeInstance(device, kind)) return instance;
  if (kind.wire.node.form == vendors::NodeForm::kDrs) return slicesOf(device);
  auto known = requests::partitioningOf(kind, device.type);
  if (kind.geometries.empty() || device.profiles.empty()) return known;
  return instancesOf(device, known.get());
}

engine::Device deviceOf(const RegisteredDevice& from, const vendors::Kind& kind,
                        const kube::Node& node) {
  engine::Device device;
  device.uuid = engine::DeviceUuid(from.id);
  device.model = engine::ModelName(from.type.empty() ? kind.name : from.type);
  device.memory = mib(from.mebibytes);
  device.compute = computeOf(from, kind);
  device.slots = from.count;
  device.health = from.healthy ? engine::Health::kHealthy : engine::Health::kUnhealthy;
  // The NUMA node of cards that are only counted is unknown.
  if (kind.wire.node.form != vendors::NodeForm::kCapacity) device.numa = from.numa;
  device.kind = engine::DeviceKind(kind.name);
  if (from.mode == "mig") device.mode = engine::Mode::kMig;
  if (from.mode == "mps") device.mode = engine::Mode::kMps;
  device.parting = partingOf(from, kind);
  if (kind.count.pairs) device.block = from.index / 2;
  if (!kind.count.runs.empty()) {
    const std::string* type = kube::valueOf(node.meta.labels, kInstanceType);
    const bool any = type != nullptr && type->compare(0, kAnyRun.size(), kAnyRun) == 0;
    device.row = engine::InRow{from.index, any ? std::vector<std::uint32_t>() : kind.count.runs};
  }
  return device;
}

// The plugin chooses the devices of a pod, so their places are unknown.
void giveWhole(engine::Device* device) {
  device->mode = engine::Mode::kWhole;
  device->parting = nullptr;
  device->numa.reset();
}

DeviceMetadata knownOf(const RegisteredDevice& from, const vendors::Kind& kind,
                       const engine::Device& device) {
  DeviceMetadata known{&kind, from.index, from.minor, from.type, from.cores, device.parting, {}};
  if (kind.wire.node.form == vendors::NodeForm::kDrs)
    for (const kube::RegisteredProfile& one : from.profiles)
      known.profiles.try_emplace(requests::sliceName(one.slices).text, one.name, one.id);
  return known;
}

// By one of its names, or an instance's.
bool counts(const std::string& resource, const vendors::Kind& kind,
            const std::vector<std::string>& names) {
  return std::find(names.begin(), names.end(), resource) != names.end() ||
         (!kind.instances_prefix.empty() && resource.starts_with(kind.instances_prefix));
}

// Without its agent no device would be handed out. The kubelet shows that by allocatable 0, agents
// that leave by their handshake. One name may have 0 although the agent is there: it has given all
// by others. A node that never had an agent of the kind in its capacity shows nothing.
bool agentServes(const kube::Node& node, const vendors::Kind& kind) {
  const std::string* said = kube::valueOf(node.meta.annotations, kind.wire.node.handshake);
  if (said != nullptr && said->compare(0, kDeleted.size(), kDeleted) == 0) return false;
  if (kind.wire.node.form == vendors::NodeForm::kCapacity) return true;
  const std::vector<std::string> names =
      vendors::namesOf(kind, kind.count.resource.empty() ? kind.slice : kind.count.resource);
  bool known = false;
  for (const auto& [resource, capacity] : node.capacity) {
    if (!counts(resource, kind, names)) continue;
    known = true;
    const auto usable = node.allocatable.find(resource);
    if (usable == node.allocatable.end()) continue;
    const Result<Quantity> amount = Quantity::parse(usable->second);
    if (!amount || amount->whole().value_or(1) > 0) return true;
  }
  return !known;
}

// ---- limits of the inventory --------------------------------------------------------------------

Result<void> readInventory(const kube::Node& node, NodeDescription* described) {
  const std::string* text = kube::valueOf(node.meta.annotations, kube::kInventoryKey);
  if (text == nullptr) return {};
  Result<kube::Inventory> inventory = kube::decodeInventory(*text);
  if (!inventory)
    return Error(inventory.error())
        .context(std::string("annotation ") + kube::kInventoryKey)
        .context("node " + node.meta.name);
  described->inventory = std::move(*inventory);
  return {};
}

void limit(const vendors::Kind& kind, const RecordedElsewhere& elsewhere, Registered* devices,
           NodeDescription* described) {
  described->registered =
      kube::joined(std::move(described->registered), kube::inventoryOf(kind.name, *devices));
  if (!described->inventory) return;
  for (std::string& line : boundByInventory(*described->inventory, kind.name, elsewhere, devices))
    described->surplus.push_back(std::move(line));
}

}  // namespace

std::string upgradeOf(const kube::Node& node, const vendors::Kind& kind) {
  const vendors::DriverUpgrade& upgrade = kind.wire.node.upgrade;
  const std::string* state = kube::valueOf(node.meta.labels, upgrade.label);
  if (state == nullptr || state->empty() ||
      std::find(upgrade.over.begin(), upgrade.over.end(), *state) != upgrade.over.end())
    return {};
  return "its driver is being changed (" + upgrade.label + ": " + *state + ')';
}

Result<NodeDescription> describe(const kube::Node& node, const vendors::Catalog& catalog,
                                 const RecordedElsewhere& elsewhere) {
  NodeDescription described;
  if (const Result<void> read = readInventory(node, &described); !read) return read.error();
  described.node.name = engine::NodeName(node.meta.name);
  described.node.cpu = kEnoughCpu;
  described.node.memory = kEnoughMemory;
  described.node.cordoned = node.unschedulable;
  for (const auto& [key, value] : node.meta.labels) described.node.labels.push_back({key, value});
  for (const vendors::Kind* kind : catalog.kinds()) {
    if (!kind->wire.placed()) continue;
    Result<Registered> devices = registeredOf(node, *kind);
    const bool registered = !devices || !devices->empty();
    if (!registered) devices = ownPluginDevices(node, *kind);
    if (!devices) return Error(devices.error()).context("node " + node.meta.name);
    limit(*kind, elsewhere, &*devices, &described);
    Result<std::vector<engine::Link>> links = linksOf(node, *kind, *devices);
    if (!links) return std::move(links).error().context("node " + node.meta.name);
    for (engine::Link& one : *links) described.node.links.push_back(std::move(one));
    std::optional<engine::NodeScore> merit =
        meritOf(node, *kind, *devices, described.node.devices.size(), &described.unread);
    if (merit) described.node.merits.push_back(std::move(*merit));
    const std::string* closed = kube::valueOf(node.meta.annotations, kind->wire.node.cordon);
    const std::set<std::string> cordoned =
        kube::decodeDevices(closed == nullptr ? std::string() : *closed);
    const bool served = agentServes(node, *kind);
    for (const RegisteredDevice& one : *devices) {
      engine::Device device = deviceOf(one, *kind, node);
      if (registered && !served) device.health = engine::Health::kUnhealthy;
      device.cordoned = cordoned.contains(one.id) || !upgradeOf(node, *kind).empty();
      if (!registered) giveWhole(&device);
      if (registered && kind->wire.node.own_plugin.there)
        device.model.text += missingNames(node, *kind, one.type, profileOf(one, *kind));
      DeviceMetadata known = knownOf(one, *kind, device);
      known.own_plugin = !registered;
      described.devices.emplace(one.id, std::move(known));
      described.node.devices.push_back(std::move(device));
    }
  }
  described.node.nics = nicsOf(node, described.node.devices, &described.unread);
  return described;
}

}  // namespace divvy::scheduler
