#include "base/rate_limit.h"

namespace divvy {

bool RateLimit::take(const std::string& sender, std::chrono::steady_clock::time_point now) {
  auto found = senders_.find(sender);
  if (found == senders_.end()) {
    if (senders_.size() >= kMax) {
      senders_.erase(by_age_.begin()->second);
      by_age_.erase(by_age_.begin());
    }
    found =
        senders_.emplace(sender, Sender{TokenBucket(rate_), by_age_.emplace(now, sender)}).first;
  } else {
    by_age_.erase(found->second.age);
    found->second.age = by_age_.emplace(now, sender);
  }
  return found->second.bucket.take(now);
}

}  // namespace divvy
