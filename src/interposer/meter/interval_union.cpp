#include "meter/interval_union.h"

namespace divvy::interposer {

std::uint64_t IntervalUnion::add(std::uint64_t start, std::uint64_t end, std::uint64_t amount) {
  if (start < floor_) start = floor_;
  std::uint64_t left = amount;
  // From the end backwards: the free intervals between the counted ones.
  unsigned i = count_;
  while (left > 0 && end > start) {
    while (i > 0 && stretches_[i - 1].start >= end) --i;
    std::uint64_t from = start;
    if (i > 0 && stretches_[i - 1].end > from) from = stretches_[i - 1].end;
    if (from >= end) {  // counted up to `end` and further back
      end = stretches_[--i].start;
      continue;
    }
    if (end - from > left) from = end - left;
    left -= end - from;
    insert({from, end});
    end = from;
    i = count_;
  }
  return amount - left;
}

// Inserts an interval that overlaps no existing one.
void IntervalUnion::insert(Interval stretch) {
  unsigned at = count_;
  while (at > 0 && stretches_[at - 1].start > stretch.start) --at;
  const bool joins_before = at > 0 && stretches_[at - 1].end == stretch.start;
  const bool joins_after = at < count_ && stretches_[at].start == stretch.end;
  if (joins_before && joins_after) {
    stretches_[at - 1].end = stretches_[at].end;
    for (unsigned i = at + 1; i < count_; ++i) stretches_[i - 1] = stretches_[i];
    --count_;
    return;
  }
  if (joins_before) {
    stretches_[at - 1].end = stretch.end;
    return;
  }
  if (joins_after) {
    stretches_[at].start = stretch.start;
    return;
  }
  if (count_ == kMax) {
    if (at == 0) {  // the new interval is the oldest, so it is dropped
      if (stretch.end > floor_) floor_ = stretch.end;
      return;
    }
    floor_ = stretches_[0].end;
    for (unsigned i = 1; i < count_; ++i) stretches_[i - 1] = stretches_[i];
    --count_;
    --at;
  }
  for (unsigned i = count_; i > at; --i) stretches_[i] = stretches_[i - 1];
  stretches_[at] = stretch;
  ++count_;
}

}  // namespace divvy::interposer
