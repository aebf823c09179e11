#include "runtime/leader_election.h"

#include <cstdio>
#include <utility>

namespace divvy::scheduler {
namespace {

// The usual proportion of a renew deadline to a lease's duration (10 s of 15 s): the rest is for
// clocks that do not run alike, and for calls on their way to the API server.
constexpr std::int64_t kActMsPerSecond = 667;

std::string seconds(std::int64_t ms) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f s", static_cast<double>(ms) / 1000);
  return text;
}

}  // namespace

Leadership::Leadership(std::string identity) : identity_(std::move(identity)) {}

std::string Leadership::fenceOf(const kube::Lease& lease) {
  return lease.meta.uid + '/' + std::to_string(lease.transitions);
}

bool Leadership::ours() const {
  return lease_ && lease_->holder.starts_with(identity_ + '_');
}

bool Leadership::saw(engine::Instant began, const std::optional<kube::Lease>& lease) {
  const std::string before = ours() ? fenceOf(*lease_) + lease_->holder : "";
  const bool same = read_ && lease.has_value() == lease_.has_value() &&
                    (!lease || (lease->meta.uid == lease_->meta.uid &&
                                lease->meta.version == lease_->meta.version));
  if (!same) not_before_ = read_at_;
  read_ = true;
  read_at_ = began;
  lease_ = lease;
  return ours() && fenceOf(*lease_) + lease_->holder != before;
}

LeaderStatus Leadership::verdict(engine::Instant now) const {
  LeaderStatus verdict;
  if (!read_) {
    verdict.why = "the lease was not read yet";
  } else if (!lease_ || lease_->holder.empty()) {
    verdict.why = lease_ ? "no replica holds the lease" : "no lease exists yet";
  } else if (!ours()) {
    verdict.why = lease_->holder + " leads";
  } else if (!not_before_) {
    verdict.why = "holds the lease; its age is unknown until it is renewed";
  } else {
    const std::int64_t age = now.ms - not_before_->ms;
    const std::int64_t most = lease_->seconds * kActMsPerSecond;
    verdict.leads = age < most;
    verdict.fence = fenceOf(*lease_);
    verdict.why = verdict.leads ? "leads, term " + verdict.fence
                                : "holds the lease, which may be " + seconds(age) +
                                      " old; it is valid for " + seconds(most) + " only";
  }
  return verdict;
}

}  // namespace divvy::scheduler
