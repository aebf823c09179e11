#include "tenant/memory_overcommit.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "log/log.h"

namespace divvy::agent {
namespace {

// Seconds for which memory must be foreign before tenants give way: a swap in progress is counted
// at two moments.
constexpr std::size_t kForeignSamples = 3;

}  // namespace

bool MemoryOvercommit::booked(const Tenant& tenant) const {
  const std::optional<arbiter::TenantStats> figures = arbiters_.stats(tenant.record.id);
  return figures && figures->ungated.empty();
}

bool MemoryOvercommit::shared(const Device& device) const {
  if (capacity_.policy().devices.at(positionOf(device)).overcommit_permille > kNoOvercommit)
    return true;
  return std::any_of(table_.all().begin(), table_.all().end(), [&](const auto& entry) {
    const std::vector<ShareRecord>& shares = entry.second->record.shares;
    return std::any_of(shares.begin(), shares.end(), [&](const ShareRecord& share) {
      return share.uuid == device.info.uuid && swaps(share);
    });
  });
}

void MemoryOvercommit::inheritConfig(Tenant& tenant) {
  tenant.memory.checkpoint_.parked = tenant.record.checkpoint == CheckpointPhase::kAway;
  const ledger::ControlPage& page = tenant.pages->control();
  if ((page.header.swap.flags & ledger::kSwapOn) == 0) return;
  for (std::size_t i = 0; i < tenant.record.shares.size() && i < ledger::kMaxDevices; ++i) {
    const Device* device = inventory_.deviceOf(tenant.record.shares[i].uuid);
    const ledger::DeviceSwapTerms& before = page.devices[i].swap;
    if (device == nullptr || before.overcommit_permille <= kNoOvercommit) continue;
    const bool all = before.budget_bytes == device->info.physical.count;
    capacity_.inherit(positionOf(*device), before.overcommit_permille,
                      {all ? 0 : before.budget_bytes});
  }
}

std::size_t MemoryOvercommit::positionOf(const Device& device) const {
  return static_cast<std::size_t>(&device - inventory_.devices().data());
}

Result<void> MemoryOvercommit::makeSwapFiles(Tenant& tenant) const {
  if (!tenant.record.ofPod()) return {};
  const Result<ledger::SipKey> key = ipcKeyOf(tenant.record);
  if (!key) return key.error();
  return tenant.pages->makeSwapFiles(*key);
}

Result<ledger::SipKey> MemoryOvercommit::ipcKeyOf(const TenantRecord& record) const {
  ledger::SipKey key{};
  if (!record.inContainer()) return key;
  for (const auto& [id, other] : table_.all()) {
    const bool same = record.ofPod() && other->record.lodger.uid == record.lodger.uid;
    if (same && other->pages && other->pages->ipcKey() != key) return other->pages->ipcKey();
  }
  if (getentropy(key.words, sizeof key.words) == 0) return key;
  return Error{ErrorCode::kUnavailable, "drawing a key: " + std::string(std::strerror(errno))};
}

Result<void> MemoryOvercommit::writeConfig(Tenant& tenant) {
  const TenantRecord& record = tenant.record;
  const MemoryPolicy& policy = capacity_.policy();
  const ledger::SwapTerms& before = tenant.pages->control().header.swap;
  const bool on = (before.flags & ledger::kSwapOn) != 0;
  if (!swaps(record) && !on) return {};
  ledger::SwapSpec spec;
  // Memory that is allocated already consists of chunks of that size.
  spec.chunk = on ? Bytes{before.chunk_bytes} : policy.chunk;
  spec.host_map = policy.host_map;
  spec.pressure_ms = record.on_pressure == OnPressure::kWait
                         ? static_cast<std::uint32_t>(record.pressure_wait_ms)
                         : 0;
  for (const ShareRecord& share : record.shares) {
    ledger::SwapSpec::Device terms;
    const Device* device = inventory_.deviceOf(share.uuid);
    terms.swappable = device != nullptr && swaps(share);
    if (device != nullptr) {
      const DeviceTerms& promised = policy.devices.at(positionOf(*device));
      terms.overcommit_permille = promised.overcommit_permille;
      terms.budget = promised.budget;
      if (terms.budget.count == 0) terms.budget = device->info.physical;
    }
    spec.devices.push_back(terms);
  }
  const Result<ledger::SipKey> key = ipcKeyOf(record);
  if (!key) return key.error();
  spec.ipc_key = *key;
  Result<void> set = tenant.pages->setSwap(spec);
  if (!set) return set;
  if (tenant.memory.swap_) return {};
  Result<ResidencyReader> reader =
      ResidencyReader::open(tenant.dir, static_cast<unsigned>(record.shares.size()));
  if (!reader) return reader.error();
  tenant.memory.swap_.emplace(std::move(*reader));
  return {};
}

void MemoryOvercommit::updateEntitlement(const Tenant& tenant) {
  arbiter::ResidencyEntitlement terms;
  terms.swappable = tenant.memory.swap_.has_value();
  terms.host_map = capacity_.policy().host_map;
  terms.parkable = tenant.memory.checkpoint_.bar == Ineligibility::kNone;
  terms.parked = tenant.memory.checkpoint_.parked;
  terms.may_return = tenant.memory.checkpoint_.may_return;
  terms.round = tenant.memory.checkpoint_.round;
  terms.unused_after = static_cast<arbiter::Nanos>(capacity_.policy().reclaimMs(tenant.record)) *
                       arbiter::kMillisecond;
  const std::vector<DeviceFootprint> at = footprints(tenant);
  bool any = terms.swappable;
  const std::map<std::string, TenantUse> uses = useOf(tenant);
  for (std::size_t i = 0; i < tenant.record.shares.size() && i < ledger::kMaxDevices; ++i) {
    const ShareRecord& share = tenant.record.shares[i];
    const Device* device = inventory_.deviceOf(share.uuid);
    const Bytes outside = chargesContexts(tenant) ? share.reserve - share.limit : Bytes{};
    terms.guarantee[i] = (share.guarantee + outside).count;
    // After a shrink a tenant may use more than its limit.
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

std::vector<DeviceFootprint> MemoryOvercommit::footprints(const Tenant& tenant) const {
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
    const Device* device = inventory_.deviceOf(share.uuid);
    if (device == nullptr) continue;
    site.context = device->context;
    site.physical = site.room = device->info.physical;
    const auto told = told_.find(device->info.index);
    if (told != told_.end()) site.room = std::min(site.room, Bytes{told->second.budget});
  }
  return sites;
}

Result<void> MemoryOvercommit::noteCheckpoint(Tenant& tenant, CheckpointPhase phase,
                                              const CheckpointStatus& status) {
  if (tenant.record.checkpoint != phase) {
    TenantRecord record = tenant.record;
    record.checkpoint = phase;
    Result<void> saved = saveRecord(tenant.dir, record);
    if (!saved) return saved;
    tenant.record.checkpoint = phase;
  }
  if (tenant.memory.checkpoint_ == status) return {};
  tenant.memory.checkpoint_ = status;
  if (tenant.pages && arbiterGates(tenant.record.backend)) updateEntitlement(tenant);
  return {};
}

void MemoryOvercommit::updateResidency() {
  for (const auto& [id, tenant] : table_.all()) {
    if (!tenant->memory.swap_) {
      if (tenant->activity.isOpen()) tenant->activity.sample(slotsOf(*tenant));
      continue;
    }
    tenant->memory.swap_->sample(slotsOf(*tenant), std::chrono::steady_clock::now());
    const ResidencySummary sums = swapOf(*tenant);
    tenant->activity.note(sums.at_work, sums.last_launch / kNanosPerMs, nowMs());
  }
  updateBudgets(true);
}

void MemoryOvercommit::updateBudgets(bool new_sample) {
  const auto isShared = [&](const Device& device) { return shared(device); };
  if (std::none_of(inventory_.devices().begin(), inventory_.devices().end(), isShared)) return;
  std::vector<Card> cards = capacity_.cards();
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
    for (const auto& [id, tenant] : table_.all()) {
      const bool here = booked(*tenant);
      for (const ShareRecord& share : tenant->record.shares) {
        if (share.uuid != card.uuid) continue;
        // A charged context is part of the tenant's reported use there.
        const Bytes outside = chargesContexts(*tenant) ? Bytes{} : share.reserve - share.limit;
        budget = budget - (here ? outside : share.reserve);
      }
    }
    arbiter::ResidencyBudget terms;
    terms.budget = std::max<std::uint64_t>(budget.count, 1);
    // The needs of other devices are reserved for them; the promises here were admitted.
    const Bytes others = beyond - card.beyond();
    terms.host_reserve = std::max(capacity_.policy().host_reserve - others, card.beyond()).count;
    terms.swap_cost.chunk = capacity_.policy().chunk.count;
    const auto told = told_.find(card.index);
    if (told != told_.end() && told->second == terms) continue;
    told_[card.index] = terms;
    arbiters_.setDevice(card.index, terms);
  }
}

}  // namespace divvy::agent
