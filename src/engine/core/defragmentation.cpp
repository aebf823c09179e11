#include "core/defragmentation.h"

#include <algorithm>
#include <array>
#include <queue>
#include <tuple>

#include "core/disruptions.h"

namespace divvy::engine {
namespace {

constexpr std::array<Policy, 3> kWhereTo{Policy::kFgd, Policy::kBestFit, Policy::kPacking};
// Moves that are evaluated for kFragmentation.
constexpr std::size_t kMaxLooks = 40'000;
// Nodes tried for one more fit of the request.
constexpr std::size_t kMaxNodes = 32;

using Goal = DefragmentationGoal;

std::vector<RequestId> idsIn(const Layout& layout) {
  std::vector<RequestId> ids;
  for (const Allocation& each : layout.there) ids.push_back(each.id);
  return ids;
}

// The order in which devices or nodes are emptied.
enum class DrainOrder { kFewestMoves, kMinUsed };

// One attempt at a plan.
class Planner {
 public:
  Planner(const Layout& layout, const MovableRequests& movers, Policy policy)
      : movers_(movers),
        terms_(*movers.terms),
        policy_(policy),
        sandbox_(layout),
        disruptions_(terms_, idsIn(layout)) {}

  void empty(DrainOrder order);  // devices or nodes
  void mend();                   // fragmentation
  void makeRoom(const Layout& layout);

  const std::vector<Move>& moves() const { return moves_; }

 private:
  // A device, or a node.
  struct DrainTarget {
    DeviceAt at;
    bool whole = false;
    std::tuple<std::int64_t, std::int64_t, std::int64_t> rank;
  };

  const std::set<RequestId>& on(const DrainTarget& site) const {
    return site.whole ? sandbox_.on(site.at.node) : sandbox_.on(site.at);
  }
  void close(const DrainTarget& site, bool closed) {
    site.whole ? sandbox_.close(site.at.node, closed) : sandbox_.close(site.at, closed);
  }
  std::vector<DrainTarget> sites() const;
  void rank(DrainTarget* site, DrainOrder order) const;
  bool mayMove(const RequestId& id) const {
    return movers_.requests.count(id) != 0 && moved_.count(id) == 0;
  }
  Request requestOf(const RequestId& id) const {
    Request request = movers_.requests.at(id);
    request.shape.policy = policy_;
    return request;
  }
  bool relocate(const std::vector<RequestId>& ids);
  void undo(std::vector<Allocation>* before);
  std::optional<Move> evaluateMove(const RequestId& id, double* wins);
  std::optional<std::vector<Move>> inOrder(LayoutSandbox* real, std::vector<Move> moves) const;
  bool makeRoomOnce(LayoutSandbox* real, std::size_t number);
  bool makeRoomOn(LayoutSandbox* real, const Preemption& found, const RequestId& id);

  const MovableRequests& movers_;
  const DefragmentationOptions& terms_;
  const Policy policy_;
  LayoutSandbox sandbox_;
  Disruptions disruptions_;
  std::set<RequestId> moved_;
  std::vector<Move> moves_;
};

std::int64_t computeOf(const Placement& placement) {
  std::int64_t sum = 0;
  for (const Charge& charge : placement.charges) sum += charge.compute.milli;
  return sum;
}

std::int64_t memoryOf(const Placement& placement) {
  std::int64_t sum = 0;
  for (const Charge& charge : placement.charges)
    sum += static_cast<std::int64_t>(charge.memory.count >> 20);
  return sum;
}

// Devices or nodes with tenants. Idle ones are closed by then.
std::vector<Planner::DrainTarget> Planner::sites() const {
  std::vector<DrainTarget> all;
  if (terms_.goal == Goal::kNodes) {
    for (const auto& [name, who] : sandbox_.nodes())
      if (!who.empty()) all.push_back({{name, {}}, true, {}});
  } else {
    for (const auto& [at, who] : sandbox_.devices())
      if (!who.empty()) all.push_back({at, false, {}});
  }
  return all;
}

void Planner::rank(DrainTarget* site, DrainOrder order) const {
  std::int64_t work = 0, used = 0;
  for (const RequestId& id : on(*site)) {
    const auto move = terms_.of.find(id);
    if (move != terms_.of.end()) work += move->second.work_lost;
    used += computeOf(sandbox_.of(id)) * 100 + memoryOf(sandbox_.of(id));
  }
  const auto moves = static_cast<std::int64_t>(on(*site).size());
  site->rank = order == DrainOrder::kFewestMoves ? std::tuple(moves, used, work)
                                                 : std::tuple(used, moves, work);
}

void Planner::undo(std::vector<Allocation>* before) {
  for (; !before->empty(); before->pop_back()) {
    sandbox_.remove(before->back().id);
    sandbox_.put(before->back());
    moves_.pop_back();
  }
}

// All of them, the largest first, or none.
bool Planner::relocate(const std::vector<RequestId>& ids) {
  std::vector<RequestId> sorted = ids;
  std::stable_sort(sorted.begin(), sorted.end(), [&](const RequestId& a, const RequestId& b) {
    const Placement& x = sandbox_.of(a);
    const Placement& y = sandbox_.of(b);
    return std::pair(computeOf(x), memoryOf(x)) > std::pair(computeOf(y), memoryOf(y));
  });
  std::vector<Allocation> before;
  for (const RequestId& id : sorted) {
    const Allocation was = sandbox_.remove(id);
    const std::optional<Placement> to = sandbox_.decide(requestOf(id));
    if (!to) {
      sandbox_.put(was);
      undo(&before);
      return false;
    }
    sandbox_.put({id, *to, was.expires});
    moves_.push_back({id, was.placement, *to});
    before.push_back(was);
  }
  if (disruptions_.interrupt(ids)) {
    moved_.insert(ids.begin(), ids.end());
    return true;
  }
  undo(&before);
  return false;
}

void Planner::empty(DrainOrder order) {
  const bool nodes = terms_.goal == Goal::kNodes;
  if (nodes) {
    for (const auto& [name, who] : sandbox_.nodes())
      if (who.empty()) sandbox_.close(name, true);
  } else {
    for (const auto& [at, who] : sandbox_.devices())
      if (who.empty()) sandbox_.close(at, true);
  }
  std::vector<DrainTarget> sites = this->sites();
  for (DrainTarget& site : sites) rank(&site, order);
  std::stable_sort(sites.begin(), sites.end(),
                   [](const DrainTarget& a, const DrainTarget& b) { return a.rank < b.rank; });
  for (const DrainTarget& site : sites) {
    const std::vector<RequestId> who(on(site).begin(), on(site).end());
    const bool may =
        std::all_of(who.begin(), who.end(), [&](const RequestId& id) { return mayMove(id); });
    if (who.empty() || !may || moves_.size() + who.size() > terms_.most_moves) continue;
    close(site, true);
    if (!relocate(who)) close(site, false);
  }
}

// The best move of this request, and by how much it reduces fragmentation.
std::optional<Move> Planner::evaluateMove(const RequestId& id, double* wins) {
  const double fragmented = sandbox_.engine().usage().fragmented;
  const Allocation was = sandbox_.remove(id);
  const std::optional<Placement> to = sandbox_.decide(requestOf(id));
  std::optional<Move> move;
  if (to && *to != was.placement) {
    sandbox_.put({id, *to, was.expires});
    *wins = fragmented - sandbox_.engine().usage().fragmented;
    sandbox_.remove(id);
    if (*wins > 0) move = Move{id, was.placement, *to};
  }
  sandbox_.put(was);
  return move;
}

// The move with the largest gain goes first. A gain is computed again before its move is made.
void Planner::mend() {
  std::priority_queue<std::pair<double, RequestId>> next;
  std::size_t looks = 0;
  for (const auto& [id, request] : movers_.requests) {
    double wins = 0;
    if (looks++ < kMaxLooks && evaluateMove(id, &wins)) next.emplace(wins, id);
  }
  while (!next.empty() && moves_.size() < terms_.most_moves && looks++ < kMaxLooks) {
    const RequestId id = next.top().second;
    next.pop();
    double wins = 0;
    const std::optional<Move> move = evaluateMove(id, &wins);
    if (!move) continue;
    if (!next.empty() && wins < next.top().first) {
      next.emplace(wins, id);
    } else if (disruptions_.interrupt({id})) {
      sandbox_.remove(id);
      sandbox_.put({id, move->to, std::nullopt});
      moves_.push_back(*move);
    }
  }
}

// Orders the moves so that each has room when it is made; they are made on `real`. None: there is
// no such order.
std::optional<std::vector<Move>> Planner::inOrder(LayoutSandbox* real,
                                                  std::vector<Move> moves) const {
  std::vector<Move> done;
  for (bool again = true; again && !moves.empty();) {
    again = false;
    for (auto at = moves.begin(); at != moves.end();) {
      if (real->move(movers_.requests.at(at->id), at->to)) {
        done.push_back(*at);
        at = moves.erase(at);
        again = true;
      } else {
        ++at;
      }
    }
  }
  if (moves.empty()) return done;
  for (; !done.empty(); done.pop_back()) {
    const Allocation was = real->remove(done.back().id);
    real->put({was.id, done.back().from, was.expires});
  }
  return std::nullopt;
}

// Places the request where the victims were, then the victims where they fit.
bool Planner::makeRoomOn(LayoutSandbox* real, const Preemption& found, const RequestId& id) {
  const std::size_t before = moves_.size();
  std::vector<Allocation> gone;
  for (const RequestId& victim : found.victims) gone.push_back(sandbox_.remove(victim));
  const auto placement = sandbox_.decide({id, terms_.room});
  if (placement) sandbox_.put({id, *placement, std::nullopt});
  std::vector<RequestId> placed;
  bool all = placement && moves_.size() + gone.size() <= terms_.most_moves;
  for (const Allocation& was : gone) {
    const std::optional<Placement> to = all ? sandbox_.decide(requestOf(was.id)) : std::nullopt;
    all = to.has_value();
    if (!all) break;
    sandbox_.put({was.id, *to, was.expires});
    placed.push_back(was.id);
    moves_.push_back({was.id, was.placement, *to});
  }
  const auto first = moves_.begin() + static_cast<long>(before);
  std::optional<std::vector<Move>> ordered;
  Disruptions next = disruptions_;
  if (all && next.interrupt(found.victims)) ordered = inOrder(real, {first, moves_.end()});
  moves_.resize(before);
  if (ordered) {
    moves_.insert(moves_.end(), ordered->begin(), ordered->end());
    moved_.insert(found.victims.begin(), found.victims.end());
    disruptions_ = next;
    return true;
  }
  for (const RequestId& victim : placed) sandbox_.remove(victim);
  if (placement) sandbox_.remove(id);
  for (const Allocation& was : gone) sandbox_.put(was);
  return false;
}

bool Planner::makeRoomOnce(LayoutSandbox* real, std::size_t number) {
  const RequestId id(std::string("\x01room ") + std::to_string(number));
  if (const auto fits = sandbox_.decide({id, terms_.room})) {
    sandbox_.put({id, *fits, std::nullopt});
    return true;
  }
  EvictionCosts costs;
  for (const auto& [mover, request] : movers_.requests)
    if (moved_.count(mover) == 0) costs.of[mover] = {0, terms_.of.at(mover).work_lost, {}, {}};
  for (std::size_t tries = 0; tries < kMaxNodes; ++tries) {
    const auto found = sandbox_.engine().preempt({id, terms_.room}, 1, costs);
    if (!found || !*found) return false;
    if (makeRoomOn(real, **found, id)) return true;
    const std::set<RequestId> there = sandbox_.on((*found)->node);
    for (const RequestId& mover : there) costs.of.erase(mover);
  }
  return false;
}

void Planner::makeRoom(const Layout& layout) {
  LayoutSandbox real(layout);
  for (std::size_t number = 0; number < terms_.times; ++number)
    if (!makeRoomOnce(&real, number)) return;
}

// The quantity to maximise.
double wonOn(LayoutSandbox* sandbox, const DefragmentationOptions& terms) {
  switch (terms.goal) {
    case Goal::kDevices:
      return static_cast<double>(sandbox->idleDevices());
    case Goal::kNodes:
      return static_cast<double>(sandbox->idleNodes());
    case Goal::kFragmentation:
      return -sandbox->engine().usage().fragmented;
    case Goal::kRoom:
      break;
  }
  return static_cast<double>(sandbox->fits(terms.room, terms.times));
}

// Moves that could be made in this order, from the first on.
std::size_t makeAll(LayoutSandbox* sandbox, const MovableRequests& movers,
                    const std::vector<Move>& moves) {
  for (std::size_t i = 0; i < moves.size(); ++i)
    if (!sandbox->move(movers.requests.at(moves[i].id), moves[i].to)) return i;
  return moves.size();
}

// Drops moves that gain nothing. Each move is taken back for a check; if that has no room, a later
// move needs it.
std::vector<Move> neededOf(const Layout& layout, const MovableRequests& movers,
                           std::vector<Move> moves) {
  LayoutSandbox sandbox(layout);
  moves.resize(makeAll(&sandbox, movers, moves));
  double won = wonOn(&sandbox, *movers.terms);
  for (std::size_t i = moves.size(); i-- > 0;) {
    if (!sandbox.move(movers.requests.at(moves[i].id), moves[i].from)) continue;
    const double without = wonOn(&sandbox, *movers.terms);
    if (without >= won) {
      std::vector<Move> fewer = moves;
      fewer.erase(fewer.begin() + static_cast<long>(i));
      LayoutSandbox again(layout);
      if (makeAll(&again, movers, fewer) == fewer.size()) {
        moves = std::move(fewer);
        won = without;
        i = moves.size();
        continue;
      }
    }
    const Allocation was = sandbox.remove(moves[i].id);
    sandbox.put({was.id, moves[i].to, was.expires});
  }
  return moves;
}

template <typename Name>
void compare(const std::map<Name, std::set<RequestId>>& before,
             const std::map<Name, std::set<RequestId>>& after, std::vector<Name>* freed,
             std::vector<Name>* taken) {
  for (const auto& [name, who] : before) {
    const bool empty = after.at(name).empty();
    if (!who.empty() && empty) freed->push_back(name);
    if (who.empty() && !empty) taken->push_back(name);
  }
}

DefragmentationPlan describePlan(const Layout& layout, const MovableRequests& movers,
                                 std::vector<Move> moves) {
  const DefragmentationOptions& terms = *movers.terms;
  DefragmentationPlan plan;
  LayoutSandbox before(layout);
  LayoutSandbox after(layout);
  makeAll(&after, movers, moves);
  compare(before.devices(), after.devices(), &plan.freed, &plan.taken);
  compare(before.nodes(), after.nodes(), &plan.nodes_freed, &plan.nodes_taken);
  plan.before = before.engine().usage();
  plan.after = after.engine().usage();
  if (terms.goal == Goal::kRoom) {
    plan.fits_before = before.fits(terms.room, terms.times);
    plan.fits_after = after.fits(terms.room, terms.times);
  }
  Disruptions interruptions(terms, idsIn(layout));
  for (const Move& move : moves) interruptions.interrupt({move.id});
  plan.interrupted = interruptions.count();
  plan.work_lost = interruptions.workLost();
  plan.moves = std::move(moves);
  return plan;
}

std::vector<std::vector<Move>> tries(const Layout& layout, const MovableRequests& movers) {
  std::vector<std::vector<Move>> all;
  const Goal goal = movers.terms->goal;
  if (goal == Goal::kFragmentation) {
    Planner planner(layout, movers, Policy::kFgd);
    planner.mend();
    return {planner.moves()};
  }
  for (const Policy policy : kWhereTo) {
    if (goal == Goal::kRoom) {
      Planner planner(layout, movers, policy);
      planner.makeRoom(layout);
      all.push_back(planner.moves());
      continue;
    }
    for (const DrainOrder order : {DrainOrder::kFewestMoves, DrainOrder::kMinUsed}) {
      Planner planner(layout, movers, policy);
      planner.empty(order);
      all.push_back(planner.moves());
    }
  }
  return all;
}

}  // namespace

// The largest gain first, then the least lost work, then the fewest moves.
DefragmentationPlan planMoves(const Layout& layout, const MovableRequests& movers) {
  std::vector<Move> best;
  std::tuple<double, std::int64_t, std::int64_t> best_key;
  bool first = true;
  for (std::vector<Move>& moves : tries(layout, movers)) {
    LayoutSandbox sandbox(layout);
    moves.resize(makeAll(&sandbox, movers, moves));
    Disruptions interruptions(*movers.terms, idsIn(layout));
    for (const Move& move : moves) interruptions.interrupt({move.id});
    const std::tuple key{wonOn(&sandbox, *movers.terms), -interruptions.workLost(),
                         -static_cast<std::int64_t>(moves.size())};
    if (!first && !(key > best_key)) continue;
    best = std::move(moves);
    best_key = key;
    first = false;
  }
  return describePlan(layout, movers, neededOf(layout, movers, std::move(best)));
}

}  // namespace divvy::engine
