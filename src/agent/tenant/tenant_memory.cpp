// The part of the tenants' life that is about memory promised more than once: what each is told of
// swapping, what the arbiter is told of it, and what the cards look like then.
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <ctime>

#include "device/untracked_memory.h"
#include "os/log.h"
#include "tenant/tenant_manager.h"

namespace divvy::agent {
namespace {

// Seconds for which others must hold memory before tenants give way: a swap under way is counted
// at two moments.
constexpr std::size_t kForeignSamples = 3;
constexpr std::uint64_t kNanosPerMs = 1'000'000;

constexpr unsigned kMilliPerPercent = 10;

void add(const engine::Charge& charge, const std::string& pool, Held* held) {
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

ResidencyReader::Slots slotsOf(const Tenant& tenant) {
  ResidencyReader::Slots slots;
  for (const auto& [key, process] : tenant.processes.slots())
    slots.emplace_back(key.slot, key.generation);
  return slots;
}

// What it cannot swap, the driver's checkpoint takes off for those that it yields to.
bool keepsPinned(const Tenant& tenant, Priority asker) {
  return tenant.checkpoint.bar != Ineligibility::kNone || tenant.record.priority > asker;
}

// More than that it cannot use of the device: what the driver takes by itself is in the slack.
Bytes mostUsed(const TenantRecord& record, const ShareRecord& share) {
  const Bytes most = mostStood(record, share);
  return most + untrackedMemory(most);
}

// What it takes of its cards, as somebody of that priority has to see it.
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
    // After a shrink a tenant may use more than it was promised; what it says of itself takes no
    // more room than it was ever given.
    const Bytes reserved = std::max(share.reserve, std::min(used, mostUsed(tenant.record, share)));
    Card terms;
    for (const Device& device : inventory.devices())
      if (device.info.uuid == share.uuid) terms.context = device.context;
    const Bytes outside = tenant.record.context_inside ? Bytes{} : share.reserve - share.limit;
    const Bytes limit = reserved - outside;
    Bytes floor = limit;
    // Who cannot be told anything gives nothing back.
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

// What is on the cards now, by what tenants say.
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

std::uint64_t nowMs() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::milliseconds>(now).count());
}

std::int64_t wallMs() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
}

ResidencySummary swapOf(const Tenant& tenant) {
  return tenant.swap ? tenant.swap->read(slotsOf(tenant)) : ResidencySummary{};
}

bool swaps(const ShareRecord& share) {
  return share.guarantee < share.limit;
}

bool swaps(const TenantRecord& record) {
  return arbiterGates(record.backend) &&
         std::any_of(record.shares.begin(), record.shares.end(),
                     [](const ShareRecord& share) { return swaps(share); });
}

const Device* TenantManager::deviceOf(const std::string& uuid) const {
  for (const Device& device : inventory_.devices())
    if (device.info.uuid == uuid) return &device;
  return nullptr;
}

bool chargesContexts(const Tenant& tenant) {
  return tenant.record.context_inside || (tenant.pages && tenant.pages->spec().charges_contexts);
}

bool TenantManager::booked(const Tenant& tenant) const {
  const std::optional<arbiter::TenantStats> figures = compute(tenant);
  return figures && figures->ungated.empty();
}

bool TenantManager::shared(const Device& device) const {
  const auto index = static_cast<std::size_t>(&device - inventory_.devices().data());
  if (memory_.devices.at(index).overcommit_permille > kNoOvercommit) return true;
  return std::any_of(tenants_.begin(), tenants_.end(), [&](const auto& entry) {
    const std::vector<ShareRecord>& shares = entry.second->record.shares;
    return std::any_of(shares.begin(), shares.end(), [&](const ShareRecord& share) {
      return share.uuid == device.info.uuid && swaps(share);
    });
  });
}

PlacementInput TenantManager::placementInput(const Tenant* except, Priority asker) const {
  PlacementInput input;
  HeldBytes held;
  std::map<std::string, std::vector<DailyUsage>> by_day;
  for (const auto& [id, tenant] : tenants_) {
    if (tenant.get() == except) continue;
    input.held.push_back(heldBy(*tenant, inventory_, asker));
    const engine::Placement& has = input.held.back().placement;
    for (const engine::Charge& charge : has.charges) {
      add(charge, tenant->record.pool, &held[charge.uuid.text]);
      if (has.daily) by_day[charge.uuid.text].push_back({charge, *has.daily, has.pool.text});
    }
  }
  const Resident before = residentOf(tenants_);
  std::vector<Result<driver::DeviceUse>> uses;
  for (const Device& device : inventory_.devices())
    uses.push_back(inventory_.driver().use(device.info.index));
  const bool moves = std::any_of(tenants_.begin(), tenants_.end(),
                                 [](const auto& entry) { return entry.second->swap.has_value(); });
  const bool maps =
      memory_.host_map && std::none_of(tenants_.begin(), tenants_.end(), [](const auto& entry) {
        return swapOf(*entry.second).host == HostMapping::kCannot;
      });
  Resident after = moves ? residentOf(tenants_) : before;
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
    card.budget = memory_.devices.at(i).budget;
    card.overcommit_permille = memory_.devices.at(i).overcommit_permille;
    const auto there = before.find(device.info.uuid);
    if (uses[i] && there == before.end()) card.foreign = uses[i]->used;
    if (uses[i] && there != before.end())
      card.foreign = uses[i]->used - mostOf(there->second, after[device.info.uuid]);
    input.cards.push_back(std::move(card));
  }
  return input;
}

std::vector<AllocationOwner> TenantManager::holders(Priority asker) const {
  std::vector<AllocationOwner> all;
  for (const auto& [id, tenant] : tenants_) {
    const std::int64_t age = std::time(nullptr) - tenant->record.created;
    AllocationOwner& holder = all.emplace_back();
    holder.id = id;
    holder.priority = tenant->record.priority;
    holder.pool = tenant->record.pool;
    holder.age_s = static_cast<std::uint64_t>(std::max<std::int64_t>(age, 0));
    for (const engine::Charge& one : heldBy(*tenant, inventory_, asker).placement.charges)
      add(one, holder.pool, &holder.held[one.uuid.text]);
  }
  return all;
}

void TenantManager::inheritSwapConfig(Tenant& tenant) {
  const ledger::ControlPage& page = tenant.pages->control();
  if ((page.header.swap.flags & ledger::kSwapOn) == 0) return;
  for (std::size_t i = 0; i < tenant.record.shares.size() && i < ledger::kMaxDevices; ++i) {
    const Device* device = deviceOf(tenant.record.shares[i].uuid);
    const ledger::DeviceSwapTerms& before = page.devices[i].swap;
    if (device == nullptr || before.overcommit_permille <= kNoOvercommit) continue;
    DeviceTerms& terms =
        memory_.devices.at(static_cast<std::size_t>(device - inventory_.devices().data()));
    if (terms.told) continue;
    const bool all = before.budget_bytes == device->info.physical.count;
    terms.overcommit_permille = before.overcommit_permille;
    terms.budget = {all ? 0 : before.budget_bytes};
  }
}

Result<ledger::SipKey> TenantManager::ipcKeyOf(const TenantRecord& record) const {
  ledger::SipKey key{};
  if (!record.inContainer()) return key;
  for (const auto& [id, other] : tenants_) {
    const bool same = record.ofPod() && other->record.lodger.uid == record.lodger.uid;
    if (same && other->pages && other->pages->ipcKey() != key) return other->pages->ipcKey();
  }
  if (getentropy(key.words, sizeof key.words) == 0) return key;
  return Error{ErrorCode::kUnavailable, "drawing a key: " + std::string(std::strerror(errno))};
}

Result<void> TenantManager::writeSwapConfig(Tenant& tenant) {
  const TenantRecord& record = tenant.record;
  const ledger::SwapTerms& before = tenant.pages->control().header.swap;
  const bool on = (before.flags & ledger::kSwapOn) != 0;
  if (!swaps(record) && !on) return {};
  ledger::SwapSpec spec;
  // What is allocated already is made of chunks of that size.
  spec.chunk = on ? Bytes{before.chunk_bytes} : memory_.chunk;
  spec.host_map = memory_.host_map;
  spec.pressure_ms = record.on_pressure == OnPressure::kWait
                         ? static_cast<std::uint32_t>(record.pressure_wait_ms)
                         : 0;
  for (const ShareRecord& share : record.shares) {
    ledger::SwapSpec::Device terms;
    const Device* device = deviceOf(share.uuid);
    terms.swappable = device != nullptr && swaps(share);
    if (device != nullptr) {
      const auto index = static_cast<std::size_t>(device - inventory_.devices().data());
      terms.overcommit_permille = memory_.devices.at(index).overcommit_permille;
      terms.budget = memory_.devices.at(index).budget;
      if (terms.budget.count == 0) terms.budget = device->info.physical;
    }
    spec.devices.push_back(terms);
  }
  const Result<ledger::SipKey> key = ipcKeyOf(record);
  if (!key) return key.error();
  spec.ipc_key = *key;
  Result<void> set = tenant.pages->setSwap(spec);
  if (!set) return set;
  if (tenant.swap) return {};
  Result<ResidencyReader> reader =
      ResidencyReader::open(tenant.dir, static_cast<unsigned>(record.shares.size()));
  if (!reader) return reader.error();
  tenant.swap.emplace(std::move(*reader));
  return {};
}

void TenantManager::updateEntitlement(const Tenant& tenant) {
  arbiter::ResidencyEntitlement terms;
  terms.swappable = tenant.swap.has_value();
  terms.host_map = memory_.host_map;
  terms.parkable = tenant.checkpoint.bar == Ineligibility::kNone;
  terms.parked = tenant.checkpoint.parked;
  terms.may_return = tenant.checkpoint.may_return;
  terms.round = tenant.checkpoint.round;
  terms.unused_after =
      static_cast<arbiter::Nanos>(reclaimMs(tenant.record)) * arbiter::kMillisecond;
  const std::vector<DeviceFootprint> at = sites(tenant);
  bool any = terms.swappable;
  const std::map<std::string, TenantUse> uses = useOf(tenant);
  for (std::size_t i = 0; i < tenant.record.shares.size() && i < ledger::kMaxDevices; ++i) {
    const ShareRecord& share = tenant.record.shares[i];
    const Device* device = deviceOf(share.uuid);
    const Bytes outside = chargesContexts(tenant) ? share.reserve - share.limit : Bytes{};
    terms.guarantee[i] = (share.guarantee + outside).count;
    // After a shrink it may use more than its limit.
    const auto use = uses.find(share.uuid);
    const Bytes inside = use == uses.end() ? Bytes{} : use->second.inside;
    terms.ceiling[i] =
        (std::max(share.limit, std::min(inside, mostUsed(tenant.record, share))) + outside).count;
    if (device == nullptr) continue;
    if (terms.parked) terms.parked_need[i] = restoreNeeds(at[i]).count;
    if (chargesContexts(tenant)) terms.base[i] = device->context.count;
    any = any || shared(*device);
  }
  if (any) arbiters_.setMemory(tenant.record.id, terms);
}

std::vector<DeviceFootprint> TenantManager::sites(const Tenant& tenant) const {
  const std::map<std::string, TenantUse> uses = useOf(tenant);
  const ResidencySummary sums = swapOf(tenant);
  std::vector<DeviceFootprint> sites;
  for (std::size_t i = 0; i < tenant.record.shares.size(); ++i) {
    const ShareRecord& share = tenant.record.shares[i];
    DeviceFootprint& site = sites.emplace_back();
    const auto use = uses.find(share.uuid);
    if (use != uses.end()) site.used = use->second.inside + use->second.outside;
    site.resident = site.used - (i < sums.devices.size() ? sums.devices[i].out() : Bytes{});
    site.guarantee = share.guarantee;
    const Device* device = deviceOf(share.uuid);
    if (device == nullptr) continue;
    site.context = device->context;
    site.physical = site.room = device->info.physical;
    const auto told = told_.find(device->info.index);
    if (told != told_.end()) site.room = std::min(site.room, Bytes{told->second.budget});
  }
  return sites;
}

Result<void> TenantManager::noteCheckpoint(Tenant& tenant, CheckpointPhase phase,
                                           const CheckpointStatus& status) {
  if (tenant.record.checkpoint != phase) {
    TenantRecord record = tenant.record;
    record.checkpoint = phase;
    Result<void> saved = saveRecord(tenant.dir, record);
    if (!saved) return saved;
    tenant.record.checkpoint = phase;
  }
  if (tenant.checkpoint == status) return {};
  tenant.checkpoint = status;
  if (tenant.pages && arbiterGates(tenant.record.backend)) updateEntitlement(tenant);
  return {};
}

void TenantManager::updateResidency() {
  for (const auto& [id, tenant] : tenants_) {
    if (!tenant->swap) {
      if (!tenant->work) continue;
      const ActivitySummary work = tenant->work->read(slotsOf(*tenant));
      tenant->use.note(work.at_work, work.last_launch / kNanosPerMs, nowMs());
      continue;
    }
    tenant->swap->sample(slotsOf(*tenant), std::chrono::steady_clock::now());
    const ResidencySummary sums = swapOf(*tenant);
    tenant->use.note(sums.at_work, sums.last_launch / kNanosPerMs, nowMs());
  }
  updateBudgets(true);
}

void TenantManager::updateBudgets(bool new_sample) {
  const auto isShared = [&](const Device& device) { return shared(device); };
  if (std::none_of(inventory_.devices().begin(), inventory_.devices().end(), isShared)) return;
  std::vector<Card> cards = this->cards();
  Bytes beyond;
  for (const Card& card : cards) beyond = beyond + card.beyond();
  for (std::size_t i = 0; i < cards.size(); ++i) {
    Card& card = cards[i];
    if (!shared(inventory_.devices()[i]) || !card.healthy) continue;
    std::vector<Bytes>& foreign = foreign_[card.index];
    if (new_sample || foreign.empty()) foreign.push_back(card.foreign);
    if (foreign.size() > kForeignSamples) foreign.erase(foreign.begin());
    card.foreign = *std::min_element(foreign.begin(), foreign.end());
    Bytes budget = card.room();
    for (const auto& [id, tenant] : tenants_) {
      const bool here = booked(*tenant);
      for (const ShareRecord& share : tenant->record.shares) {
        if (share.uuid != card.uuid) continue;
        // A context that is charged is part of what the tenant is seen to have there.
        const Bytes outside = chargesContexts(*tenant) ? Bytes{} : share.reserve - share.limit;
        budget = budget - (here ? outside : share.reserve);
      }
    }
    arbiter::ResidencyBudget terms;
    terms.budget = std::max<std::uint64_t>(budget.count, 1);
    // What other devices need of it is theirs; what is promised here was admitted.
    const Bytes others = beyond - card.beyond();
    terms.host_reserve = std::max(memory_.host_reserve - others, card.beyond()).count;
    terms.link.chunk = memory_.chunk.count;
    const auto told = told_.find(card.index);
    if (told != told_.end() && told->second == terms) continue;
    told_[card.index] = terms;
    arbiters_.setDevice(card.index, terms);
  }
}

}  // namespace divvy::agent
