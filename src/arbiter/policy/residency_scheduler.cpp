#include "policy/residency_scheduler.h"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include "policy/parking.h"
#include "policy/swap_cost.h"

namespace divvy::arbiter {
namespace {

// Smaller swaps are not representative of the next one.
constexpr std::uint64_t kTelling = std::uint64_t{64} << 20;
constexpr double kEwma = 0.3;
constexpr std::size_t kHot = 10;
constexpr std::size_t kCool = 5;

std::uint64_t wantedAt(const Resident::DeviceResidency& place, bool floor_only) {
  return floor_only ? place.floor : std::max(place.target, place.floor);
}

}  // namespace

void ResidencyScheduler::turn(DeadlineSet* agenda) {
  agenda_ = agenda;
  noteReady();
  for (std::size_t round = 0; round <= accounts_.residents().size(); ++round)
    if (!serveLine()) break;
  noteThrash();
}

void ResidencyScheduler::noteReady() {
  const Nanos now = agenda_->now();
  for (const auto& resident : accounts_.residents()) {
    if (resident->granted_at == 0 || resident->ready_at != 0) continue;
    if (!resident->stay.ready || !resident->complete()) continue;
    resident->ready_at = now;
    resident->longest_wait = std::max(resident->longest_wait, now - resident->wanted_since);
    const Nanos predicted = std::exchange(resident->predicted, 0);
    if (predicted == 0) continue;
    const Nanos actual = std::max(now - resident->granted_at, Nanos{1});
    const double error = std::abs(static_cast<double>(predicted) / static_cast<double>(actual) - 1);
    for (unsigned d = 0; d < kMaxGroupDevices; ++d) {
      if (!resident->uses(d)) continue;
      ResidencyAccounts::Device& device = accounts_.device(d);
      device.error += device.actual == 0 ? error : kEwma * (error - device.error);
      device.actual = actual;
    }
  }
}

bool ResidencyScheduler::serveLine() {
  line_.clear();
  for (const auto& resident : accounts_.residents())
    if (resident->known && resident->isWaiting()) line_.push_back(resident.get());
  // A tenant that allocates in its turn continues it, if it can.
  const auto inTurn = [](const Resident& r) { return r.ready_at != 0 && !r.stuck; };
  std::sort(line_.begin(), line_.end(), [&](const Resident* a, const Resident* b) {
    return std::tuple(a->terms.cls, !inTurn(*a), !a->belowFloor(), a->served, a->wanted_since,
                      a->key) < std::tuple(b->terms.cls, !inTurn(*b), !b->belowFloor(), b->served,
                                           b->wanted_since, b->key);
  });
  bool past = false;
  bool stuck = false;
  const std::vector<Resident*> line = line_;
  for (Resident* resident : line) {
    if (serve(resident, past)) {
      std::erase(line_, resident);
      continue;
    }
    past = true;
    if (!inTurn(*resident)) continue;
    resident->stuck = stuck = true;
  }
  return stuck;
}

bool ResidencyScheduler::serve(Resident* resident, bool past) {
  if (resident->isRunnable()) {
    ResidencyDemand all{resident, false, 0, 0, 0, 0, {}};
    if (collect(&all)) return apply(all, past), true;
  }
  if (!resident->belowFloor()) return false;
  ResidencyDemand floor{resident, true, 0, 0, 0, 0, {}};
  if (collect(&floor)) apply(floor, past);
  return resident->isResident();
}

// Negative: more is free than it needs.
std::int64_t ResidencyScheduler::shortOf(const ResidencyDemand& demand, unsigned device) const {
  const Resident::DeviceResidency& place = demand.who->places[device];
  const std::uint64_t wanted = wantedAt(place, demand.floor_only);
  if (wanted <= place.goal) return 0;
  // Slack that it got itself does not count, because it lacks memory.
  return static_cast<std::int64_t>(wanted - place.goal) - accounts_.unplanned(device) -
         static_cast<std::int64_t>(accounts_.slackLent(device));
}

double ResidencyScheduler::ratio(unsigned device, bool* latency) const {
  ResidencyAccounts::Device& known = accounts_.device(device);
  double need = 0;
  for (const auto& each : accounts_.residents()) {
    if (!each->uses(device)) continue;
    const Nanos lately =
        agenda_->now() - std::max(known.quantum, accounts_.constants().quantum_min);
    if (!each->isRunnable() && each->stay.idle_since < lately) continue;
    need += static_cast<double>(each->places[device].need());
    *latency = *latency || each->terms.cls == PriorityClass::kLatency;
  }
  known.ratio = known.terms.budget == 0 ? 0 : need / static_cast<double>(known.terms.budget);
  return known.ratio;
}

void ResidencyScheduler::estimate(ResidencyDemand* demand) {
  bool latency = false;
  demand->loss = 0;
  for (unsigned d = 0; d < kMaxGroupDevices; ++d) {
    if (!demand->who->uses(d)) continue;
    const Resident::DeviceResidency& place = demand->who->places[d];
    const std::int64_t missing = std::max<std::int64_t>(shortOf(*demand, d), 0);
    const std::uint64_t cold =
        place.reported.swappable - std::min(place.reported.mapped, place.reported.swappable);
    const std::uint64_t in = std::min(place.lack(), cold);
    const ResidencyAccounts::Device& device = accounts_.device(d);
    demand->in += in;
    demand->out += static_cast<std::uint64_t>(missing);
    Nanos swap = swapTime(device.terms.swap_cost, static_cast<std::uint64_t>(missing), in);
    const bool parks = static_cast<std::uint64_t>(missing) > sparesFor(*demand, d);
    if (parks || demand->who->terms.parked) swap += accounts_.constants().park;
    demand->swap = std::max(demand->swap, swap);
    demand->loss = std::max(demand->loss, lossTarget(ratio(d, &latency), false));
  }
  if (latency) demand->loss = lossTarget(0, true);
  if (demand->floor_only || demand->out == 0) return;
  for (unsigned d = 0; d < kMaxGroupDevices; ++d) {
    if (!demand->who->uses(d)) continue;
    accounts_.device(d).predicted = demand->swap;
    accounts_.device(d).quantum = quantumFor(accounts_.constants(), demand->swap, demand->loss);
  }
}

bool ResidencyScheduler::collect(ResidencyDemand* demand) {
  estimate(demand);
  bool all = true;
  // Considers all devices even after a failure, because each registers when it could succeed.
  for (unsigned d = 0; d < kMaxGroupDevices; ++d)
    if (demand->who->uses(d)) all = collectOn(demand, d) && all;
  return all;
}

bool ResidencyScheduler::collectOn(ResidencyDemand* demand, unsigned d) {
  std::int64_t missing = shortOf(*demand, d);
  if (missing <= 0) return true;
  struct ReclaimSource {
    Rank rank;
    std::int64_t order;
    Resident* from;
  };
  std::vector<ReclaimSource> sources;
  for (const auto& each : accounts_.residents()) {
    if (each.get() == demand->who || !each->uses(d)) continue;
    if (std::min(each->places[d].spare(), each->places[d].target) == 0) continue;
    const Rank rank = rankOf(*each, *demand);
    std::int64_t order = 0;
    if (rank == Rank::kIdle) order = each->stay.idle_since;
    if (rank == Rank::kBelow) order = -static_cast<std::int64_t>(each->terms.cls);
    if (rank == Rank::kTurnOver) order = each->ready_at;
    if (rank == Rank::kBehind)
      order = -(std::find(line_.begin(), line_.end(), each.get()) - line_.begin());
    if (rank != Rank::kNotNow) sources.push_back({rank, order, each.get()});
  }
  std::stable_sort(sources.begin(), sources.end(),
                   [](const ReclaimSource& a, const ReclaimSource& b) {
                     return std::tuple(a.rank, a.order) < std::tuple(b.rank, b.order);
                   });
  // Memory that it lacks even then stays at the host.
  const Resident::DeviceResidency& own = demand->who->places[d];
  const std::uint64_t left = accounts_.hostLeftFor(*demand->who, d);
  const std::uint64_t stays = own.need() - std::min(own.need(), std::max(own.target, own.floor));
  auto host = static_cast<std::int64_t>(left - std::min(left, stays));
  for (const ReclaimSource& giver : sources) {
    const Resident::DeviceResidency& place = giver.from->places[d];
    // Memory beyond its target was counted before.
    const std::uint64_t most = std::min(place.goal, place.target);
    const auto spare = static_cast<std::int64_t>(most - std::min(most, place.floor));
    const std::int64_t part = std::min({spare, missing, host});
    if (part <= 0) continue;
    demand->reclaims.push_back({giver.from, d, static_cast<std::uint64_t>(part)});
    missing -= part;
    host -= part;
    if (missing == 0) return true;
  }
  return collectParked(demand, d, missing, host);
}

std::uint64_t ResidencyScheduler::sparesFor(const ResidencyDemand& demand, unsigned d) const {
  std::uint64_t sum = 0;
  for (const auto& each : accounts_.residents())
    if (each.get() != demand.who && each->terms.swappable) sum += each->places[d].spare();
  return sum;
}

bool ResidencyScheduler::collectParked(ResidencyDemand* demand, unsigned d, std::int64_t missing,
                                       std::int64_t host) {
  std::vector<std::pair<std::tuple<Rank, bool, std::int64_t>, Resident*>> sources;
  const auto gain = [d](const Resident& from) {
    const Resident::DeviceResidency& place = from.places[d];
    return static_cast<std::int64_t>(std::min({place.goal, place.target, place.floor}));
  };
  for (const auto& each : accounts_.residents()) {
    if (!mayPark(*each, *demand->who, demand->floor_only) || gain(*each) == 0) continue;
    const Rank rank = rankOf(*each, *demand);
    if (rank == Rank::kNotNow) continue;
    // The smallest that suffices; if none does, the largest first.
    const bool enough = gain(*each) >= missing;
    sources.push_back({{rank, !enough, enough ? gain(*each) : -gain(*each)}, each.get()});
  }
  std::stable_sort(sources.begin(), sources.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  for (const auto& [order, from] : sources) {
    if (gain(*from) > host) continue;
    demand->reclaims.push_back({from, d, static_cast<std::uint64_t>(gain(*from)), true});
    missing -= gain(*from);
    host -= gain(*from);
    if (missing <= 0) return true;
  }
  return false;
}

ResidencyScheduler::Rank ResidencyScheduler::rankOf(const Resident& from,
                                                    const ResidencyDemand& demand) {
  const Resident& to = *demand.who;
  const ResidencyConstants& constants = accounts_.constants();
  if (!from.terms.swappable || from.stay.distrusted || !from.known) return Rank::kNotNow;
  if (from.stay.capturing || !agenda_->reached(from.retry_at)) return Rank::kNotNow;
  const Rank otherwise = demand.floor_only ? Rank::kGuaranteed : Rank::kNotNow;
  if (!from.isRunnable()) {
    const Nanos rest = from.terms.cls < to.terms.cls
                           ? std::max(constants.return_min, 5 * demand.swap)
                           : std::max(constants.idle_min, demand.swap / 10);
    return agenda_->reached(from.stay.idle_since + rest) ? Rank::kIdle : otherwise;
  }
  if (from.terms.cls > to.terms.cls) return Rank::kBelow;
  if (from.terms.cls < to.terms.cls) return otherwise;
  if (!from.isWaiting()) return turnOver(from, demand) ? Rank::kTurnOver : otherwise;
  const auto place = [&](const Resident& each) {
    return std::find(line_.begin(), line_.end(), &each);
  };
  return place(from) > place(to) ? Rank::kBehind : otherwise;
}

double ResidencyScheduler::partOf(const Resident& holder) const {
  double sum = 0;
  double count = 0;
  for (const auto& each : accounts_.residents()) {
    if (!each->isRunnable() || each->terms.cls != holder.terms.cls) continue;
    if ((each->terms.devices & holder.terms.devices) == 0) continue;
    sum += each->terms.weight;
    ++count;
  }
  return sum > 0 ? holder.terms.weight * count / sum : 1;
}

bool ResidencyScheduler::turnOver(const Resident& holder, const ResidencyDemand& demand) {
  if (holder.granted_at == 0 || holder.stuck) return true;
  if (holder.lent && demand.who->wanted_since < holder.granted_at) return true;
  const Nanos turn = quantumFor(accounts_.constants(), demand.swap, demand.loss, partOf(holder));
  // A tenant that does not become ready still has its turn.
  const Nanos begin = holder.ready_at != 0
                          ? holder.ready_at
                          : holder.granted_at + 4 * std::max(demand.swap, holder.predicted);
  return agenda_->reached(begin + turn);
}

Nanos ResidencyScheduler::turnEnd(const Resident& resident) const {
  if (resident.ready_at == 0 || resident.stuck || line_.empty()) return 0;
  Nanos turn = 0;
  for (unsigned d = 0; d < kMaxGroupDevices; ++d)
    if (resident.uses(d)) turn = std::max(turn, accounts_.device(d).quantum);
  return resident.ready_at + turn;
}

void ResidencyScheduler::apply(const ResidencyDemand& demand, bool past) {
  const Nanos now = agenda_->now();
  Resident& who = *demand.who;
  for (const Reclaim& take : demand.reclaims) {
    Resident& from = *take.from;
    Resident::DeviceResidency& place = from.places[take.device];
    const bool below = from.isRunnable() && from.terms.cls > who.terms.cls;
    const std::uint64_t had = std::min(place.goal, place.target);
    place.lowerTo(had - std::min(had, take.bytes));
    if (take.park) beginParking(&from);
    from.evict(now);
    from.yielded = from.yielded || below;
    from.idled = !from.isRunnable();
    from.taker = who.key;
  }
  for (unsigned d = 0; d < kMaxGroupDevices; ++d) {
    Resident::DeviceResidency& place = who.places[d];
    const std::uint64_t wanted = wantedAt(place, demand.floor_only);
    if (!who.uses(d) || wanted <= place.goal) continue;
    const std::int64_t missing =
        static_cast<std::int64_t>(wanted - place.goal) - accounts_.unplanned(d);
    if (missing > 0) accounts_.reclaimSlack(d, static_cast<std::uint64_t>(missing));
    place.goal = wanted;
  }
  who.grant = ++grants_;
  who.stuck = false;
  if (!who.isResident()) return;
  who.taken = who.yielded = who.idled = who.park = false;
  if (who.ready_at != 0) return;
  who.granted_at = now;
  who.lent = past;
  who.predicted = demand.in >= kTelling ? demand.swap : 0;
  if (demand.in == 0) return;
  ++who.swap_count;
  who.swaps.push_back(now);
  if (who.swaps.size() > 4 * kHot) who.swaps.pop_front();
}

void ResidencyScheduler::noteThrash() {
  const Nanos window = accounts_.constants().thrash_window;
  for (const auto& resident : accounts_.residents()) {
    std::deque<Nanos>& swaps = resident->swaps;
    while (!swaps.empty() && agenda_->reached(swaps.front() + window)) swaps.pop_front();
  }
  for (unsigned d = 0; d < kMaxGroupDevices; ++d) {
    ResidencyAccounts::Device& device = accounts_.device(d);
    unsigned hot = 0;
    unsigned warm = 0;
    for (const auto& resident : accounts_.residents()) {
      if (!resident->uses(d)) continue;
      hot += resident->swaps.size() > kHot ? 1 : 0;
      warm += resident->swaps.size() >= kCool ? 1 : 0;
    }
    if (hot >= 2 && device.predicted > accounts_.constants().thrash_swap) device.thrash_risk = true;
    if (warm < 2) device.thrash_risk = false;
  }
}

}  // namespace divvy::arbiter
