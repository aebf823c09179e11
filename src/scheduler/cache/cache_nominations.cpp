// What the books keep for those for whom others have to end, and what choosing these needs.
#include "cache/cache_impl.h"

namespace divvy::scheduler {

std::optional<Premises> Books::premises(const std::string& node) const {
  const auto known = inside_->nodes.find(node);
  if (known == inside_->nodes.end() || inside_->unreadable.contains(node)) return std::nullopt;
  return Premises{known->second.node, known->second.said.allocatable,
                  inside_->heldOn(engine::NodeName(node))};
}

kube::Quantities Books::allocatable(const std::string& node) const {
  const auto known = inside_->nodes.find(node);
  return known == inside_->nodes.end() ? kube::Quantities() : known->second.said.allocatable;
}

Result<std::optional<engine::Request>> Books::asksOf(const kube::Pod& pod) const {
  return requestOf(pod, inside_->catalog, inside_->config.devices);
}

const engine::Config& Books::config() const {
  return inside_->config;
}

const std::vector<engine::Pool>& Books::pools() const {
  return inside_->engine.pools();
}

Result<void> Books::claim(const kube::Pod& pod, const engine::Placement& placement,
                          engine::Instant until) {
  const std::string& uid = pod.meta.uid;
  if (inside_->gone.has(uid)) return Error{ErrorCode::kNotFound, "the pod is gone"};
  const engine::Allocation* old = inside_->engine.find(engine::RequestId(uid));
  const auto before = inside_->claims.find(uid);
  const bool only = old == nullptr || (before != inside_->claims.end() && *old == before->second);
  if (!only || inside_->homeless.contains(uid))
    return Error{ErrorCode::kUnavailable, "the pod has been placed"};
  if (inside_->quotas.limits(pod.meta.space)) {
    const auto beyond =
        inside_->quotas.refusal(pod.meta.space, uid, inside_->amountsOf(placement, nullptr));
    if (beyond) return Error{ErrorCode::kNoRoom, refusalText(*beyond)};
  }
  inside_->claims.erase(uid);
  if (old != nullptr) inside_->release(uid);
  engine::Allocation kept{engine::RequestId(uid), placement, until};
  // Beside devices nothing is counted here.
  kept.placement.cpu = {};
  kept.placement.memory = {};
  const Result<void> adopted = inside_->engine.adopt(kept);
  if (!adopted) return adopted;
  inside_->on[placement.node.text].insert(uid);
  inside_->holders.insert_or_assign(uid, Waiting{pod.meta.space, pod.meta.name});
  inside_->claims.insert_or_assign(uid, std::move(kept));
  return {};
}

void Books::unclaim(const std::string& uid) {
  const auto kept = inside_->claims.find(uid);
  if (kept == inside_->claims.end()) return;
  const engine::Allocation* held = inside_->engine.find(engine::RequestId(uid));
  // It may have been given something by now: that stays.
  const bool only = held != nullptr && *held == kept->second;
  inside_->claims.erase(kept);
  if (only) inside_->release(uid);
}

}  // namespace divvy::scheduler
