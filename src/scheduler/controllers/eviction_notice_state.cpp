#include "controllers/eviction_notice_state.h"

#include <algorithm>

namespace divvy::scheduler {

NoticeAction noticeStep(const std::optional<kube::EvictionRequest>& said,
                        const std::optional<kube::Notice>& notice, std::int64_t now) {
  if (!notice) return said ? NoticeAction::kNotice : NoticeAction::kNothing;
  if (!said || said->since > notice->since + kSameSpell) return NoticeAction::kCallOff;
  if (said->evicts != (notice->deadline != 0)) return NoticeAction::kNotice;
  if (!notice->told) return NoticeAction::kTell;
  const bool due = said->evicts && now >= notice->deadline && said->confirmed == notice->deadline;
  return due ? NoticeAction::kDue : NoticeAction::kNothing;
}

kube::Notice noticedAt(const kube::EvictionRequest& said, std::int64_t now,
                       const NoticeOptions& options) {
  return {said.since, now, said.evicts ? now + options.notice : 0, false};
}

kube::Notice extendedBy(const kube::Notice& notice, std::int64_t seconds, std::int64_t now,
                        const NoticeOptions& options) {
  kube::Notice later = notice;
  if (notice.deadline == 0) return later;
  const std::int64_t last = notice.noticed + options.notice + options.extension;
  later.deadline =
      std::max(notice.deadline, std::min(now + std::max<std::int64_t>(seconds, 0), last));
  return later;
}

}  // namespace divvy::scheduler
