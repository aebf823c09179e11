// Which of the pods that wait at our gate may start: those of queues when there is room for them in
// their queue and on the devices, those of gangs when there is for all of them. Pure. Private.
//
// Crash safety: a pod's promise is written in the same call that takes its gate away. A gang's
// gates go one by one, and gates cannot be put back; so a pod without its gate is still held back
// at /filter until none of those who were promised a place together has one any more. Whoever takes
// over reads who was promised what and keeps it; if the rest finds no room any more, all of it is
// given back: nobody is bound, and the gang is planned anew, whole.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "codec/reservation_annotation.h"
#include "engine/units.h"
#include "kube/pod.h"
#include "preemption/gated_preemption.h"
#include "preemption/node_resources_fit.h"
#include "quota/queue_tree.h"
#include "scheduler/cache.h"
#include "scheduler/pod_group.h"
#include "vendors/catalog.h"

namespace divvy::scheduler {

// A gate that may go, and what has to be written with it.
struct Opening {
  std::string space, name, uid;
  std::string plan;  // empty: nothing
};

// Who waits, and for what.
struct Queued {
  std::string space, name, uid;
  std::string queue;  // empty: of none
  std::string why;
};

// For one thread. Books and queues outlive it; it is told of pods after the books are.
class Gatehouse {
 public:
  Gatehouse(const vendors::Catalog& catalog, Books& books, Queues& queues);

  // Whom to ask for room where there is none, and for what nodes have beside devices: both outlive
  // this.
  void clearBy(Clearances* clearances) { clearances_ = clearances; }
  void countBy(const Rooms* rooms) { rooms_ = rooms; }

  // `created`: as its object says it; sorts.
  void setPod(const kube::Pod& pod, const std::string& created);
  // Why a pod may not have what is booked for it, for its queue's sake, where that is more than it
  // had; empty: it may.
  std::string beyondQueue(const std::string& uid);
  void removePod(const std::string& uid);
  // How many members a gang has at least, by what GangWords::in names; an error: why that is not
  // known.
  void setLeast(const LeastIn& in, Result<std::uint32_t> least);
  // Gangs that wait for that.
  std::vector<LeastIn> unknownLeast() const;

  // What we promised is not ours any more, until settle: then what is written of it is booked
  // again. `expires` in all of these: of what is promised.
  void reset() { settled_ = false; }
  bool settled() const { return settled_; }
  void settle(engine::Instant expires);

  // Those who may start now; `term` is that in which we lead. Each is told of until opened or
  // notOpened says what became of it.
  std::vector<Opening> open(std::size_t most, const std::string& term, engine::Instant expires);
  void opened(const std::string& uid);
  void notOpened(const std::string& uid, const std::string& why);

  bool knows(const std::string& uid) const { return seats_.contains(uid); }
  // For /filter, as Books::choose. A pod that was promised a place gets that.
  Result<Choice> choose(const kube::Pod& pod, std::span<const std::string_view> nodes,
                        engine::Instant expires);
  // Pods that were held back at /filter, and need not be any more: once.
  std::vector<Waiting> released();

  // As of the last look.
  std::vector<Queued> waiting() const;
  // What queues there are, who uses them, or what devices there are is another now.
  void recount();
  // Something happened since the last look.
  bool stirred() const { return stirred_; }
  void stir() { stirred_ = true; }

 private:
  struct Seat {
    kube::Pod pod;
    std::string created;
    std::string alike;  // pods of which it is the same fit the same
    bool devices = false;
    std::optional<GangWords> words;
    std::string gang;   // key of it; empty: of none
    std::string fault;  // why it can never start
    std::optional<PlanNote> plan;
    unsigned late = 0;  // as often it was promised a place and did not come
    bool opened = false;
    bool opening = false;
    bool held_back = false;
    std::string why;
    bool bound() const { return !pod.node.empty(); }
    bool gated() const { return isGated(pod) && !opened; }
    bool free() const { return !bound() && !pod.ended() && !pod.meta.deleting; }
  };
  struct Gang {
    std::set<std::string> members;  // UIDs
    bool started = false;           // once one of them was bound
  };
  using Uids = std::vector<std::string>;
  // Starts as one.
  struct Unit {
    Uids pods;
    std::string gang;  // empty: a pod of its own
    std::string queue, alike;
    std::int64_t priority = 0;
    std::int64_t since = 0;
    const std::string& key() const { return gang.empty() ? pods.front() : gang; }
  };

  Result<std::string> queueOf(const Seat& seat) const;
  Result<std::uint32_t> leastOf(const Gang& gang) const;
  bool reserved(const std::string& uid) const { return books_.placeOf(uid).has_value(); }
  std::string holdsBack(const Gang& gang) const;
  void chargeFor(const std::string& uid, const std::string& queue);
  void chargeOther(const std::string& uid);
  void giveBack(const Uids& uids);
  void missThoseWhoDidNotCome();
  void explain(const Unit& unit, const std::string& why);

  Result<void> plan(const Uids& uids, engine::Instant expires);
  Result<std::vector<Planned>> places(const std::vector<kube::Pod>& pods,
                                      const std::vector<std::string>& without,
                                      engine::Instant expires);
  std::vector<std::size_t> withoutRoom(const std::vector<kube::Pod>& pods,
                                       const std::vector<Planned>& places) const;
  Result<void> planGang(const Gang& gang, engine::Instant expires);
  void sortMembers(Uids* uids) const;
  void needNobody(const Unit& unit);
  std::optional<std::string> makeRoom(const Unit& unit);
  std::vector<Unit> units();
  Unit unitOf(const Uids& pods, const std::string& gang);
  Result<void> tryUnit(const Unit& unit, engine::Instant expires, std::vector<Opening>* out);
  void openGate(const std::string& uid, std::vector<Opening>* out);
  Choice refusedEverywhere(std::span<const std::string_view> nodes, const std::string& why) const;

  const vendors::Catalog& catalog_;
  Books& books_;
  Queues& queues_;
  std::map<std::string, Seat> seats_;  // by UID: at our gate, or of a gang, or promised
  // By UID: other pods that hold devices.
  struct Other {
    std::string space, named;  // the queue that it names
    Queues::Standing standing;
  };
  std::unordered_map<std::string, Other> others_;
  std::map<std::string, Gang> gangs_;
  std::map<std::string, Result<std::uint32_t>> least_;  // by path of the object that says it
  std::string term_;
  std::uint64_t plans_ = 0;
  Clearances* clearances_ = nullptr;
  const Rooms* rooms_ = nullptr;
  bool settled_ = false;
  bool stirred_ = true;
};

}  // namespace divvy::scheduler
