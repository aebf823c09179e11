// State machine of an eviction notice. A request of the node leads to a notice, and to an eviction
// at a deadline, unless the request is withdrawn before. Pure; instants are seconds since 1970.
// Private.
#pragma once

#include <cstdint>
#include <optional>

#include "kube/eviction_request.h"

namespace divvy::scheduler {

struct NoticeOptions {
  std::int64_t notice = 300;      // seconds from the notice to the deadline
  std::int64_t extension = 3600;  // seconds that the platform may add to that, in total
};

enum class NoticeAction : std::uint8_t {
  kNothing,
  kNotice,   // write noticedAt(); also if the request now asks for an eviction, or no longer does
  kTell,     // notify the pod and its platform, then record that in the notice
  kCallOff,  // the request is withdrawn, or is about another period
  kDue,      // evict the pod
};

// Seconds by which the start of one period may differ after a restart of the agent. A later start
// is another period.
inline constexpr std::int64_t kSameSpell = 5;
// Returns the next step. `said`: current request of the node; none: no request. `notice`: in the
// pod; none: no notice. A pod is due only once the agent has repeated its request after the
// deadline.
NoticeAction noticeStep(const std::optional<kube::EvictionRequest>& said,
                        const std::optional<kube::Notice>& notice, std::int64_t now);

// Returns the notice for a request, with the deadline counted from `now` and `told` false.
kube::Notice noticedAt(const kube::EvictionRequest& said, std::int64_t now,
                       const NoticeOptions& options);
// Returns the notice with its deadline moved to `seconds` after `now`, but no later than the
// maximum extension and no earlier than it was. A notice without a deadline stays as it is.
kube::Notice extendedBy(const kube::Notice& notice, std::int64_t seconds, std::int64_t now,
                        const NoticeOptions& options);

}  // namespace divvy::scheduler
