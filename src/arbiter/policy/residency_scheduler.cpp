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

std::uint64_t wantedAt(const Resident::Place& place, bool floor_only) {
  return floor_only ? place.floor : std::max(place.target, place.floor);
}

}  // namespace

void ResidencyScheduler::turn(DeadlineSet* agenda) {
  agenda_ = agenda;
  arrive();
  for (std::size_t round = 0; round <= book_.residents().size(); ++round)
    if (!serveLine()) break;
  noteThrash();
}

void ResidencyScheduler::arrive() {
  const Nanos now = agenda_->now();
  for (const auto& resident : book_.residents()) {
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
      ResidencyAccounts::Device& device = book_.device(d);
      device.error += device.actual == 0 ? error : kEwma * (error - device.error);
      device.actual = actual;
    }
  }
}

bool ResidencyScheduler::serveLine() {
  line_.clear();
  for (const auto& resident : book_.residents())
    if (resident->known && resident->inLine()) line_.push_back(resident.get());
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
  if (resident->wants()) {
    ResidencyDemand all{resident, false, 0, 0, 0, 0, {}};
    if (collect(&all)) return apply(all, past), true;
  }
  if (!resident->belowFloor()) return false;
  ResidencyDemand floor{resident, true, 0, 0, 0, 0, {}};
  if (collect(&floor)) apply(floor, past);
  return resident->home();
}

// Negative: more is free than it needs.
std::int64_t ResidencyScheduler::shortOf(const ResidencyDemand& demand, unsigned device) const {
  const Resident::Place& place = demand.who->places[device];
  const std::uint64_t wanted = wantedAt(place, demand.floor_only);
  if (wanted <= place.goal) return 0;
  // Slack that it got itself does not count, because it lacks memory.
  return static_cast<std::int64_t>(wanted - place.goal) - book_.unplanned(device) -
         static_cast<std::int64_t>(book_.slackGiven(device));
}

double ResidencyScheduler::ratio(unsigned device, bool* latency) const {
  ResidencyAccounts::Device& known = book_.device(device);
  double need = 0;
  for (const auto& each : book_.residents()) {
    if (!each->uses(device)) continue;
    const Nanos lately = agenda_->now() - std::max(known.quantum, book_.constants().quantum_min);
    if (!each->wants() && each->stay.idle_since < lately) continue;
    need += static_cast<double>(each->places[device].need());
    *latency = *latency || each->terms.cls == Class::kLatency;
  }
  known.ratio = known.terms.budget == 0 ? 0 : need / static_cast<double>(known.terms.budget);
  return known.ratio;
}

void ResidencyScheduler::estimate(ResidencyDemand* demand) {
  bool latency = false;
  demand->loss = 0;
  for (unsigned d = 0; d < kMaxGroupDevices; ++d) {
    if (!demand->who->uses(d)) continue;
    const Resident::Place& place = demand->who->places[d];
    const std::int64_t missing = std::max<std::int64_t>(shortOf(*demand, d), 0);
    const std::uint64_t cold =
        place.said.swappable - std::min(place.said.mapped, place.said.swappable);
    const std::uint64_t in = std::min(place.lack(), cold);
    const ResidencyAccounts::Device& device = book_.device(d);
    demand->in += in;
    demand->out += static_cast<std::uint64_t>(missing);
    Nanos swap = swapTime(device.terms.link, static_cast<std::uint64_t>(missing), in);
    const bool parks = static_cast<std::uint64_t>(missing) > sparesFor(*demand, d);
    if (parks || demand->who->terms.parked) swap += book_.constants().park;
    demand->swap = std::max(demand->swap, swap);
    demand->loss = std::max(demand->loss, lossTarget(ratio(d, &latency), false));
  }
  if (latency) demand->loss = lossTarget(0, true);
  if (demand->floor_only || demand->out == 0) return;
  for (unsigned d = 0; d < kMaxGroupDevices; ++d) {
    if (!demand->who->uses(d)) continue;
    book_.device(d).predicted = demand->swap;
    book_.device(d).quantum = quantumFor(book_.constants(), demand->swap, demand->loss);
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
  struct Giver {
    Rank rank;
    std::int64_t order;
    Resident* from;
  };
  std::vector<Giver> givers;
  for (const auto& each : book_.residents()) {
    if (each.get() == demand->who || !each->uses(d)) continue;
    if (std::min(each->places[d].spare(), each->places[d].target) == 0) continue;
    const Rank rank = rankOf(*each, *demand);
    std::int64_t order = 0;
    if (rank == Rank::kIdle) order = each->stay.idle_since;
    if (rank == Rank::kBelow) order = -static_cast<std::int64_t>(each->terms.cls);
    if (rank == Rank::kTurnOver) order = each->ready_at;
    if (rank == Rank::kBehind)
      order = -(std::find(line_.begin(), line_.end(), each.get()) - line_.begin());
    if (rank != Rank::kNotNow) givers.push_back({rank, order, each.get()});
  }
  std::stable_sort(givers.begin(), givers.end(), [](const Giver& a, const Giver& b) {
    return std::tuple(a.rank, a.order) < std::tuple(b.rank, b.order);
  });
  // Memory that it lacks even then stays at the host.
  const Resident::Place& own = demand->who->places[d];
  const std::uint64_t left = book_.hostLeftFor(*demand->who, d);
  const std::uint64_t stays = own.need() - std::min(own.need(), std::max(own.target, own.floor));
  auto host = static_cast<std::int64_t>(left - std::min(left, stays));
  for (const Giver& giver : givers) {
    const Resident::Place& place = giver.from->places[d];
    // Memory beyond its target was counted before.
    const std::uint64_t most = std::min(place.goal, place.target);
    const auto spare = static_cast<std::int64_t>(most - std::min(most, place.floor));
    const std::int64_t part = std::min({spare, missing, host});
    if (part <= 0) continue;
    demand->takes.push_back({giver.from, d, static_cast<std::uint64_t>(part)});
    missing -= part;
    host -= part;
    if (missing == 0) return true;
  }
  return collectParked(demand, d, missing, host);
}

std::uint64_t ResidencyScheduler::sparesFor(const ResidencyDemand& demand, unsigned d) const {
  std::uint64_t sum = 0;
  for (const auto& each : book_.residents())
    if (each.get() != demand.who && each->terms.swappable) sum += each->places[d].spare();
  return sum;
}

bool ResidencyScheduler::collectParked(ResidencyDemand* demand, unsigned d, std::int64_t missing,
                                       std::int64_t host) {
  std::vector<std::pair<std::tuple<Rank, bool, std::int64_t>, Resident*>> givers;
  const auto gain = [d](const Resident& from) {
    const Resident::Place& place = from.places[d];
    return static_cast<std::int64_t>(std::min({place.goal, place.target, place.floor}));
  };
  for (const auto& each : book_.residents()) {
    if (!mayPark(*each, *demand->who, demand->floor_only) || gain(*each) == 0) continue;
    const Rank rank = rankOf(*each, *demand);
    if (rank == Rank::kNotNow) continue;
    // The smallest that suffices; if none does, the largest first.
    const bool enough = gain(*each) >= missing;
    givers.push_back({{rank, !enough, enough ? gain(*each) : -gain(*each)}, each.get()});
  }
  std::stable_sort(givers.begin(), givers.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  for (const auto& [order, from] : givers) {
    if (gain(*from) > host) continue;
    demand->takes.push_back({from, d, static_cast<std::uint64_t>(gain(*from)), true});
    missing -= gain(*from);
    host -= gain(*from);
    if (missing <= 0) return true;
  }
  return false;
}

ResidencyScheduler::Rank ResidencyScheduler::rankOf(const Resident& from,
                                                    const ResidencyDemand& demand) {
  const Resident& to = *demand.who;
  const ResidencyConstants& constants = book_.constants();
  if (!from.terms.swappable || from.stay.distrusted || !from.known) return Rank::kNotNow;
  if (from.stay.capturing || !agenda_->reached(from.retry_at)) return Rank::kNotNow;
  const Rank otherwise = demand.floor_only ? Rank::kGuaranteed : Rank::kNotNow;
  if (!from.wants()) {
    const Nanos rest = from.terms.cls < to.terms.cls
                           ? std::max(constants.return_min, 5 * demand.swap)
                           : std::max(constants.idle_min, demand.swap / 10);
    return agenda_->reached(from.stay.idle_since + rest) ? Rank::kIdle : otherwise;
  }
  if (from.terms.cls > to.terms.cls) return Rank::kBelow;
  if (from.terms.cls < to.terms.cls) return otherwise;
  if (!from.inLine()) return turnOver(from, demand) ? Rank::kTurnOver : otherwise;
  const auto place = [&](const Resident& each) {
    return std::find(line_.begin(), line_.end(), &each);
  };
  return place(from) > place(to) ? Rank::kBehind : otherwise;
}

double ResidencyScheduler::partOf(const Resident& holder) const {
  double sum = 0;
  double count = 0;
  for (const auto& each : book_.residents()) {
    if (!each->wants() || each->terms.cls != holder.terms.cls) continue;
    if ((each->terms.devices & holder.terms.devices) == 0) continue;
    sum += each->terms.weight;
    ++count;
  }
  return sum > 0 ? holder.terms.weight * count / sum : 1;
}

bool ResidencyScheduler::turnOver(const Resident& holder, const ResidencyDemand& demand) {
  if (holder.granted_at == 0 || holder.stuck) return true;
  if (holder.lent && demand.who->wanted_since < holder.granted_at) return true;
  const Nanos turn = quantumFor(book_.constants(), demand.swap, demand.loss, partOf(holder));
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
    if (resident.uses(d)) turn = std::max(turn, book_.device(d).quantum);
  return resident.ready_at + turn;
}

void ResidencyScheduler::apply(const ResidencyDemand& demand, bool past) {
  const Nanos now = agenda_->now();
  Resident& who = *demand.who;
  for (const Take& take : demand.takes) {
    Resident& from = *take.from;
    Resident::Place& place = from.places[take.device];
    const bool below = from.wants() && from.terms.cls > who.terms.cls;
    const std::uint64_t had = std::min(place.goal, place.target);
    place.lowerTo(had - std::min(had, take.bytes));
    if (take.park) beginParking(&from);
    from.lose(now);
    from.yielded = from.yielded || below;
    from.idled = !from.wants();
    from.taker = who.key;
  }
  for (unsigned d = 0; d < kMaxGroupDevices; ++d) {
    Resident::Place& place = who.places[d];
    const std::uint64_t wanted = wantedAt(place, demand.floor_only);
    if (!who.uses(d) || wanted <= place.goal) continue;
    const std::int64_t missing =
        static_cast<std::int64_t>(wanted - place.goal) - book_.unplanned(d);
    if (missing > 0) book_.takeSlack(d, static_cast<std::uint64_t>(missing));
    place.goal = wanted;
  }
  who.grant = ++grants_;
  who.stuck = false;
  if (!who.home()) return;
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
  const Nanos window = book_.constants().thrash_window;
  for (const auto& resident : book_.residents()) {
    std::deque<Nanos>& swaps = resident->swaps;
    while (!swaps.empty() && agenda_->reached(swaps.front() + window)) swaps.pop_front();
  }
  for (unsigned d = 0; d < kMaxGroupDevices; ++d) {
    ResidencyAccounts::Device& device = book_.device(d);
    unsigned hot = 0;
    unsigned warm = 0;
    for (const auto& resident : book_.residents()) {
      if (!resident->uses(d)) continue;
      hot += resident->swaps.size() > kHot ? 1 : 0;
      warm += resident->swaps.size() >= kCool ? 1 : 0;
    }
    if (hot >= 2 && device.predicted > book_.constants().thrash_swap) device.thrash_risk = true;
    if (warm < 2) device.thrash_risk = false;
  }
}

}  // namespace divvy::arbiter
