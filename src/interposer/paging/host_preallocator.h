// Prepares host memory before chunks are swapped out for the first time.
#pragma once

#include <atomic>
#include <cstdint>

#include "paging/pager.h"

namespace divvy::interposer {

// One per process, in static storage. To create and pin host memory can take longer than a copy
// into it. While other tenants lack memory that this process has on the devices, segments are
// created ahead, one at a time, beside the work. After a period without such contention, empty
// segments are given back. Any pager thread; while one pager is in step(), the others return at
// once.
class HostPreallocator {
 public:
  // Creates or gives back at most one segment. Returns the time of the next call, in nanoseconds of
  // sys::now().
  std::uint64_t step(Pager& pager, std::uint64_t now);
  void forgetAfterFork();

 private:
  bool makeOne(Pager& pager);
  bool giveOneBack(Pager& pager, std::uint64_t now);

  std::atomic<std::uint32_t> busy_{0};
  std::uint64_t contended_at_ = 0;  // last time that contention was observed
};

}  // namespace divvy::interposer
