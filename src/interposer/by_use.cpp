#include "by_use.h"

#include "runtime.h"

namespace divvy::interposer {

std::uint32_t ByUse::next() {
  // Fewer than there is place for were all that there are.
  if (!begun_ || (at_ == count_ && count_ == kMost)) look();
  return at_ == count_ ? ChunkTable::kNone : of_[at_++].number;
}

void ByUse::insert(Candidate candidate) {
  if (count_ == kMost && of_[kMost - 1].rank <= candidate.rank) return;
  unsigned at = count_ < kMost ? count_++ : kMost - 1;
  for (; at > 0 && of_[at - 1].rank > candidate.rank; --at) of_[at] = of_[at - 1];
  of_[at] = candidate;
}

void ByUse::look() {
  begun_ = true;
  at_ = count_ = 0;
  runtime().chunks.forEachOn(device_, [&](std::uint32_t number, Chunk& chunk) {
    if ((states_ & bitOf(chunk.now())) == 0) return true;
    const std::uint64_t heat = chunk.has(kHome) ? UINT64_MAX : runtime().last_use.rank(chunk);
    insert({number, order_ == kColdest ? heat : UINT64_MAX - heat});
    return true;
  });
}

}  // namespace divvy::interposer
