// What running pods have is changed.
#include "books_inside.h"
#include "describe.h"

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
  if (const auto beyond = inside_->quotas.refusal(pod.meta.space, uid, amounts))
    return Error{ErrorCode::kNoRoom, refusalText(*beyond)};
  if (const Result<void> resized = inside_->engine.resize(id, placement); !resized) return resized;
  inside_->changing.insert(uid);
  inside_->masks.take(uid, placement);
  inside_->count(pod, placement);
  return {};
}

}  // namespace divvy::scheduler
