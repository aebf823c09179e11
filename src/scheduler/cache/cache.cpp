#include "scheduler/cache.h"

#include <utility>

#include "cache/cache_parts.h"

namespace divvy::scheduler {

SchedulerCache::SchedulerCache(const vendors::Catalog& catalog, engine::Config config)
    : parts_(std::make_unique<CacheParts>(catalog, config)) {}
SchedulerCache::~SchedulerCache() = default;

const NodeQueries& SchedulerCache::nodes() const {
  return parts_->node_queries;
}

const PodQueries& SchedulerCache::pods() const {
  return parts_->pod_queries;
}

Result<void> SchedulerCache::setPools(std::vector<engine::Pool> pools) {
  const auto set = parts_->state.engine.setPools(std::move(pools));
  if (!set) return set.error();
  parts_->state.unschedulable.open();
  return {};
}

Result<void> SchedulerCache::setNode(const kube::Node& node) {
  return parts_->updates.setNode(node);
}

void SchedulerCache::removeNode(const std::string& uid, const std::string& name) {
  parts_->updates.removeNode(uid, name);
}

Result<void> SchedulerCache::setPod(const kube::Pod& pod) {
  return parts_->updates.setPod(pod);
}

void SchedulerCache::removePod(const std::string& uid) {
  parts_->updates.removePod(uid);
}

Result<void> SchedulerCache::admitChange(const kube::Pod& pod) {
  return parts_->updates.admitChange(pod);
}

Result<void> SchedulerCache::setQuota(const kube::ResourceQuota& quota) {
  Result<void> set = parts_->state.quotas.set(quota);
  parts_->state.unschedulable.open();
  return set;
}

void SchedulerCache::removeQuota(const std::string& uid) {
  parts_->state.quotas.remove(uid);
  parts_->state.unschedulable.open();
}

Result<FilterResult> SchedulerCache::filterAndReserve(const kube::Pod& pod,
                                                      std::span<const std::string_view> nodes,
                                                      engine::Instant expires) {
  return parts_->filter.filterAndReserve(pod, nodes, expires);
}

Result<FilterResult> SchedulerCache::fitting(const kube::Pod& pod,
                                             std::span<const std::string_view> nodes) {
  return parts_->filter.fitting(pod, nodes);
}

Result<void> SchedulerCache::reserve(const std::string& uid, const std::string& node,
                                     engine::Instant expires) {
  return parts_->reservations.reserve(uid, node, expires);
}

Result<BindPlan> SchedulerCache::assume(const std::string& uid, const std::string& node,
                                        std::int64_t nanoseconds) {
  return parts_->reservations.assume(uid, node, nanoseconds);
}

void SchedulerCache::finishBinding(const std::string& uid, BindOutcome end) {
  parts_->reservations.finishBinding(uid, end);
}

Result<std::vector<Reservation>> SchedulerCache::plan(std::span<const kube::Pod> pods,
                                                      const std::vector<std::string>& without,
                                                      const std::vector<std::string>& not_on,
                                                      engine::Instant expires) {
  return parts_->reservations.plan(pods, without, not_on, expires);
}

Result<void> SchedulerCache::restoreReservation(const kube::Pod& pod, const Reservation& was,
                                                engine::Instant expires) {
  return parts_->reservations.restoreReservation(pod, was, expires);
}

void SchedulerCache::unreserve(const std::string& uid, bool forget) {
  parts_->reservations.unreserve(uid, forget);
}

void SchedulerCache::tryOut(const std::function<void()>& attempt) {
  const bool opened = parts_->state.unschedulable.opened();
  attempt();
  parts_->state.unschedulable.restoreOpened(opened);
}

std::size_t SchedulerCache::expire(engine::Instant now) {
  return parts_->reservations.expire(now);
}

Result<void> SchedulerCache::nominate(const kube::Pod& pod, const engine::Placement& placement,
                                      engine::Instant until) {
  return parts_->reservations.nominate(pod, placement, until);
}

void SchedulerCache::denominate(const std::string& uid) {
  parts_->reservations.denominate(uid);
}

Result<std::optional<EvictionPlan>> SchedulerCache::planEvictions(
    std::span<const kube::Pod> pods, const std::vector<std::string>& gone,
    const engine::EvictionCosts& costs) {
  return parts_->what_if.planEvictions(pods, gone, costs);
}

std::vector<PodRef> SchedulerCache::popSchedulable(std::size_t most, engine::Instant now) {
  return parts_->filter.popSchedulable(most, now);
}

}  // namespace divvy::scheduler
