#include "arbiter/residency.h"

#include <algorithm>
#include <utility>

#include "policy/parking.h"
#include "policy/residency_scheduler.h"

namespace divvy::arbiter {

struct Residency::Impl {
  explicit Impl(const ResidencyConstants& constants) : accounts(constants), turns(&accounts) {}

  Resident* at(TenantKey key, Nanos now) {
    last = std::max(last, now);
    accounts.advance(last);
    return accounts.find(key);
  }

  // The tenant of a higher class that has most of the missing memory. Null: their memory would not
  // suffice.
  const Resident* above(const Resident& resident) const {
    const Resident* most = nullptr;
    std::uint64_t most_bytes = 0;
    for (unsigned d = 0; d < kMaxGroupDevices; ++d) {
      std::uint64_t theirs = 0;
      for (const auto& each : accounts.residents()) {
        const std::uint64_t bytes = each->places[d].goal;
        if (each->terms.cls >= resident.terms.cls || !each->uses(d)) continue;
        theirs += bytes;
        if (bytes > most_bytes) most = each.get();
        most_bytes = std::max(most_bytes, bytes);
      }
      if (resident.uses(d) && theirs < resident.places[d].lack()) return nullptr;
    }
    return most;
  }

  // The tenant that has the memory that this one lacks; 0: none.
  TenantKey takerOf(const Resident& resident) const {
    if (resident.isResident()) return 0;
    if (!resident.isWaiting()) return resident.taker;
    const Resident* higher = above(resident);
    return higher == nullptr ? resident.taker : higher->key;
  }

  ResidencyTargetReason reasonOf(const Resident& resident) const {
    if (resident.isShort()) return ResidencyTargetReason::kShort;
    if (resident.isResident()) return ResidencyTargetReason::kFits;
    if (resident.unused) return ResidencyTargetReason::kUnused;
    if (resident.yielded || (resident.isWaiting() && above(resident) != nullptr))
      return ResidencyTargetReason::kHigherClass;
    return resident.idled ? ResidencyTargetReason::kIdle : ResidencyTargetReason::kOthersTurn;
  }

  ResidencyTarget orderFor(const Resident& resident) const {
    ResidencyTarget order;
    order.tenant = resident.key;
    for (unsigned d = 0; d < kMaxGroupDevices; ++d) {
      order.allowed[d] = resident.places[d].allowed;
      order.most[d] = accounts.mostOf(resident, d);
      order.want[d] = resident.places[d].want;
    }
    order.host_allowed = accounts.hostFor(resident);
    order.eligible = resident.eligible();
    order.host_map = resident.runsWithHost();
    order.yields = resident.yielded && !resident.isResident();
    order.contended = accounts.contended(resident);
    order.park = resident.park;
    order.reserved = resident.reserved;
    order.reason = reasonOf(resident);
    return order;
  }

  ResidencyAccounts accounts;
  ResidencyScheduler turns;
  Nanos last = 0;
  Nanos wake = kNever;
  bool dirty = false;
};

Residency::Residency(const ResidencyConstants& constants)
    : impl_(std::make_unique<Impl>(constants)) {}
Residency::~Residency() = default;
Residency::Residency(Residency&&) noexcept = default;
Residency& Residency::operator=(Residency&&) noexcept = default;

void Residency::setDevice(unsigned device, const ResidencyBudget& terms) {
  ResidencyBudget& known = impl_->accounts.device(device).terms;
  if (known == terms) return;
  known = terms;
  impl_->dirty = true;
}

void Residency::add(TenantKey key, const ResidencyEntitlement& terms, Nanos now) {
  impl_->at(key, now);
  impl_->accounts.add(key, terms, now);
  impl_->dirty = true;
}

void Residency::change(TenantKey key, const ResidencyEntitlement& terms, Nanos now) {
  Resident* resident = impl_->at(key, now);
  if (resident == nullptr || resident->terms == terms) return;
  // The next report states its memory.
  if (terms.swappable && !resident->terms.swappable)
    resident->known = resident->ever_ordered = false;
  const bool known = resident->known;
  const bool parked = std::exchange(resident->terms, terms).parked;
  if (parked != terms.parked) changeParked(resident, impl_->last);
  if (known) impl_->accounts.note(resident, resident->stay, now);
  // Until its next report it may have all that was reserved for its return.
  for (Resident::DeviceResidency& place : resident->places)
    if (parked && !terms.parked) place.ordered = place.allowed;
  impl_->dirty = true;
}

void Residency::remove(TenantKey key, Nanos now) {
  if (impl_->at(key, now) == nullptr) return;
  impl_->accounts.remove(key);
  impl_->dirty = true;
}

void Residency::report(TenantKey key, const ResidencyReport& stay, Nanos now) {
  Resident* resident = impl_->at(key, now);
  if (resident != nullptr && impl_->accounts.note(resident, stay, now)) impl_->dirty = true;
}

std::vector<ResidencyTarget> Residency::decide(Nanos now) {
  Impl& impl = *impl_;
  impl.last = std::max(impl.last, now);
  impl.accounts.advance(impl.last);
  DeadlineSet agenda;
  agenda.begin(impl.last);
  impl.accounts.refresh();
  impl.accounts.postponeRefused(&agenda);
  impl.accounts.shed(&agenda);
  impl.accounts.reclaim(&agenda);
  impl.turns.turn(&agenda);
  impl.accounts.lendSlack();
  impl.accounts.raise();
  for (const auto& resident : impl.accounts.residents()) noteReserved(resident.get());
  impl.wake = agenda.next();
  impl.dirty = false;
  std::vector<ResidencyTarget> orders;
  std::size_t lowered = 0;
  for (const auto& resident : impl.accounts.residents()) {
    ResidencyTarget order = impl.orderFor(*resident);
    if (!resident->known) continue;
    order.lowers = resident->ordered.lowers;
    if (resident->ever_ordered && order == resident->ordered) continue;
    order.lowers = false;
    for (unsigned d = 0; d < kMaxGroupDevices; ++d)
      order.lowers = order.lowers || order.allowed[d] < resident->ordered.allowed[d];
    for (Resident::DeviceResidency& place : resident->places)
      place.ordered = std::max(place.ordered, place.allowed);
    const auto place = static_cast<std::ptrdiff_t>(order.lowers ? lowered++ : orders.size());
    orders.insert(orders.begin() + place, order);
    resident->ordered = order;
    resident->ever_ordered = true;
  }
  return orders;
}

Nanos Residency::nextWakeup() const {
  return impl_->dirty ? impl_->last : impl_->wake;
}

ResidencyStats Residency::stats(TenantKey key) const {
  ResidencyStats stats;
  const Resident* resident = impl_->accounts.find(key);
  if (resident == nullptr) return stats;
  for (unsigned d = 0; d < kMaxGroupDevices; ++d) {
    stats.allowed[d] = resident->places[d].allowed;
    stats.booked[d] = resident->places[d].booked();
    stats.floor[d] = resident->places[d].floor;
  }
  stats.resident = resident->isResident();
  stats.eligible = resident->eligible();
  stats.waiting = resident->isWaiting();
  stats.host_map = resident->runsWithHost();
  stats.contended = impl_->accounts.contended(*resident);
  stats.park = resident->park;
  stats.reserved = resident->reserved;
  stats.reason = impl_->reasonOf(*resident);
  stats.taker = impl_->takerOf(*resident);
  stats.turn_ends = impl_->turns.turnEnd(*resident);
  stats.swaps = resident->swap_count;
  stats.longest_wait = resident->longest_wait;
  return stats;
}

ResidencyBudgetStats Residency::device(unsigned device) const {
  const ResidencyAccounts::Device& known = impl_->accounts.device(device);
  ResidencyBudgetStats stats;
  stats.budget = known.terms.budget;
  stats.booked = impl_->accounts.booked(device);
  stats.ratio = known.ratio;
  stats.quantum = known.quantum;
  stats.swap_predicted = known.predicted;
  stats.swap_actual = known.actual;
  stats.prediction_error = known.error;
  stats.thrash_risk = known.thrash_risk;
  return stats;
}

}  // namespace divvy::arbiter
