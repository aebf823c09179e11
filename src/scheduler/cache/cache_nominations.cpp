// What the books keep for those for whom others have to end, and what choosing these needs.
#include "cache/cache_impl.h"

namespace divvy::scheduler {

std::optional<NodeSnapshot> SchedulerCache::snapshotOf(const std::string& node) const {
  const auto known = impl_->nodes.find(node);
  if (known == impl_->nodes.end() || impl_->unreadable.contains(node)) return std::nullopt;
  return NodeSnapshot{known->second.node, known->second.said.allocatable,
                      impl_->heldOn(engine::NodeName(node))};
}

kube::Quantities SchedulerCache::allocatable(const std::string& node) const {
  const auto known = impl_->nodes.find(node);
  return known == impl_->nodes.end() ? kube::Quantities() : known->second.said.allocatable;
}

Result<std::optional<engine::Request>> SchedulerCache::readRequest(const kube::Pod& pod) const {
  return scheduler::requestOf(pod, impl_->catalog, impl_->config.devices);
}

const engine::Config& SchedulerCache::config() const {
  return impl_->config;
}

const std::vector<engine::Pool>& SchedulerCache::pools() const {
  return impl_->engine.pools();
}

Result<void> SchedulerCache::nominate(const kube::Pod& pod, const engine::Placement& placement,
                                      engine::Instant until) {
  const std::string& uid = pod.meta.uid;
  if (impl_->gone.has(uid)) return Error{ErrorCode::kNotFound, "the pod is gone"};
  const engine::Allocation* old = impl_->engine.find(engine::RequestId(uid));
  const auto before = impl_->claims.find(uid);
  const bool only = old == nullptr || (before != impl_->claims.end() && *old == before->second);
  if (!only || impl_->homeless.contains(uid))
    return Error{ErrorCode::kUnavailable, "the pod has been placed"};
  if (impl_->quotas.limits(pod.meta.space)) {
    const auto beyond =
        impl_->quotas.refusal(pod.meta.space, uid, impl_->amountsOf(placement, nullptr));
    if (beyond) return Error{ErrorCode::kNoRoom, refusalText(*beyond)};
  }
  impl_->claims.erase(uid);
  if (old != nullptr) impl_->release(uid);
  engine::Allocation kept{engine::RequestId(uid), placement, until};
  // Beside devices nothing is counted here.
  kept.placement.cpu = {};
  kept.placement.memory = {};
  const Result<void> adopted = impl_->engine.adopt(kept);
  if (!adopted) return adopted;
  impl_->on[placement.node.text].insert(uid);
  impl_->holders.insert_or_assign(uid, PodRef{pod.meta.space, pod.meta.name});
  impl_->claims.insert_or_assign(uid, std::move(kept));
  return {};
}

void SchedulerCache::denominate(const std::string& uid) {
  const auto kept = impl_->claims.find(uid);
  if (kept == impl_->claims.end()) return;
  const engine::Allocation* held = impl_->engine.find(engine::RequestId(uid));
  // It may have been given something by now: that stays.
  const bool only = held != nullptr && *held == kept->second;
  impl_->claims.erase(kept);
  if (only) impl_->release(uid);
}

}  // namespace divvy::scheduler
