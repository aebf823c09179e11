// How often each of many senders may do something: a bucket of tokens for each. Pure: the clock is
// an argument.
#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <string>

#include "base/token_bucket.h"

namespace divvy {

// Not thread-safe. Holds kMax senders; the one that was seen least lately is forgotten first, and
// begins with a full bucket.
class RateLimit {
 public:
  static constexpr std::size_t kMax = 4096;

  explicit RateLimit(Rate rate) : rate_(rate) {}

  // Takes one token of that sender. False: it has none now.
  bool take(const std::string& sender, std::chrono::steady_clock::time_point now);
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
