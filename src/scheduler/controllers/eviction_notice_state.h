// What follows for a pod that its node complains of: notice, eviction at a deadline, and that the
// complaint is taken back at any time before. Pure; seconds are since 1970. Private.
#pragma once

#include <cstdint>
#include <optional>

#include "kube/eviction_request.h"

namespace divvy::scheduler {

struct NoticeOptions {
  std::int64_t notice = 300;      // seconds from the notice to the deadline
  std::int64_t extension = 3600;  // that the platform may ask for beyond that, all together
};

enum class NoticeAction : std::uint8_t {
  kNothing,
  kNotice,   // write its notice, noticedAt(); also where it was to be evicted and is not, or now is
  kTell,     // it, and its platform; then that it is told
  kCallOff,  // its node does not complain any more, or of another time
  kDue,      // it is to be evicted
};

// `said`: of it by its node now; none: nothing. An agent that began anew may say another second of
// the same time; what is later by more than kSameSpell is another time. Nobody is due before its
// agent has said, after the deadline, that it is so still.
inline constexpr std::int64_t kSameSpell = 5;
NoticeAction noticeStep(const std::optional<kube::EvictionRequest>& said,
                        const std::optional<kube::Notice>& notice, std::int64_t now);

kube::Notice noticedAt(const kube::EvictionRequest& said, std::int64_t now,
                       const NoticeOptions& options);
// With so many seconds more from now on, if these are more than there are; the terms have an end.
// Never earlier than it was. Without a deadline: as it was.
kube::Notice extendedBy(const kube::Notice& notice, std::int64_t seconds, std::int64_t now,
                        const NoticeOptions& options);

}  // namespace divvy::scheduler
