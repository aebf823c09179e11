// Who may start: in whose turn, with which places, all of a gang or none.
#include <algorithm>
#include <tuple>

#include "queue/gated_pod_queue.h"

namespace divvy::scheduler {
namespace {

// So often those who find no processors or memory look on other nodes.
constexpr unsigned kMostRounds = 16;

}  // namespace

// What was promised to them others may have by now; they go behind those who wait as they do.
void Gatehouse::missThoseWhoDidNotCome() {
  for (auto& [uid, seat] : seats_) {
    if (!seat.free() || !queues_.charged(uid) || reserved(uid)) continue;
    queues_.discharge(uid);
    ++seat.late;
  }
}

// Who has been promised a place and is not bound yet takes of the same.
std::vector<std::size_t> Gatehouse::withoutRoom(const std::vector<kube::Pod>& pods,
                                                const std::vector<Planned>& places) const {
  std::set<std::string> own;
  for (const kube::Pod& pod : pods) own.insert(pod.meta.uid);
  std::vector<Rooms::Guest> guests;
  for (const auto& [uid, seat] : seats_)
    if (seat.free() && !own.contains(uid))
      if (const auto place = books_.placeOf(uid)) guests.push_back({&seat.pod, *place});
  const std::size_t others = guests.size();
  for (std::size_t i = 0; i < pods.size(); ++i) guests.push_back({&pods[i], places[i].node});
  std::vector<std::size_t> over;
  for (const std::size_t at : rooms_->over(guests, {}))
    if (at >= others) over.push_back(at - others);
  return over;
}

// Of a gang, or those of it that have none: devices, and on the same nodes processors and memory.
// Those for whom there are not enough on a node look on others.
Result<std::vector<Planned>> Gatehouse::places(const std::vector<kube::Pod>& pods,
                                               const std::vector<std::string>& without,
                                               engine::Instant expires) {
  std::vector<std::string> full;
  Result<std::vector<Planned>> all = books_.plan(pods, without, full, expires);
  const auto gang = gangs_.find(seats_.at(pods.front().meta.uid).gang);
  const bool starts = gang != gangs_.end() && !gang->second.started;
  if (!all || rooms_ == nullptr || !starts) return all;
  for (unsigned round = 1;; ++round) {
    const std::vector<std::size_t> over = withoutRoom(pods, *all);
    if (over.empty()) return all;
    std::vector<kube::Pod> rest;
    for (const std::size_t at : over) {
      rest.push_back(pods[at]);
      books_.unplan(pods[at].meta.uid);
      const std::string& node = (*all)[at].node;
      if (std::find(full.begin(), full.end(), node) == full.end()) full.push_back(node);
    }
    Result<std::vector<Planned>> again = round > kMostRounds
                                             ? Error{ErrorCode::kNoRoom, "no way was found"}
                                             : books_.plan(rest, without, full, expires);
    for (std::size_t i = 0; again && i < over.size(); ++i) (*all)[over[i]] = (*again)[i];
    if (again) continue;
    for (const kube::Pod& pod : pods) books_.unplan(pod.meta.uid);
    return Error{again.error().code(),
                 std::to_string(over.size()) + " of " + std::to_string(pods.size()) +
                     " members find no processors or memory where there are devices, as on node " +
                     full.back()};
  }
}

// All of these, of one queue, or none.
Result<void> Gatehouse::plan(const Uids& uids, engine::Instant expires) {
  std::vector<kube::Pod> pods;
  std::string queue;
  for (const std::string& uid : uids) {
    const Seat& seat = seats_.at(uid);
    if (!seat.fault.empty()) return Error{ErrorCode::kUsage, seat.fault};
    const Result<std::string> own = queueOf(seat);
    if (!own) return own.error();
    if (!pods.empty() && *own != queue)
      return Error{ErrorCode::kUsage, "members of one gang are of queues \"" + queue + "\" and \"" +
                                          *own + "\"; accepted: the same"};
    queue = *own;
    pods.push_back(seat.pod);
  }
  std::vector<std::string> without;
  std::string refusal;
  for (;;) {
    const Result<std::vector<Planned>> planned = places(pods, without, expires);
    if (!planned) {
      std::string why = planned.error().message();
      if (!refusal.empty()) why = refusal + "; of other models " + why;
      return Error{planned.error().code(), why};
    }
    std::vector<ModelUse> sum;
    for (const std::string& uid : uids)
      for (const ModelUse& use : books_.useOf(uid)) sum.push_back(use);
    const std::optional<Queues::No> no = queue.empty() ? std::nullopt : queues_.refuse(queue, sum);
    if (!no) {
      const std::string epoch = term_ + '.' + std::to_string(++plans_);
      for (std::size_t i = 0; i < uids.size(); ++i) {
        seats_.at(uids[i]).plan = PlanNote{epoch, queue, (*planned)[i]};
        chargeFor(uids[i], queue);
      }
      return {};
    }
    giveBack(uids);
    if (refusal.empty()) refusal = no->why;
    // Of another model there may be some left for the queue.
    const std::size_t before = without.size();
    for (const ModelUse& use : sum) {
      const bool known = std::find(without.begin(), without.end(), use.model) != without.end();
      if (!no->model.empty() && Queues::matches(no->model, use.model) && !known)
        without.push_back(use.model);
    }
    if (without.size() == before) return Error{ErrorCode::kNoRoom, refusal};
  }
}

// Whose gate has gone already first, then as they came.
void Gatehouse::sortMembers(Uids* uids) const {
  std::sort(uids->begin(), uids->end(), [&](const std::string& a, const std::string& b) {
    const Seat &x = seats_.at(a), &y = seats_.at(b);
    return std::tuple(x.gated(), x.created, x.pod.meta.name) <
           std::tuple(y.gated(), y.created, y.pod.meta.name);
  });
}

// Whoever was asked to end for them was the last.
void Gatehouse::needNobody(const Unit& unit) {
  if (clearances_ == nullptr) return;
  for (const std::string& uid : unit.pods) clearances_->drop(uid);
}

// For those of whom nobody has a place; of a gang for no more than have to start together.
std::optional<std::string> Gatehouse::makeRoom(const Unit& unit) {
  if (clearances_ == nullptr) return std::nullopt;
  Uids uids = unit.pods;
  if (!unit.gang.empty()) {
    const Result<std::uint32_t> least = leastOf(gangs_.at(unit.gang));
    std::erase_if(uids, [&](const std::string& uid) {
      const kube::Pod& pod = seats_.at(uid).pod;
      return isGatedByOthers(pod) || pod.meta.deleting;
    });
    if (!least || uids.size() < *least) {
      needNobody(unit);
      return std::nullopt;
    }
    sortMembers(&uids);
    uids.resize(*least);
  }
  Need need{unit.key(), {}, unit.queue};
  for (const std::string& uid : uids) {
    const Seat& seat = seats_.at(uid);
    if (reserved(uid) || !seat.fault.empty() || seat.pod.meta.deleting) return std::nullopt;
    need.pods.push_back(seat.pod);
  }
  return clearances_->want(need);
}

// Who has a place keeps it if that leads to a whole gang, else all are planned anew.
Result<void> Gatehouse::planGang(const Gang& gang, engine::Instant expires) {
  const Result<std::uint32_t> least = leastOf(gang);
  Uids with, without;
  for (const std::string& uid : gang.members) {
    const Seat& seat = seats_.at(uid);
    if (!seat.free() || isGatedByOthers(seat.pod)) continue;
    (reserved(uid) ? with : without).push_back(uid);
  }
  const std::size_t all = with.size() + without.size();
  sortMembers(&without);
  Result<void> done;
  if (!least) {
    done = least.error();
  } else if (all < *least) {
    done = Error{ErrorCode::kNoRoom, std::to_string(all) + " of " + std::to_string(*least) +
                                         " members of the gang are there"};
  } else if (without.empty()) {
    return {};
  } else {
    const auto tried = [&](std::size_t count) {
      return plan(Uids(without.begin(), without.begin() + static_cast<long>(count)), expires);
    };
    done = tried(without.size());
    const std::size_t enough = *least > with.size() ? *least - with.size() : 0;
    if (!done && enough > 0 && enough < without.size()) done = tried(enough);
    if (!done && enough == 0) return {};
    if (!done && !with.empty()) {
      giveBack(with);
      return planGang(gang, expires);
    }
  }
  if (!done) giveBack(with);
  return done;
}

void Gatehouse::openGate(const std::string& uid, std::vector<Opening>* out) {
  Seat& seat = seats_.at(uid);
  if (!seat.gated() || seat.opening) return;
  seat.opening = true;
  seat.why.clear();
  out->push_back({seat.pod.meta.space, seat.pod.meta.name, uid,
                  seat.plan && seat.devices ? encode(*seat.plan) : ""});
}

Result<void> Gatehouse::tryUnit(const Unit& unit, engine::Instant expires,
                                std::vector<Opening>* out) {
  if (unit.gang.empty()) {
    const std::string& uid = unit.pods.front();
    Seat& seat = seats_.at(uid);
    // A place that was left of a gate that could not be taken away is still its own.
    const bool needs = seat.devices && !reserved(uid);
    const Result<void> planned = needs ? plan(unit.pods, expires) : Result<void>();
    if (planned) openGate(uid, out);
    return planned;
  }
  Gang& gang = gangs_.at(unit.gang);
  const Result<void> planned = planGang(gang, expires);
  if (!planned) return planned;
  for (const std::string& uid : gang.members)
    if (reserved(uid) && seats_.at(uid).free()) openGate(uid, out);
  return {};
}

Gatehouse::Unit Gatehouse::unitOf(const Uids& pods, const std::string& gang) {
  const Seat& seat = seats_.at(pods.front());
  const Result<std::string> queue = queueOf(seat);
  return {pods, gang, queue ? *queue : "", gang.empty() ? seat.alike : gang, seat.pod.priority, 0};
}

// In the order in which they came; those who did not come when they could go last.
std::vector<Gatehouse::Unit> Gatehouse::units() {
  std::vector<std::tuple<unsigned, std::string, std::string, Unit>> sorted;
  const auto add = [&](const std::string& uid, Unit unit) {
    const Seat& seat = seats_.at(uid);
    sorted.emplace_back(seat.late, seat.created, seat.pod.meta.space + '/' + seat.pod.meta.name,
                        std::move(unit));
  };
  for (auto& [uid, seat] : seats_) {
    // Without its gate: it came too late, and its queue had no room for it any more.
    const bool again = !seat.gated() && seat.held_back && !reserved(uid);
    const bool waits = seat.free() && ((seat.gated() && !seat.opening) || again);
    const bool alone = seat.gang.empty() || gangs_.at(seat.gang).started;
    if (!waits || !alone) continue;
    if (isGatedByOthers(seat.pod)) {
      seat.why = "others' gates are still there: " + othersGate(seat.pod);
    } else {
      add(uid, unitOf({uid}, ""));
    }
  }
  for (const auto& [key, gang] : gangs_) {
    if (gang.started) continue;
    Uids free;
    bool waits = false;
    for (const std::string& uid : gang.members) {
      const Seat& seat = seats_.at(uid);
      if (!seat.free()) continue;
      free.push_back(uid);
      waits = waits || (seat.gated() && !seat.opening) || !reserved(uid);
    }
    if (waits) add(free.front(), unitOf(free, key));
  }
  std::sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
    return std::tie(std::get<0>(a), std::get<1>(a), std::get<2>(a)) <
           std::tie(std::get<0>(b), std::get<1>(b), std::get<2>(b));
  });
  std::vector<Unit> all;
  for (auto& one : sorted) {
    all.push_back(std::move(std::get<3>(one)));
    all.back().since = static_cast<std::int64_t>(all.size());
  }
  return all;
}

void Gatehouse::explain(const Unit& unit, const std::string& why) {
  for (const std::string& uid : unit.pods) seats_.at(uid).why = why;
}

// Of pods that are alike, of one queue and priority, none fits where the first does not.
std::vector<Opening> Gatehouse::open(std::size_t most, const std::string& term,
                                     engine::Instant expires) {
  std::vector<Opening> out;
  if (!settled_) return out;
  stirred_ = false;
  term_ = term;
  missThoseWhoDidNotCome();
  std::vector<Unit> waiting = units();
  std::map<std::tuple<std::string, std::int64_t, std::string>, std::vector<Unit*>> classes;
  for (auto one = waiting.rbegin(); one != waiting.rend(); ++one)
    classes[{one->queue, one->priority, one->alike}].push_back(&*one);
  while (!classes.empty() && out.size() < most) {
    std::vector<Queues::Turn> turns;
    for (const auto& [key, units] : classes) {
      const Unit& head = *units.back();
      turns.push_back({head.queue, 0, 0, head.priority, head.since});
    }
    const auto turn = std::next(classes.begin(), static_cast<long>(queues_.next(turns)));
    const Result<void> tried = tryUnit(*turn->second.back(), expires, &out);
    const Unit& unit = *turn->second.back();
    const bool full = !tried && tried.error().code() == ErrorCode::kNoRoom;
    const std::optional<std::string> clearing = full ? makeRoom(unit) : std::nullopt;
    if (tried && clearances_ != nullptr) clearances_->started(unit.key());
    if (!tried && !full) needNobody(unit);
    if (tried || clearing) {
      // Others as it may have room made for them, too.
      if (clearing) explain(unit, *clearing);
      turn->second.pop_back();
    } else {
      for (const Unit* each : turn->second) explain(*each, tried.error().message());
      // But what is kept for one of them the others do not have.
      turn->second.pop_back();
      std::erase_if(turn->second, [&](const Unit* each) {
        return clearances_ == nullptr || !clearances_->stands(each->key());
      });
    }
    if (turn->second.empty()) classes.erase(turn);
  }
  stirred_ = stirred_ || !classes.empty();
  return out;
}

void Gatehouse::opened(const std::string& uid) {
  const auto seat = seats_.find(uid);
  if (seat == seats_.end()) return;
  seat->second.opened = true;
  seat->second.opening = false;
  seat->second.why.clear();
}

void Gatehouse::notOpened(const std::string& uid, const std::string& why) {
  const auto seat = seats_.find(uid);
  if (seat == seats_.end()) return;
  seat->second.opening = false;
  seat->second.why = "its gate could not be taken away: " + why;
}

}  // namespace divvy::scheduler
