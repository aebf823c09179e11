#include "placement/engine_adapter.h"

#include <algorithm>
#include <utility>

namespace divvy::agent {
namespace {

// The driver's names of MIG instances contain it.
constexpr const char* kInstances = "MIG";

engine::DeviceMemory memoryOf(const MemoryRequest& memory) {
  if (memory.isPercent()) return engine::Percent{memory.percent};
  return memory.bytes;
}

engine::Device deviceOf(const Card& card) {
  engine::Device device;
  device.uuid = engine::DeviceUuid(card.uuid);
  device.model = engine::ModelName(card.model);
  device.memory = card.physical;
  device.slots = kMaxTenants;
  device.health = card.healthy ? engine::Health::kHealthy : engine::Health::kUnhealthy;
  device.cordoned = card.excluded;
  device.terms = card.placementInput().terms;
  device.compute_rule = engine::ComputeRule::kWeight;
  device.numa = card.place.numa;
  return device;
}

// Each pair once, without paths to devices that are not in the list.
std::vector<engine::Link> linksOf(const std::vector<Card>& cards) {
  std::vector<engine::Link> links;
  for (std::size_t b = 0; b < cards.size(); ++b) {
    for (std::size_t a = 0; a < b; ++a) {
      for (const PeerLink& way : cards[a].place.ways)
        if (way.uuid == cards[b].uuid)
          links.push_back({engine::DeviceUuid(cards[a].uuid), engine::DeviceUuid(way.uuid),
                           way.score, way.direct});
    }
  }
  return links;
}

// The NICs that the devices report.
std::vector<engine::Nic> nicsOf(const std::vector<Card>& cards) {
  std::vector<engine::Nic> nics;
  for (const NicDistance& way :
       cards.empty() ? std::vector<NicDistance>{} : cards.front().place.nics) {
    engine::Nic nic{engine::NicName(way.name), {}};
    for (const Card& card : cards)
      for (const NicDistance& other : card.place.nics)
        if (other.name == way.name) nic.distances.push_back(other.distance);
    if (nic.distances.size() == cards.size()) nics.push_back(std::move(nic));
  }
  return nics;
}

engine::Charge chargeOf(const std::string& uuid, const Held& held) {
  return {engine::DeviceUuid(uuid),
          held.reserved,
          engine::Compute{static_cast<std::int32_t>(held.cores) * kMilliPerPercent},
          held.alone ? kMaxTenants : std::max(held.tenants, 1u),
          held.outside,
          held.reserved - held.outside - held.guaranteed,
          held.largest};
}

engine::Allocation allocationOf(const std::string& id, const std::string& pool,
                                std::vector<engine::Charge> charges) {
  engine::Allocation allocation;
  allocation.id = engine::RequestId(id);
  allocation.placement.node = thisMachine();
  allocation.placement.pool = engine::PoolName(pool);
  allocation.placement.charges = std::move(charges);
  return allocation;
}

// The sum over all tenants of a device.
Held heldOn(const Card& card) {
  return {card.reserved,       card.guaranteed, card.outside, card.largest,
          card.cores_reserved, card.tenants,    card.alone,   card.given_in};
}

// The shares on the device in addition to `holders`.
Held heldByNone(const Card& card, const std::vector<AllocationOwner>& holders) {
  Held rest = heldOn(card);
  for (const AllocationOwner& holder : holders) {
    const auto held = holder.held.find(card.uuid);
    if (held == holder.held.end()) continue;
    rest.reserved = rest.reserved - held->second.reserved;
    rest.guaranteed = rest.guaranteed - held->second.guaranteed;
    rest.outside = rest.outside - held->second.outside;
    rest.cores -= std::min(rest.cores, held->second.cores);
    rest.tenants -= std::min(rest.tenants, held->second.tenants);
    rest.alone = rest.alone && !held->second.alone;
  }
  rest.largest = std::min(rest.largest, rest.reserved - rest.outside - rest.guaranteed);
  return rest;
}

// Adopts tenants with use by hour one by one; `rest` becomes the use of the others.
Result<void> adoptByDay(const Card& card, engine::Engine* engine, Held* rest) {
  std::size_t number = 0;
  for (const DailyUsage& one : card.by_day) {
    const std::string id = "by day " + std::to_string(++number) + " on " + card.uuid;
    engine::Allocation held = allocationOf(id, one.pool, {one.charge});
    held.placement.daily = one.daily;
    const Result<void> adopted = engine->adopt(held);
    if (!adopted) return adopted.error();
    const engine::Charge& charge = one.charge;
    rest->reserved = rest->reserved - charge.memory;
    rest->guaranteed = rest->guaranteed - (charge.memory - charge.outside - charge.swappable);
    rest->outside = rest->outside - charge.outside;
    const auto cores = static_cast<unsigned>(charge.compute.milli / kMilliPerPercent);
    rest->cores -= std::min(rest->cores, cores);
    rest->tenants -= std::min(rest->tenants, 1u);
    rest->alone = rest->alone && charge.slots <= 1;
  }
  rest->largest = std::min(rest->largest, rest->reserved - rest->outside - rest->guaranteed);
  return {};
}

}  // namespace

const engine::NodeName& thisMachine() {
  static const engine::NodeName kHere{"this machine"};
  return kHere;
}

engine::Node nodeOf(const std::string& name, const std::vector<Card>& cards, Bytes host_reserve) {
  engine::Node node;
  node.name = engine::NodeName(name);
  node.host_reserve = host_reserve;
  for (const Card& card : cards) node.devices.push_back(deviceOf(card));
  node.links = linksOf(cards);
  node.nics = nicsOf(cards);
  return node;
}

engine::Shape shapeOf(const ShareRequest& ask) {
  engine::Shape shape;
  engine::DeviceRequest& devices = shape.containers.emplace_back().devices;
  devices.count = ask.gpus;
  devices.memory = memoryOf(ask.memory);
  devices.compute = {static_cast<std::int32_t>(ask.coresEach()) * kMilliPerPercent};
  if (ask.guaranteed) devices.guarantee = memoryOf(*ask.guaranteed);
  shape.context_outside = !ask.context_inside;
  shape.unswappable = ask.unswappable;
  shape.selector.match = engine::ModelMatch::kWords;
  shape.selector.uuid_match = engine::UuidMatch::kPrefix;
  for (const std::string& model : ask.models) shape.selector.models.emplace_back(model);
  for (const std::string& uuid : ask.uuids) shape.selector.uuids.emplace_back(uuid);
  // A process can use at most one MIG instance, and no other device with it.
  if (ask.gpus > 1) shape.selector.not_models.emplace_back(kInstances);
  if (ask.pool) shape.pool = engine::PoolName(*ask.pool);
  shape.devices = ask.devices;
  shape.daily = ask.expected_use;
  return shape;
}

Result<engine::Engine> engineOf(const std::vector<Card>& cards, Bytes host_reserve,
                                const PlacementOptions& placing,
                                const std::vector<AllocationOwner>& holders) {
  engine::Config config;
  config.devices = placing.devices;
  config.daily = placing.by_day;
  engine::Engine engine{config};
  const Result<void> known = engine.setNode(nodeOf(thisMachine().text, cards, host_reserve));
  if (!known) return known.error();
  const auto pools = engine.setPools(placing.pools);
  if (!pools) return pools.error();
  for (const Card& card : cards) {
    Held rest = heldByNone(card, holders);
    // With `holders` the question is whether the request fits, not where.
    if (holders.empty()) {
      const Result<void> held = adoptByDay(card, &engine, &rest);
      if (!held) return held.error();
    }
    if (rest.tenants == 0 && rest.reserved.count == 0 && rest.cores == 0) continue;
    // As one allocation: if it includes a share from another pool, the device counts as in no pool.
    std::string pool = engine.poolOf(thisMachine(), engine::DeviceUuid(card.uuid))->text;
    for (const std::string& other : rest.given_in)
      if (other != pool) pool = other;
    const Result<void> held =
        engine.adopt(allocationOf("held on " + card.uuid, pool, {chargeOf(card.uuid, rest)}));
    if (!held) return held.error();
  }
  for (const AllocationOwner& holder : holders) {
    std::vector<engine::Charge> charges;
    for (const auto& [uuid, held] : holder.held) charges.push_back(chargeOf(uuid, held));
    const Result<void> held =
        engine.adopt(allocationOf(holder.id, holder.pool, std::move(charges)));
    if (!held) return held.error();
  }
  return engine;
}

}  // namespace divvy::agent
