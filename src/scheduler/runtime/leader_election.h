// Whether we lead: one Lease says who, and when it was written last bounds for how long that can be
// relied on. Pure. Private.
//
// No clock of another machine is believed, and neither is the instant at which something was heard:
// what was read may have lain in a socket while we were paused. When the Lease was written is
// bounded from below instead: after the beginning of the last read that showed an older one. Who
// wants the Lease waits for its full duration after that; we act for two thirds of it.
#pragma once

#include <optional>
#include <string>

#include "engine/units.h"
#include "kube/lease.h"

namespace divvy::scheduler {

struct LeaderStatus {
  bool leads = false;
  std::string fence;  // of the term in which it leads
  std::string why;    // one line; in either case
};

class Leadership {
 public:
  // `identity`: ours is what is held by IDENTITY_anything, as kube-scheduler calls itself.
  explicit Leadership(std::string identity);

  // What a consistent read showed that began then; none: there is no such Lease. Reads are told of
  // in the order in which they were made, and none begins before the last one has ended. True: a
  // term of ours has begun: what was known and promised before it may be another's now.
  bool saw(engine::Instant began, const std::optional<kube::Lease>& lease);

  LeaderStatus verdict(engine::Instant now) const;

  // Differs for any two terms: the Lease's UID and how often it changed hands.
  static std::string fenceOf(const kube::Lease& lease);

 private:
  bool ours() const;

  std::string identity_;
  bool read_ = false;  // at least once
  std::optional<kube::Lease> lease_;
  std::optional<engine::Instant> read_at_;     // when the last read began
  std::optional<engine::Instant> not_before_;  // `lease_` was written after this
};

}  // namespace divvy::scheduler
