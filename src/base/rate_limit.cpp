#include "base/rate_limit.h"

#include <algorithm>

namespace divvy {

bool RateLimit::take(const std::string& sender, std::chrono::steady_clock::time_point now) {
  auto found = buckets_.find(sender);
  if (found == buckets_.end()) {
    if (buckets_.size() >= kMax) {
      buckets_.erase(by_age_.begin()->second);
      by_age_.erase(by_age_.begin());
    }
    found = buckets_.emplace(sender, Bucket{rate_.burst, now, by_age_.emplace(now, sender)}).first;
  }
  Bucket& bucket = found->second;
  const std::chrono::duration<double> passed = now - bucket.at;
  bucket.tokens = std::min(rate_.burst, bucket.tokens + passed.count() * rate_.a_second);
  by_age_.erase(bucket.age);
  bucket.at = now;
  bucket.age = by_age_.emplace(now, sender);
  if (bucket.tokens < 1) return false;
  bucket.tokens -= 1;
  return true;
}

}  // namespace divvy
