#include "server/placement_history.h"

#include <algorithm>
#include <utility>

namespace divvy::agent {
namespace {

std::int64_t numberOf(Priority priority) {
  return static_cast<std::int64_t>(priority) - static_cast<std::int64_t>(Priority::kNormal);
}

std::int64_t sinceMs(const TenantRecord& record) {
  return record.created_ms != 0 ? record.created_ms : record.created * 1000;
}

}  // namespace

bool PlacementHistory::right(const engine::Request& request) const {
  engine::Engine engine{engine::Config{}};
  return engine.setPools(placing_.pools) && engine.decide(request);
}

// The request that would lead to these shares today. None: the shares differ between devices.
std::optional<engine::Shape> PlacementHistory::shapeOf(const TenantRecord& record) const {
  if (record.shares.empty()) return std::nullopt;
  const ShareRecord& first = record.shares.front();
  const bool same =
      std::all_of(record.shares.begin(), record.shares.end(), [&](const ShareRecord& share) {
        return share.limit == first.limit && share.guarantee == first.guarantee &&
               share.cores == first.cores;
      });
  if (!same || first.limit.count == 0) return std::nullopt;
  ShareRequest ask;
  ask.memory = {first.limit, 0};
  if (first.guarantee.count != 0) ask.guaranteed = MemoryRequest{first.guarantee, 0};
  ask.unswappable = !arbiterGates(record.backend);
  ask.gpus = static_cast<unsigned>(record.shares.size());
  ask.cores = first.cores * ask.gpus;
  ask.models = record.models;
  ask.uuids = record.uuids;
  ask.context_inside = record.context_inside;
  if (!placing_.pools.empty()) ask.pool = record.pool;
  ask.devices = record.devices;
  ask.expected_use = record.expected_use;
  // Its pool may be one of an earlier agent.
  engine::Shape shape = agent::shapeOf(ask);
  if (!right({engine::RequestId(record.id), shape, engine::UserName(record.user)}))
    return std::nullopt;
  return shape;
}

std::vector<engine::Allocation> PlacementHistory::here(const PlacementInput& input) const {
  std::vector<engine::Allocation> held = input.held;
  for (engine::Allocation& one : held) one.placement.node = engine::NodeName(node_);
  return held;
}

void PlacementHistory::note(const PlacementInput& input, Bytes host_reserve) {
  recorder_.note({wallMs()}, {nodeOf(node_, input.cards, host_reserve)}, here(input));
}

void PlacementHistory::decided(const PlacementInput& input, Bytes host_reserve,
                               const RunRequest& request, const Decision& decision,
                               snapshot::RequestOutcome outcome, const std::string& id) {
  snapshot::RequestEvent asked;
  asked.request = {engine::RequestId(id), agent::shapeOf(request.ask),
                   engine::UserName(request.ask.user)};
  if (!right(asked.request)) return;
  note(input, host_reserve);
  asked.priority = numberOf(request.priority);
  asked.outcome = outcome;
  asked.placement = decision.placement;
  if (asked.placement) asked.placement->node = engine::NodeName(node_);
  asked.reason = decision.summary;
  recorder_.recordRequest({wallMs()}, std::move(asked));
}

snapshot::Snapshot PlacementHistory::snapshot(const TenantManager& tenants,
                                              const WaitQueue& queue) {
  const Bytes host_reserve = tenants.memory().host_reserve;
  const PlacementInput input = tenants.capacity().placementInput();
  note(input, host_reserve);
  snapshot::Snapshot result;
  result.written_by = "divvy " DIVVY_VERSION;
  result.written_at = {wallMs()};
  result.config.devices = placing_.devices;
  result.config.daily = placing_.by_day;
  result.pools = placing_.pools;
  result.nodes.push_back(nodeOf(node_, input.cards, host_reserve));
  for (engine::Allocation& one : here(input)) {
    const TenantRecord& record = tenants.all().at(one.id.text)->record;
    result.allocations.push_back({std::move(one),
                                  record.name,
                                  numberOf(record.priority),
                                  {sinceMs(record)},
                                  shapeOf(record),
                                  engine::UserName(record.user)});
  }
  std::stable_sort(result.allocations.begin(), result.allocations.end(),
                   [](const snapshot::HeldAllocation& a, const snapshot::HeldAllocation& b) {
                     return a.since < b.since;
                   });
  for (const Waiting& waiting : queue.entries()) {
    const engine::Request request{engine::RequestId(waiting.id), agent::shapeOf(waiting.ask),
                                  engine::UserName(waiting.ask.user)};
    if (!right(request)) continue;
    result.pending.push_back(
        {request, waiting.name, numberOf(waiting.priority), {waiting.since_ms}, waiting.reason});
  }
  result.history = recorder_.history();
  return result;
}

}  // namespace divvy::agent
