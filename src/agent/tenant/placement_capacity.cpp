#include "tenant/placement_capacity.h"

#include <algorithm>
#include <ctime>
#include <map>
#include <string>

#include "device/untracked_memory.h"

namespace divvy::agent {
namespace {

constexpr unsigned kMilliPerPercent = 10;

void addCharge(const engine::Charge& charge, const std::string& pool, Held* held) {
  held->reserved = held->reserved + charge.memory;
  held->guaranteed = held->guaranteed + (charge.memory - charge.outside - charge.swappable);
  held->outside = held->outside + charge.outside;
  held->largest = std::max(held->largest, charge.largest);
  held->cores += static_cast<unsigned>(charge.compute.milli) / kMilliPerPercent;
  ++held->tenants;
  held->alone = held->alone || charge.slots > 1;
  if (std::find(held->given_in.begin(), held->given_in.end(), pool) == held->given_in.end())
    held->given_in.push_back(pool);
}

using HeldBytes = std::map<std::string, Held>;
// On a card, by tenant.
using Resident = std::map<std::string, std::map<std::string, Bytes>>;

// Without a bar, a checkpoint frees pinned memory for requests of the same or a higher priority.
bool keepsPinned(const Tenant& tenant, Priority asker) {
  return tenant.memory.checkpoint().bar != Ineligibility::kNone || tenant.record.priority > asker;
}

// The tenant's use of its cards, as a request of priority `asker` sees it.
engine::Allocation heldBy(const Tenant& tenant, const Inventory& inventory, Priority asker) {
  engine::Allocation held;
  held.id = engine::RequestId(tenant.record.id);
  std::vector<engine::Share>& shares = held.placement.containers.emplace_back();
  const std::map<std::string, TenantUse> uses = useOf(tenant);
  const ResidencySummary sums = swapOf(tenant);
  for (std::size_t i = 0; i < tenant.record.shares.size(); ++i) {
    const ShareRecord& share = tenant.record.shares[i];
    const auto use = uses.find(share.uuid);
    const Bytes used = use == uses.end() ? Bytes{} : use->second.inside + use->second.outside;
    // After a shrink a tenant may use more than its share. Its own report counts up to the most
    // that it ever had.
    const Bytes reserved = std::max(share.reserve, std::min(used, mostUsed(tenant.record, share)));
    Card terms;
    if (const Device* device = inventory.deviceOf(share.uuid)) terms.context = device->context;
    const Bytes outside = tenant.record.context_inside ? Bytes{} : share.reserve - share.limit;
    const Bytes limit = reserved - outside;
    Bytes floor = limit;
    // A tenant without pages gets no orders and gives nothing back.
    if (swaps(share) && tenant.pages) {
      floor = floorOf(terms, share.guarantee, share.limit, tenant.record.context_inside);
      if (i < sums.devices.size() && keepsPinned(tenant, asker))
        floor = std::max(floor, sums.devices[i].pinned);
    }
    const engine::Compute compute{static_cast<std::int32_t>(share.cores * kMilliPerPercent)};
    shares.push_back({engine::DeviceUuid(share.uuid), share.limit, compute, share.guarantee});
    held.placement.charges.push_back({engine::DeviceUuid(share.uuid), reserved, compute,
                                      tenant.record.alone ? kMaxTenants : 1, outside, limit - floor,
                                      limit - floor});
  }
  held.placement.kind = shares.empty() ? 0 : 1;
  held.placement.pool = engine::PoolName(tenant.record.pool);
  held.placement.daily = tenant.record.expected_use;
  return held;
}

// Memory on the cards now, as tenants report it.
Resident residentOf(const std::map<std::string, TenantPtr>& tenants) {
  Resident resident;
  for (const auto& [id, tenant] : tenants) {
    if (tenant->record.checkpoint == CheckpointPhase::kAway) continue;
    const std::map<std::string, TenantUse> uses = useOf(*tenant);
    const ResidencySummary sums = swapOf(*tenant);
    for (std::size_t i = 0; i < tenant->record.shares.size(); ++i) {
      const std::string& uuid = tenant->record.shares[i].uuid;
      const auto use = uses.find(uuid);
      if (use == uses.end()) continue;
      const Bytes out = i < sums.devices.size() ? sums.devices[i].out() : Bytes{};
      resident[uuid][id] = use->second.inside + use->second.outside - out;
    }
  }
  return resident;
}

// Memory that comes and goes while the driver is asked was there before or after.
Bytes mostOf(const std::map<std::string, Bytes>& before,
             const std::map<std::string, Bytes>& after) {
  std::map<std::string, Bytes> most = before;
  for (const auto& [id, bytes] : after) most[id] = std::max(most[id], bytes);
  Bytes sum;
  for (const auto& [id, bytes] : most) sum = sum + bytes;
  return sum;
}

}  // namespace

Bytes mostUsed(const TenantRecord& record, const ShareRecord& share) {
  const Bytes most = mostStood(record, share);
  return most + untrackedMemory(most);
}

void PlacementCapacity::inherit(std::size_t place, unsigned overcommit_permille, Bytes budget) {
  DeviceTerms& terms = policy_.devices.at(place);
  if (terms.told) return;
  terms.overcommit_permille = overcommit_permille;
  terms.budget = budget;
}

PlacementInput PlacementCapacity::placementInput(const Tenant* except, Priority asker) const {
  PlacementInput input;
  HeldBytes held;
  std::map<std::string, std::vector<DailyUsage>> by_day;
  for (const auto& [id, tenant] : table_.all()) {
    if (tenant.get() == except) continue;
    input.held.push_back(heldBy(*tenant, inventory_, asker));
    const engine::Placement& has = input.held.back().placement;
    for (const engine::Charge& charge : has.charges) {
      addCharge(charge, tenant->record.pool, &held[charge.uuid.text]);
      if (has.daily) by_day[charge.uuid.text].push_back({charge, *has.daily, has.pool.text});
    }
  }
  const Resident before = residentOf(table_.all());
  std::vector<Result<driver::DeviceUse>> uses;
  for (const Device& device : inventory_.devices())
    uses.push_back(inventory_.driver().use(device.info.index));
  const bool moves = std::any_of(table_.all().begin(), table_.all().end(), [](const auto& entry) {
    return entry.second->memory.swap().has_value();
  });
  const bool maps = policy_.host_map &&
                    std::none_of(table_.all().begin(), table_.all().end(), [](const auto& entry) {
                      return swapOf(*entry.second).host == HostMapping::kCannot;
                    });
  Resident after = moves ? residentOf(table_.all()) : before;
  for (std::size_t i = 0; i < uses.size(); ++i) {
    const Device& device = inventory_.devices()[i];
    const Held& ours = held[device.info.uuid];
    Card card;
    card.index = device.info.index;
    card.uuid = device.info.uuid;
    card.model = device.info.model;
    card.physical = device.info.physical;
    card.context = device.context;
    card.place = device.place;
    card.by_day = std::move(by_day[device.info.uuid]);
    card.healthy = uses[i].has_value() && health_.good(device.info.index);
    card.excluded = device.excluded;
    card.reserved = ours.reserved;
    card.guaranteed = ours.guaranteed;
    card.outside = ours.outside;
    card.largest = ours.largest;
    card.cores_reserved = ours.cores;
    card.tenants = ours.tenants;
    card.alone = ours.alone;
    card.given_in = ours.given_in;
    card.host_map = maps;
    card.budget = policy_.devices.at(i).budget;
    card.overcommit_permille = policy_.devices.at(i).overcommit_permille;
    const auto there = before.find(device.info.uuid);
    if (uses[i] && there == before.end()) card.foreign = uses[i]->used;
    if (uses[i] && there != before.end())
      card.foreign = uses[i]->used - mostOf(there->second, after[device.info.uuid]);
    input.cards.push_back(std::move(card));
  }
  return input;
}

std::vector<AllocationOwner> PlacementCapacity::holders(Priority asker) const {
  std::vector<AllocationOwner> all;
  for (const auto& [id, tenant] : table_.all()) {
    const std::int64_t age = std::time(nullptr) - tenant->record.created;
    AllocationOwner& holder = all.emplace_back();
    holder.id = id;
    holder.priority = tenant->record.priority;
    holder.pool = tenant->record.pool;
    holder.age_s = static_cast<std::uint64_t>(std::max<std::int64_t>(age, 0));
    for (const engine::Charge& one : heldBy(*tenant, inventory_, asker).placement.charges)
      addCharge(one, holder.pool, &holder.held[one.uuid.text]);
  }
  return all;
}

}  // namespace divvy::agent
