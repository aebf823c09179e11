// What follows for a pod whose devices nobody uses: notice, eviction at a deadline, and that it
// works again at any time before. Pure; seconds are since 1970. Private.
#pragma once

#include <cstdint>
#include <optional>

#include "kube/idle.h"

namespace divvy::scheduler {

struct IdleTerms {
  std::int64_t notice = 300;      // seconds from the notice to the deadline
  std::int64_t extension = 3600;  // that the platform may ask for beyond that, all together
};

enum class IdleStep : std::uint8_t {
  kNothing,
  kNotice,   // write its state, noticedAt()
  kTell,     // it, and its platform; then that it is told
  kCallOff,  // it works, or has worked, or need not go any more
  kDue,      // it is to be evicted
};

// `said`: of it by its node now; none: not idle. An agent that began anew may say another second of
// the same time; what is later by more than kSameIdle is another time. Nobody is due before its
// agent has said, after the deadline, that it is idle still.
inline constexpr std::int64_t kSameIdle = 5;
IdleStep idleStep(const std::optional<kube::IdlePod>& said,
                  const std::optional<kube::IdleState>& state, std::int64_t now);

kube::IdleState noticedAt(std::int64_t since, std::int64_t now, const IdleTerms& terms);
// With so many seconds more from now on, if these are more than there are; the terms have an end.
// Never earlier than it was.
kube::IdleState extendedBy(const kube::IdleState& state, std::int64_t seconds, std::int64_t now,
                           const IdleTerms& terms);

}  // namespace divvy::scheduler
