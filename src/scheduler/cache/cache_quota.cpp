// What namespaces may hold, where nodes are chosen.
#include <algorithm>
#include <unordered_set>
#include <utility>

#include "cache/cache_impl.h"

namespace divvy::scheduler {

Result<void> SchedulerCache::setQuota(const kube::ResourceQuota& quota) {
  Result<void> set = impl_->quotas.set(quota);
  impl_->waiting.open();
  return set;
}

void SchedulerCache::removeQuota(const std::string& uid) {
  impl_->quotas.remove(uid);
  impl_->waiting.open();
}

std::optional<std::string> SchedulerCache::neverWithinQuota(const kube::Pod& pod) const {
  if (!impl_->quotas.limits(pod.meta.space)) return std::nullopt;
  return impl_->quotas.never(pod.meta.space, leastAsked(pod, impl_->catalog));
}

std::vector<QuotaUsage> SchedulerCache::quotas() const {
  return impl_->quotas.uses();
}

// By kinds, models and memory of their devices: on all nodes of one of these lists a pod holds
// equally much.
const std::vector<std::vector<std::string>>& SchedulerCache::Impl::alikeNodes() {
  if (!alike.empty()) return alike;
  std::map<std::string, std::vector<std::string>> groups;
  for (const auto& [name, known] : nodes) {
    std::set<std::string> devices;
    for (const engine::Device& one : known.node.devices)
      devices.insert(one.kind.text + '/' + one.model.text + '/' + std::to_string(one.memory.count));
    std::string key;
    for (const std::string& one : devices) key += one + ';';
    groups[key].push_back(name);
  }
  for (auto& [key, names] : groups) {
    std::sort(names.begin(), names.end());
    alike.push_back(std::move(names));
  }
  return alike;
}

Result<SchedulerCache::Impl::QuotaDecision> SchedulerCache::Impl::afford(
    const engine::Request& request, const Names* names) {
  QuotaDecision found;
  const Result<std::optional<engine::Placement>> best =
      names != nullptr ? decide(request, *names) : placementOf(engine.decide(request));
  if (!best) return best.error();
  if (!*best) return found;
  const auto why = beyond(request, **best);
  if (!why) {
    found.placement = *best;
    return found;
  }
  found.beyond = refusalText(*why);
  if (!dependsOnDevice(request.shape)) return found;
  // All of a smaller device, or half of it, may be within.
  std::unordered_set<std::string_view> wanted;
  if (names != nullptr) wanted.insert(names->begin(), names->end());
  for (const std::vector<std::string>& group : alikeNodes()) {
    std::vector<engine::NodeName> among;
    for (const std::string& name : group)
      if (names == nullptr || wanted.contains(name)) among.emplace_back(name);
    if (among.empty()) continue;
    const auto there = placementOf(engine.decideAmong(request, among));
    if (!there) return there.error();
    const bool better = *there && (!found.placement || (*there)->score > found.placement->score);
    if (better && !beyond(request, **there)) found.placement = *there;
  }
  if (found.placement) found.beyond.clear();
  return found;
}

}  // namespace divvy::scheduler
