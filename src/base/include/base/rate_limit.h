// A rate limit for each of many senders, with a token bucket each. Pure: the clock is an argument.
#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <string>

#include "base/token_bucket.h"

namespace divvy {

// Remembers kMax senders. Beyond that it forgets the sender with the oldest last call; a forgotten
// sender starts with a full bucket. The instants of successive calls must not decrease. Not
// thread-safe.
class RateLimit {
 public:
  static constexpr std::size_t kMax = 4096;

  explicit RateLimit(Rate rate) : rate_(rate) {}

  // Takes a token of that sender. Returns false if it has none now.
  bool take(const std::string& sender, std::chrono::steady_clock::time_point now);
  // Returns the number of remembered senders.
  std::size_t size() const { return senders_.size(); }

 private:
  using Instant = std::chrono::steady_clock::time_point;
  struct Sender {
    TokenBucket bucket;
    std::multimap<Instant, std::string>::iterator age;
  };

  const Rate rate_;
  std::map<std::string, Sender> senders_;
  std::multimap<Instant, std::string> by_age_;
};

}  // namespace divvy
