// Host memory that is there before the first time that its chunks have to leave.
#pragma once

#include <atomic>
#include <cstdint>

#include "paging/pager.h"

namespace divvy::interposer {

// One per process, in static storage. To make host memory and have it pinned can take longer than
// to copy into it. While others lack what this process has on the devices, it is made ahead, one
// segment at a time beside the work; when nobody has lacked any for a while, what holds nothing is
// given back. Any mover; while one is at it, others have nothing to do.
class HostPreallocator {
 public:
  // At most one segment more or less. The time to come again.
  std::uint64_t step(Pager& pager, std::uint64_t now);
  void forgetAfterFork();

 private:
  bool makeOne(Pager& pager);
  bool giveOneBack(Pager& pager, std::uint64_t now);

  std::atomic<std::uint32_t> busy_{0};
  std::uint64_t contended_at_ = 0;  // the last time that it was seen
};

}  // namespace divvy::interposer
