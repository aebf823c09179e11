// Where requests go, why, and why not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "engine/compact_refusal.h"
#include "engine/config.h"
#include "engine/decision.h"
#include "engine/defragmentation.h"
#include "engine/device_usage.h"
#include "engine/gang.h"
#include "engine/pool.h"
#include "engine/preemption.h"
#include "engine/request.h"
#include "engine/suggestion.h"
#include "engine/target.h"

namespace divvy::engine {

// Nodes are looked at from `start` on, in their order, and round, until `enough` of them fit: what
// a scheduler does that does not want to look at all of them.
struct Window {
  std::size_t start = 0;
  std::size_t enough = SIZE_MAX;
  std::size_t looked_at = 0;  // out
};

// Of one question. A try puts one device, part or group to one container; it takes about a
// microsecond. A question that needs more is answered of the nodes that were searched; the others
// are kNotSearched, and asking again goes on with them.
inline constexpr std::uint32_t kTriesOfDecision = 20'000;

// For one thread at a time. Equal nodes, target and allocations give equal answers, however they
// came to be. Errors are kUsage (the request or node can never be right; says what is accepted),
// kNoRoom (it fits nowhere now) and kNotFound.
class Engine {
 public:
  explicit Engine(Config config);
  ~Engine();
  Engine(Engine&&) noexcept;
  Engine& operator=(Engine&&) noexcept;

  // A new node, or what a known one has now; allocations stay, also on devices that it has no more.
  Result<void> setNode(const Node& node);
  // What was on it is gone with it, and returned.
  std::vector<Allocation> removeNode(const NodeName& name);
  Result<void> setTarget(const Target& target);
  // Instead of those that were there; a device is in the first that takes it. Allocations stay:
  // those on devices that change pools by it, or did before, are returned, in order of their names.
  Result<std::vector<FormerPoolTenant>> setPools(std::vector<Pool> pools);
  const std::vector<Pool>& pools() const;
  // Empty: in none. kNotFound: no such node, or device there.
  Result<PoolName> poolOf(const NodeName& node, const DeviceUuid& device) const;

  // Asking changes nothing.
  Result<Decision> decide(const Request& request) const;
  Result<Decision> decideWithin(const Request& request, Window& window) const;
  // Among these only; kNotFound where one is not known.
  Result<Decision> decideAmong(const Request& request, std::span<const NodeName> nodes) const;
  // With all refusals. Takes the time of looking at every device.
  Result<Decision> explain(const Request& request) const;
  // Of every node that will not do, in the nodes' order, in short.
  Result<std::vector<CompactRefusal>> briefs(const Request& request) const;
  // Of these nodes only. What was found is kept with the shape until a node changes: asking again
  // takes the time of finding names.
  Result<CompactRefusals> briefs(const Request& request,
                                 std::span<const std::string_view> nodes) const;
  // Devices of a node that a container (init containers first) cannot have, were it alone there:
  // each with the reason, whether the request fits or not.
  Result<std::vector<DeviceRefusal>> refusedDevices(const Request& request, const NodeName& node,
                                                    std::size_t container) const;
  // The smallest changes with which it would fit that node: of every kind the smallest that helps
  // alone, and where none does, of memory and compute together. Empty: it fits, or nothing helps.
  Result<std::vector<Remedy>> remedies(const Request& request, const NodeName& node) const;
  // The cheapest set of requests of lower priority whose end makes this one fit, on the node where
  // that is cheapest; of equals the first in the nodes' order. Without any of them it does not fit.
  // (Where very many sets could be it is the cheapest of those that were tried.)
  // None: no such set. kUsage: it fits as it is.
  Result<std::optional<Preemption>> preempt(const Request& request, std::int64_t priority,
                                            const EvictionCosts& stakes) const;
  // The cheapest set of requests of lower priority whose end lets placeGang place the whole gang;
  // without the end of any of them (of a group: of the group) it cannot. The cheaper of two: what
  // each member in turn costs least on one node, and who is left when the dearest are spared first;
  // where no more than 12 (a group is one) are in the way, in one domain of the required level or
  // on all nodes, the cheapest of all sets, up to 20,000 of them. Beyond there may be a cheaper
  // one. None: no such set was found. kUsage: it fits as it is.
  Result<std::optional<GangPreemption>> preemptGang(const Gang& gang, std::int64_t priority,
                                                    const EvictionCosts& stakes) const;
  // What could be moved. Devices or nodes are emptied one by one, in two orders, with three ways to
  // choose where who is there goes; the best of the six is told. There may be a better plan: nobody
  // is moved to make room for others who move. kUsage: terms that cannot be right.
  Result<DefragmentationPlan> defragment(const DefragmentationTerms& terms) const;
  // Whether it would fit a node if nobody were there and all were in service. False: never.
  Result<bool> possible(const Request& request) const;
  std::vector<NodeName> nodes() const;  // in their order

  // Decides and books until `expires`. Whoever holds something keeps it and is told what, if it
  // asks for the same again; kUsage if for something else.
  Result<Allocation> place(const Request& request, Instant expires);
  Result<Allocation> placeWithin(const Request& request, Instant expires, Window& window);
  // All members or none, as near to each other as there is room: at the narrowest level at which
  // all can be together, there in as few narrower domains as can be. kNoRoom: they cannot; nothing
  // was booked.
  Result<GangPlacement> placeGang(const Gang& gang, Instant expires);
  // Books what was decided, if it still fits.
  Result<Allocation> reserve(const Request& request, const Placement& placement, Instant expires);
  // Again is fine. kNotFound: expired, or never was.
  Result<void> confirm(const RequestId& id);
  // Whether it was there. Again is fine.
  bool release(const RequestId& id);
  // Gives back what is reserved until `now` or before; in order of names.
  std::vector<Allocation> expire(Instant now);
  // What is known to be so, from a log or from elsewhere: booked as it is, also where that is more
  // than there is; then nothing is left there.
  Result<void> adopt(const Allocation& allocation);
  // What it has is that from now on, on the same node; where more is taken of a device than now,
  // there has to be room. kNoRoom: says what lacks, kNotFound: it has nothing; all is as it was.
  Result<void> resize(const RequestId& id, const Placement& placement);

  const Allocation* find(const RequestId& id) const;
  std::vector<Allocation> allocations() const;  // in order of names
  Usage usage() const;
  // While it lives, all questions share the budget of one decision. Scopes may be nested.
  class BudgetScope;
  // Since the engine was made.
  std::uint64_t tries() const;
  // Of each of its devices, in their order. kNotFound: no such node.
  Result<std::vector<DeviceUsed>> used(const NodeName& node) const;

 private:
  class Core;
  std::unique_ptr<Core> core_;
};

class Engine::BudgetScope {
 public:
  // `engine` outlives it and is not moved.
  explicit BudgetScope(const Engine& engine);
  BudgetScope(const BudgetScope&) = delete;
  BudgetScope& operator=(const BudgetScope&) = delete;
  ~BudgetScope();

 private:
  Core& core_;
};

}  // namespace divvy::engine
