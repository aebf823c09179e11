#include "stalls.h"

#include <algorithm>

namespace divvy::bench {

Span commonOf(const std::vector<Span>& spans) {
  Span common{0, UINT64_MAX};
  for (const Span& span : spans) {
    common.start = std::max(common.start, span.start);
    common.end = std::min(common.end, span.end);
  }
  return common;
}

namespace {

// For instants that ascend.
class StoppedClock {
 public:
  explicit StoppedClock(const Spans& stalls) : next_(stalls.begin()), end_(stalls.end()) {}
  CardTime at(CardTime time) {
    for (; next_ != end_ && next_->end <= time; ++next_) lost_ += next_->end - next_->start;
    const CardTime within = next_ != end_ && next_->start < time ? time - next_->start : 0;
    return time - lost_ - within;
  }

 private:
  Spans::const_iterator next_;
  Spans::const_iterator end_;
  CardTime lost_ = 0;
};

}  // namespace

CardTime withoutStalls(CardTime at, const Spans& stalls) {
  return StoppedClock(stalls).at(at);
}

Spans withoutStalls(const Spans& spans, const Spans& stalls) {
  StoppedClock clock(stalls);
  Spans result;
  for (const Span& span : spans) {
    const CardTime start = clock.at(span.start);
    const CardTime end = clock.at(span.end);
    if (end > start) result.push_back({start, end});
  }
  return result;
}

}  // namespace divvy::bench
