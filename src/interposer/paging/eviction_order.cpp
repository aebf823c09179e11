#include "paging/eviction_order.h"

#include "runtime.h"

namespace divvy::interposer {

std::uint32_t EvictionOrder::next() {
  // A list that was not full had all chunks.
  if (!begun_ || (at_ == count_ && count_ == kMax)) look();
  if (at_ == count_) return ChunkTable::kNone;
  last_ = of_[at_++];
  return last_.number;
}

void EvictionOrder::insert(Candidate candidate) {
  if (count_ == kMax && !(candidate < of_[kMax - 1])) return;
  unsigned at = count_ < kMax ? count_++ : kMax - 1;
  for (; at > 0 && candidate < of_[at - 1]; --at) of_[at] = of_[at - 1];
  of_[at] = candidate;
}

void EvictionOrder::look() {
  const bool first = !begun_;
  begun_ = true;
  at_ = count_ = 0;
  runtime().chunks.forEachOn(device_, [&](std::uint32_t number, Chunk& chunk) {
    if ((states_ & bitOf(chunk.now())) == 0) return true;
    const std::uint64_t heat = chunk.has(kHome) ? UINT64_MAX : runtime().last_use.rank(chunk);
    const Candidate candidate{number, order_ == kColdest ? heat : UINT64_MAX - heat};
    if (first || last_ < candidate) insert(candidate);
    return true;
  });
}

}  // namespace divvy::interposer
