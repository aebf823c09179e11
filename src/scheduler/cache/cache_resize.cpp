// What running pods have is changed.
#include <algorithm>

#include "cache/cache_impl.h"
#include "codec/pod_request.h"

namespace divvy::scheduler {

Result<void> SchedulerCache::admitChange(const kube::Pod& pod) {
  const std::string& uid = pod.meta.uid;
  const engine::RequestId id(uid);
  const engine::Allocation* has = impl_->engine.find(id);
  if (has == nullptr || has->expires)
    return Error{ErrorCode::kUnavailable, "the pod holds nothing yet, or its node is not known"};
  Result<std::optional<engine::Allocation>> wanted =
      heldBy(pod, impl_->catalog, impl_->devicesOf(pod.node));
  if (!wanted) return wanted.error();
  if (!*wanted) return Error{ErrorCode::kUnavailable, "the pod holds nothing any more"};
  const engine::Placement& placement = (*wanted)->placement;
  const Amounts amounts = impl_->amountsOf(placement, &pod);
  const Amounts before = impl_->amountsOf(has->placement, &pod);
  const bool more = std::any_of(amounts.begin(), amounts.end(), [&](const auto& one) {
    const auto was = before.find(one.first);
    return was == before.end() || one.second.memory > was->second.memory ||
           one.second.milli > was->second.milli;
  });
  // Who gives something back may, however little there is.
  const auto beyond = more ? impl_->quotas.refusal(pod.meta.space, uid, amounts) : std::nullopt;
  if (beyond) return Error{ErrorCode::kNoRoom, refusalText(*beyond)};
  if (const Result<void> resized = impl_->engine.resize(id, placement); !resized) return resized;
  impl_->changing.insert(uid);
  impl_->masks.take(uid, placement);
  impl_->count(pod, placement);
  return {};
}

}  // namespace divvy::scheduler
