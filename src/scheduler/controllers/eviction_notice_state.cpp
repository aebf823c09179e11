#include "controllers/eviction_notice_state.h"

#include <algorithm>

namespace divvy::scheduler {

NoticeStep noticeStep(const std::optional<kube::Complaint>& said,
                      const std::optional<kube::Notice>& notice, std::int64_t now) {
  if (!notice) return said ? NoticeStep::kNotice : NoticeStep::kNothing;
  if (!said || said->since > notice->since + kSameSpell) return NoticeStep::kCallOff;
  if (said->evicts != (notice->deadline != 0)) return NoticeStep::kNotice;
  if (!notice->told) return NoticeStep::kTell;
  const bool due = said->evicts && now >= notice->deadline && said->confirmed == notice->deadline;
  return due ? NoticeStep::kDue : NoticeStep::kNothing;
}

kube::Notice noticedAt(const kube::Complaint& said, std::int64_t now, const NoticeTerms& terms) {
  return {said.since, now, said.evicts ? now + terms.notice : 0, false};
}

kube::Notice extendedBy(const kube::Notice& notice, std::int64_t seconds, std::int64_t now,
                        const NoticeTerms& terms) {
  kube::Notice later = notice;
  if (notice.deadline == 0) return later;
  const std::int64_t last = notice.noticed + terms.notice + terms.extension;
  later.deadline =
      std::max(notice.deadline, std::min(now + std::max<std::int64_t>(seconds, 0), last));
  return later;
}

}  // namespace divvy::scheduler
