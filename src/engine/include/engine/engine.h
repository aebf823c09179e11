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

// Limits a decision to some nodes. From place `start` on, in the nodes' order and wrapping around,
// nodes are looked at until `enough` of them fit.
struct Window {
  std::size_t start = 0;
  std::size_t enough = SIZE_MAX;
  std::size_t looked_at = 0;  // out
};

// Tries of one query. A try assigns one device, partition or group of devices to one container; it
// takes about a microsecond. A query that needs more tries is answered from the nodes that were
// searched. The other nodes are kNotSearched, and the next query continues with them. Gangs and
// preemptions have twice as many tries (kTriesOfGang).
inline constexpr std::uint32_t kTriesOfDecision = 20'000;

// One thread at a time may use it. Equal nodes, target and allocations give equal answers, in
// whatever order they came. Errors: kUsage (the request or node can never be right; the message
// lists the accepted input), kNoRoom (it fits nowhere now), kNotFound.
class Engine {
 public:
  explicit Engine(Config config);
  ~Engine();
  Engine(Engine&&) noexcept;
  Engine& operator=(Engine&&) noexcept;

  // Adds a node, or replaces the description of a known node. Allocations stay, even on devices
  // that the node no longer has.
  Result<void> setNode(const Node& node);
  // Removes a node. Returns its allocations, which are removed too, in order of their names.
  std::vector<Allocation> removeNode(const NodeName& name);
  Result<void> setTarget(const Target& target);
  // Replaces all pools. A device belongs to the first pool that accepts it. Allocations stay.
  // Returns those on devices that changed pools since the allocation was given, in order of their
  // names.
  Result<std::vector<FormerPoolTenant>> setPools(std::vector<Pool> pools);
  const std::vector<Pool>& pools() const;
  // Returns a device's pool; an empty name: in no pool. kNotFound: no such node, or no such device
  // there.
  Result<PoolName> poolOf(const NodeName& node, const DeviceUuid& device) const;

  // Queries change no allocation.
  Result<Decision> decide(const Request& request) const;
  Result<Decision> decideWithin(const Request& request, Window& window) const;
  // Considers only these nodes. kNotFound: one of them is unknown.
  Result<Decision> decideAmong(const Request& request, std::span<const NodeName> nodes) const;
  // Includes all refusals. Takes as long as looking at every device.
  Result<Decision> explain(const Request& request) const;
  // Short refusals of all nodes that do not fit, in the nodes' order.
  Result<std::vector<CompactRefusal>> compactRefusals(const Request& request) const;
  // Short refusals of these nodes. Results are kept with the shape until a node changes; then a
  // repeated query costs only the search for the names.
  Result<CompactRefusals> compactRefusals(const Request& request,
                                          std::span<const std::string_view> nodes) const;
  // Devices of a node that a container (numbered from the init containers on) cannot use even if
  // the container were alone there. Each with the reason, whether the request fits or not.
  Result<std::vector<DeviceRefusal>> refusedDevices(const Request& request, const NodeName& node,
                                                    std::size_t container) const;
  // Returns the smallest changes with which the request would fit the node. For each kind: the
  // smallest change that helps alone; if none does, memory and compute together. Empty: it fits, or
  // nothing helps.
  Result<std::vector<Remedy>> remedies(const Request& request, const NodeName& node) const;
  // Returns the cheapest set of victims of lower priority. Their eviction makes the request fit, on
  // the node where that is cheapest; among equals the first in the nodes' order. Each victim is
  // needed. (Where there are very many sets, it is the cheapest of those that were tried.) None: no
  // such set. kUsage: it fits without eviction.
  Result<std::optional<Preemption>> preempt(const Request& request, std::int64_t priority,
                                            const EvictionCosts& costs) const;
  // Returns the cheapest set of victims of lower priority. Their eviction lets placeGang place the
  // whole gang. Each victim (or group of victims) is needed.
  //
  // The result is the cheaper one of two searches. The first takes for each member in turn the
  // cheapest victims on one node. The second spares the most expensive candidates first. With at
  // most 12 candidates in one domain of the required level, or on all nodes, the result is the
  // cheapest of all sets. A group counts as one candidate. At most 20,000 sets are tried; beyond
  // that there may be a cheaper set.
  //
  // None: no such set was found. kUsage: it fits without eviction.
  Result<std::optional<GangPreemption>> preemptGang(const Gang& gang, std::int64_t priority,
                                                    const EvictionCosts& costs) const;
  // Plans moves. Devices or nodes are emptied one by one, in two orders, with three ways to choose
  // where their tenants go. Returns the best of the six plans. There may be a better plan, because
  // no tenant is moved to free space for other moves. kUsage: impossible terms.
  Result<DefragmentationPlan> defragment(const DefragmentationOptions& terms) const;
  // Returns whether the request would fit a node without allocations and with all devices in
  // service. True also if a node was not searched for lack of tries.
  Result<bool> possible(const Request& request) const;
  std::vector<NodeName> nodes() const;  // in their order

  // Decides and reserves until `expires`. A request that has an allocation gets the same allocation
  // again; kUsage if its shape has changed.
  Result<Allocation> place(const Request& request, Instant expires);
  Result<Allocation> placeWithin(const Request& request, Instant expires, Window& window);
  // Places all members or none, as near to each other as capacity allows. They use the narrowest
  // level at which all can be together, and there as few narrower domains as possible. kNoRoom:
  // impossible; nothing was reserved.
  Result<GangPlacement> placeGang(const Gang& gang, Instant expires);
  // Reserves an earlier decision, if it still fits. kUsage: the request has another allocation.
  Result<Allocation> reserve(const Request& request, const Placement& placement, Instant expires);
  // Makes a reservation permanent. May be repeated. kNotFound: expired, or never reserved.
  Result<void> confirm(const RequestId& id);
  // Returns whether the request had an allocation. May be repeated.
  bool release(const RequestId& id);
  // Releases the reservations that expire at `now` or before, and returns them in order of expiry,
  // then of names.
  std::vector<Allocation> expire(Instant now);
  // Records an allocation that is known to exist, from a log or another source, even if it exceeds
  // the capacity; then nothing is left there. kUsage: the request has another allocation.
  // kNotFound: no such node.
  Result<void> adopt(const Allocation& allocation);
  // Replaces a request's placement on the same node. Where it takes more of a device than now,
  // there must be room. kUsage: another node. kNoRoom: the message names the shortage.
  // kNotFound: no allocation. On error nothing changes.
  Result<void> resize(const RequestId& id, const Placement& placement);

  const Allocation* find(const RequestId& id) const;
  std::vector<Allocation> allocations() const;  // in order of names
  Usage usage() const;
  // While it lives, all queries share the tries of one decision. Scopes may be nested.
  class BudgetScope;
  // Tries since the engine was created.
  std::uint64_t tries() const;
  // Use of each of the node's devices, in their order. kNotFound: no such node.
  Result<std::vector<DeviceUsed>> used(const NodeName& node) const;

 private:
  friend class ReplicaCounter;
  class Core;
  std::unique_ptr<Core> core_;
};

class Engine::BudgetScope {
 public:
  // `engine` must outlive the scope, and must not be moved meanwhile.
  explicit BudgetScope(const Engine& engine);
  BudgetScope(const BudgetScope&) = delete;
  BudgetScope& operator=(const BudgetScope&) = delete;
  ~BudgetScope();

 private:
  Core& core_;
};

}  // namespace divvy::engine
