// Decides from one Lease whether this replica leads. The time of the Lease's last write limits how
// long the decision is valid. Pure. Private.
//
// It relies neither on clocks of other machines nor on the time at which an answer arrives: an
// answer may have waited in a socket while this process was paused. Instead, the time of the write
// has a lower bound: the start of the last read that showed an older version. Another candidate
// waits for the Lease's full duration after the write; this replica acts for two thirds of that
// duration.
#pragma once

#include <optional>
#include <string>

#include "engine/units.h"
#include "kube/lease.h"

namespace divvy::scheduler {

struct LeaderStatus {
  bool leads = false;
  std::string fence;  // of the term, as of Leadership::fenceOf
  std::string why;    // one line, whether it leads or not
};

class Leadership {
 public:
  // `identity`: this replica leads while IDENTITY_anything, as kube-scheduler names itself, holds
  // the Lease.
  explicit Leadership(std::string identity);

  // Records the result of a consistent read that started at `began`; none: there is no Lease. Reads
  // do not overlap, and are recorded in their order. Returns true if a term of this replica has
  // started: another replica may have changed all earlier state.
  bool saw(engine::Instant began, const std::optional<kube::Lease>& lease);

  LeaderStatus verdict(engine::Instant now) const;

  // Returns a text that is unique for each term: the Lease's UID and number of transitions.
  static std::string fenceOf(const kube::Lease& lease);

 private:
  bool ours() const;

  std::string identity_;
  bool read_ = false;  // a read is recorded
  std::optional<kube::Lease> lease_;
  std::optional<engine::Instant> read_at_;     // start of the last read
  std::optional<engine::Instant> not_before_;  // lower bound of the time of its last write
};

}  // namespace divvy::scheduler
