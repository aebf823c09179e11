#include "residency_controller.h"

#include <algorithm>

namespace divvy::arbiter {

ResidencyController::ResidencyController(const ResidencyConstants& constants,
                                         ResidencyBudgets devices)
    : policy_(constants), devices_(std::move(devices)) {}

void ResidencyController::setDevice(unsigned device, const ResidencyBudget& terms) {
  if (terms.budget == 0) {
    devices_.erase(device);
  } else {
    devices_[device] = terms;
  }
  for (unsigned i = 0; i < kMaxGroupDevices; ++i) {
    if (!places_[i].known || places_[i].device != device) continue;
    const ResidencyBudget before = places_[i].terms;
    places_[i].known = false;
    place(i, device);
    if (before.budget == 0) continue;
    // Measured values are kept.
    const std::uint64_t chunk = places_[i].terms.swap_cost.chunk;
    places_[i].terms.swap_cost = before.swap_cost;
    places_[i].terms.swap_cost.chunk = chunk;
    policy_.setDevice(i, places_[i].terms);
  }
}

void ResidencyController::place(unsigned index, unsigned device) {
  GroupDevice& place = places_[index];
  if (place.known) return;
  const auto terms = devices_.find(device);
  place.known = true;
  place.device = device;
  place.terms = terms == devices_.end() ? ResidencyBudget{} : terms->second;
  policy_.setDevice(index, place.terms);
}

ResidencyEntitlement ResidencyController::termsOf(const TenantChannel& member) const {
  ResidencyEntitlement terms = member.memory.entitlement;
  terms.cls = member.terms.cls;
  terms.devices = member.terms.devices;
  terms.swappable = member.residency != nullptr;
  terms.guarantee = terms.ceiling = terms.base = terms.parked_need = DeviceBytes{};
  for (std::size_t i = 0; i < member.places.size(); ++i) {
    terms.guarantee[member.places[i]] = member.memory.entitlement.guarantee[i];
    terms.ceiling[member.places[i]] = member.memory.entitlement.ceiling[i];
    terms.base[member.places[i]] = member.memory.entitlement.base[i];
    terms.parked_need[member.places[i]] = member.memory.entitlement.parked_need[i];
  }
  return terms;
}

void ResidencyController::add(const TenantChannel& member, Nanos now) {
  for (std::size_t i = 0; i < member.places.size(); ++i)
    place(member.places[i], member.devices()[i]);
  policy_.add(member.key, termsOf(member), now);
  names_[member.key] = member.id();
  // A tenant that cannot be swapped reports no memory.
  if (member.residency == nullptr) policy_.report(member.key, ResidencyReport{}, now);
}

void ResidencyController::change(const TenantChannel& member, Nanos now) {
  policy_.change(member.key, termsOf(member), now);
}

void ResidencyController::remove(const TenantChannel& member, Nanos now) {
  policy_.remove(member.key, now);
  names_.erase(member.key);
}

void ResidencyController::retain(const TenantChannel& member, Nanos now) {
  ResidencyEntitlement terms = termsOf(member);
  terms.swappable = false;
  policy_.change(member.key, terms, now);
  retained_[member.id()] = member.key;
}

void ResidencyController::drop(const std::string& id, Nanos now) {
  const auto kept = retained_.find(id);
  if (kept == retained_.end()) return;
  policy_.remove(kept->second, now);
  retained_.erase(kept);
}

void ResidencyController::weigh(TenantChannel* member, unsigned percent, Nanos now) {
  if (member->residency == nullptr || percent == 0 || percent == member->memory.entitlement.weight)
    return;
  member->memory.entitlement.weight = percent;
  change(*member, now);
}

void ResidencyController::observe(TenantChannel* member, Nanos now) {
  if (member->residency == nullptr) return;
  const ResidencyReport own = member->residency->observe(now);
  if (member->residency->broken()) {
    member->residency.reset();
    member->memory.unswapped = "its swap file was truncated";
    member->memory.resident = true;
    change(*member, now);
    return;
  }
  ResidencyReport stay = own;
  stay.at.fill(ResidentBytes{});
  stay.distrusted = member->distrusted;
  for (std::size_t i = 0; i < member->places.size(); ++i) {
    GroupDevice& place = places_[member->places[i]];
    stay.at[member->places[i]] = own.at[i];
    place.meter.note(member->residency->takeSwapWork(static_cast<unsigned>(i)));
    place.meter.measure(&place.terms.swap_cost);
    policy_.setDevice(member->places[i], place.terms);
  }
  policy_.report(member->key, stay, now);
}

bool ResidencyController::arrange(const Members& members, Nanos now) {
  if (!budgeted()) return false;
  bool changed = false;
  std::vector<TenantChannel*> lowered;
  for (const ResidencyTarget& order : policy_.decide(now)) {
    const auto found = std::find_if(members.begin(), members.end(), [&](const auto& member) {
      return member->key == order.tenant;
    });
    if (found == members.end()) continue;
    TenantChannel& member = **found;
    changed = changed || member.memory.resident != order.eligible ||
              member.memory.park != order.park || member.memory.reserved != order.reserved;
    member.memory.resident = order.eligible;
    member.memory.park = order.park;
    member.memory.reserved = order.reserved;
    if (member.residency == nullptr) continue;
    ResidencyTarget own = order;
    own.allowed = own.most = own.want = DeviceBytes{};
    if (order.lowers) lowered.push_back(&member);
    for (std::size_t i = 0; i < member.places.size(); ++i) {
      own.allowed[i] = order.allowed[member.places[i]];
      own.most[i] = order.most[member.places[i]];
      own.want[i] = order.want[member.places[i]];
    }
    member.residency->apply(own);
  }
  // A tenant does not ring when it takes what it may; the rest is free for others.
  for (TenantChannel* member : lowered) observe(member, now);
  return changed;
}

MemoryStats ResidencyController::stats(const TenantChannel& member, Nanos now) const {
  MemoryStats stats;
  stats.unswapped = member.memory.unswapped;
  stats.swapped = budgeted() && member.residency != nullptr;
  if (!stats.swapped) return stats;
  const ResidencyStats policy = policy_.stats(member.key);
  stats.resident = policy.resident && policy.eligible;
  stats.waiting = policy.waiting;
  stats.round = member.memory.entitlement.round;
  stats.park = policy.park;
  stats.reserved = policy.reserved;
  stats.reason = policy.reason;
  const auto taker = names_.find(policy.taker);
  if (taker != names_.end()) stats.lent_to = taker->second;
  stats.turn_left = policy.turn_ends == 0 ? 0 : std::max(policy.turn_ends - now, Nanos{0});
  stats.swaps = policy.swaps;
  stats.longest_wait = policy.longest_wait;
  for (const unsigned place : member.places) stats.allowed.push_back(policy.allowed[place]);
  return stats;
}

std::map<unsigned, ResidencyBudgetStats> ResidencyController::devices() const {
  std::map<unsigned, ResidencyBudgetStats> stats;
  for (unsigned i = 0; i < kMaxGroupDevices; ++i)
    if (places_[i].known && places_[i].terms.budget != 0)
      stats[places_[i].device] = policy_.device(i);
  return stats;
}

}  // namespace divvy::arbiter
