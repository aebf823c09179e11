#include "arbiter/residency.h"

#include <algorithm>
#include <utility>

#include "policy/parking.h"
#include "policy/residency_scheduler.h"

namespace divvy::arbiter {

struct Residency::State {
  explicit State(const ResidencyConstants& constants) : book(constants), turns(&book) {}

  Resident* at(Key key, Nanos now) {
    last = std::max(last, now);
    book.advance(last);
    return book.find(key);
  }

  // The tenant of a higher class that has most of the missing memory. Null: their memory would not
  // suffice.
  const Resident* above(const Resident& resident) const {
    const Resident* most = nullptr;
    std::uint64_t most_bytes = 0;
    for (unsigned d = 0; d < kMaxGroupDevices; ++d) {
      std::uint64_t theirs = 0;
      for (const auto& each : book.residents()) {
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
  Key takerOf(const Resident& resident) const {
    if (resident.home()) return 0;
    if (!resident.inLine()) return resident.taker;
    const Resident* higher = above(resident);
    return higher == nullptr ? resident.taker : higher->key;
  }

  ResidencyTargetReason reasonOf(const Resident& resident) const {
    if (resident.isShort()) return ResidencyTargetReason::kShort;
    if (resident.home()) return ResidencyTargetReason::kFits;
    if (resident.unused) return ResidencyTargetReason::kUnused;
    if (resident.yielded || (resident.inLine() && above(resident) != nullptr))
      return ResidencyTargetReason::kHigherClass;
    return resident.idled ? ResidencyTargetReason::kIdle : ResidencyTargetReason::kOthersTurn;
  }

  ResidencyTarget orderFor(const Resident& resident) const {
    ResidencyTarget order;
    order.tenant = resident.key;
    for (unsigned d = 0; d < kMaxGroupDevices; ++d) {
      order.allowed[d] = resident.places[d].allowed;
      order.most[d] = book.mostOf(resident, d);
      order.want[d] = resident.places[d].want;
    }
    order.host_allowed = book.hostFor(resident);
    order.eligible = resident.eligible();
    order.host_map = resident.runsWithHost();
    order.yields = resident.yielded && !resident.home();
    order.contended = book.contended(resident);
    order.park = resident.park;
    order.reserved = resident.reserved;
    order.reason = reasonOf(resident);
    return order;
  }

  ResidencyAccounts book;
  ResidencyScheduler turns;
  Nanos last = 0;
  Nanos wake = kNever;
  bool dirty = false;
};

Residency::Residency(const ResidencyConstants& constants)
    : state_(std::make_unique<State>(constants)) {}
Residency::~Residency() = default;
Residency::Residency(Residency&&) noexcept = default;
Residency& Residency::operator=(Residency&&) noexcept = default;

void Residency::setDevice(unsigned device, const ResidencyBudget& terms) {
  ResidencyBudget& known = state_->book.device(device).terms;
  if (known == terms) return;
  known = terms;
  state_->dirty = true;
}

void Residency::add(Key key, const ResidencyEntitlement& terms, Nanos now) {
  state_->at(key, now);
  state_->book.add(key, terms, now);
  state_->dirty = true;
}

void Residency::change(Key key, const ResidencyEntitlement& terms, Nanos now) {
  Resident* resident = state_->at(key, now);
  if (resident == nullptr || resident->terms == terms) return;
  // The next report states its memory.
  if (terms.swappable && !resident->terms.swappable) resident->known = resident->ever_told = false;
  const bool known = resident->known;
  const bool parked = std::exchange(resident->terms, terms).parked;
  if (parked != terms.parked) changeParked(resident, state_->last);
  if (known) state_->book.note(resident, resident->stay, now);
  // Until its next report it may have all that was reserved for its return.
  for (Resident::Place& place : resident->places)
    if (parked && !terms.parked) place.told = place.allowed;
  state_->dirty = true;
}

void Residency::remove(Key key, Nanos now) {
  if (state_->at(key, now) == nullptr) return;
  state_->book.remove(key);
  state_->dirty = true;
}

void Residency::report(Key key, const ResidencyReport& stay, Nanos now) {
  Resident* resident = state_->at(key, now);
  if (resident != nullptr && state_->book.note(resident, stay, now)) state_->dirty = true;
}

std::vector<ResidencyTarget> Residency::decide(Nanos now) {
  State& state = *state_;
  state.last = std::max(state.last, now);
  state.book.advance(state.last);
  DeadlineSet agenda;
  agenda.begin(state.last);
  state.book.refresh();
  state.book.excuse(&agenda);
  state.book.shed(&agenda);
  state.book.reclaim(&agenda);
  state.turns.turn(&agenda);
  state.book.lendSlack();
  state.book.raise();
  for (const auto& resident : state.book.residents()) noteReserved(resident.get());
  state.wake = agenda.next();
  state.dirty = false;
  std::vector<ResidencyTarget> orders;
  std::size_t lowered = 0;
  for (const auto& resident : state.book.residents()) {
    ResidencyTarget order = state.orderFor(*resident);
    if (!resident->known) continue;
    order.lowers = resident->told.lowers;
    if (resident->ever_told && order == resident->told) continue;
    order.lowers = false;
    for (unsigned d = 0; d < kMaxGroupDevices; ++d)
      order.lowers = order.lowers || order.allowed[d] < resident->told.allowed[d];
    for (Resident::Place& place : resident->places)
      place.told = std::max(place.told, place.allowed);
    const auto place = static_cast<std::ptrdiff_t>(order.lowers ? lowered++ : orders.size());
    orders.insert(orders.begin() + place, order);
    resident->told = order;
    resident->ever_told = true;
  }
  return orders;
}

Nanos Residency::wakeAt() const {
  return state_->dirty ? state_->last : state_->wake;
}

ResidencyStats Residency::figures(Key key) const {
  ResidencyStats figures;
  const Resident* resident = state_->book.find(key);
  if (resident == nullptr) return figures;
  for (unsigned d = 0; d < kMaxGroupDevices; ++d) {
    figures.allowed[d] = resident->places[d].allowed;
    figures.book[d] = resident->places[d].book();
    figures.floor[d] = resident->places[d].floor;
  }
  figures.resident = resident->home();
  figures.eligible = resident->eligible();
  figures.waiting = resident->inLine();
  figures.host_map = resident->runsWithHost();
  figures.contended = state_->book.contended(*resident);
  figures.park = resident->park;
  figures.reserved = resident->reserved;
  figures.reason = state_->reasonOf(*resident);
  figures.taker = state_->takerOf(*resident);
  figures.turn_ends = state_->turns.turnEnd(*resident);
  figures.swaps = resident->swap_count;
  figures.longest_wait = resident->longest_wait;
  return figures;
}

ResidencyBudgetStats Residency::device(unsigned device) const {
  const ResidencyAccounts::Device& known = state_->book.device(device);
  ResidencyBudgetStats figures;
  figures.budget = known.terms.budget;
  figures.book = state_->book.booked(device);
  figures.ratio = known.ratio;
  figures.quantum = known.quantum;
  figures.swap_predicted = known.predicted;
  figures.swap_actual = known.actual;
  figures.prediction_error = known.error;
  figures.thrash_risk = known.thrash_risk;
  return figures;
}

}  // namespace divvy::arbiter
