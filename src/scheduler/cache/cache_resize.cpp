// What running pods have is changed.
#include <algorithm>

#include "cache/cache_impl.h"
#include "codec/pod_request.h"

namespace divvy::scheduler {

Result<void> Books::admitChange(const kube::Pod& pod) {
  const std::string& uid = pod.meta.uid;
  const engine::RequestId id(uid);
  const engine::Allocation* has = inside_->engine.find(id);
  if (has == nullptr || has->expires)
    return Error{ErrorCode::kUnavailable, "the pod holds nothing yet, or its node is not known"};
  Result<std::optional<engine::Allocation>> wanted =
      heldBy(pod, inside_->catalog, inside_->devicesOf(pod.node));
  if (!wanted) return wanted.error();
  if (!*wanted) return Error{ErrorCode::kUnavailable, "the pod holds nothing any more"};
  const engine::Placement& placement = (*wanted)->placement;
  const Amounts amounts = inside_->amountsOf(placement, &pod);
  const Amounts before = inside_->amountsOf(has->placement, &pod);
  const bool more = std::any_of(amounts.begin(), amounts.end(), [&](const auto& one) {
    const auto was = before.find(one.first);
    return was == before.end() || one.second.memory > was->second.memory ||
           one.second.milli > was->second.milli;
  });
  // Who gives something back may, however little there is.
  const auto beyond = more ? inside_->quotas.refusal(pod.meta.space, uid, amounts) : std::nullopt;
  if (beyond) return Error{ErrorCode::kNoRoom, refusalText(*beyond)};
  if (const Result<void> resized = inside_->engine.resize(id, placement); !resized) return resized;
  inside_->changing.insert(uid);
  inside_->masks.take(uid, placement);
  inside_->count(pod, placement);
  return {};
}

}  // namespace divvy::scheduler
