#include "nvml/busy.h"

#include <time.h>

#include <algorithm>

#include "card/card_clock.h"

namespace divvy::simgpu {
namespace {

constexpr std::uint64_t kWindows = 6;  // of 1/6 s: one second

std::uint64_t realtimeNow() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(now.tv_nsec);
}

unsigned percentOf(std::uint64_t busy_ns) {
  const std::uint64_t whole = kWindows * kBusyBucketNs;
  return static_cast<unsigned>(std::min<std::uint64_t>(100, (busy_ns * 100 + whole / 2) / whole));
}

}  // namespace

BusySample sampleBusy(NvmlCard& card) {
  BusySample sample;
  const Nanos now = clockNow();
  const std::uint64_t current = now / kBusyBucketNs;
  sample.time_us = (realtimeNow() - realDuration(now % kBusyBucketNs)) / 1000;
  Card* shared = card.sharedCard();
  if (shared == nullptr) return sample;

  std::uint64_t compute = 0;
  std::uint64_t copy = 0;
  const CardLock lock(*shared);
  // Pages of unused records are not mapped into this process.
  for (int i = 0; i < shared->file().records; ++i) {
    const ProcessRecord& record = shared->file().processes[i];
    if (record.claimed == 0) continue;
    std::uint64_t own_compute = 0;
    std::uint64_t own_copy = 0;
    for (const BusyBucket& bucket : record.busy) {
      if (bucket.window >= current || bucket.window + kWindows < current) continue;
      own_compute += bucket.compute_ns;
      own_copy += bucket.copy_ns;
    }
    compute += own_compute;
    copy += own_copy;
    const int pid = own_compute + own_copy == 0 ? 0 : shared->pidOf(i);
    if (pid != 0) sample.processes.push_back({pid, percentOf(own_compute), percentOf(own_copy)});
  }
  sample.compute_percent = percentOf(compute);
  sample.copy_percent = percentOf(copy);
  return sample;
}

}  // namespace divvy::simgpu
