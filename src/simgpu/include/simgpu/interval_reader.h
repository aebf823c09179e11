// What a simulated card executed and when, read from its shared log: the figures that tests and
// benches judge by. Nothing here changes the card or waits for anybody.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace divvy::simgpu {

enum class CardEngine : int { kCompute, kCopyIn, kCopyOut };
enum class CardWork : int { kKernel, kCopyIn, kCopyOut, kCopyDevice, kMemset, kOther };

// One context had one engine from start to end without a gap. CLOCK_MONOTONIC nanoseconds.
struct Interval {
  int pid;
  std::uint32_t context;  // number of the context on this card, never used twice
  CardEngine engine;
  CardWork work;
  std::uint64_t start_ns;
  std::uint64_t end_ns;
  std::uint64_t bytes;  // moved by the operations that ended within
  std::uint32_t ops;    // operations that ended within
};

struct IntervalView {
  std::uint64_t horizon_ns;         // everything before this is in the log; processes with work
                                    // on the card move it at least every 100 ms
  std::uint64_t dropped;            // older records that the ring no longer holds
  std::vector<Interval> intervals;  // in the order in which they began to be written
};

// nullopt: no program has run on such a card yet, the file is of another version, or it changed so
// fast that no quiet moment was found.
std::optional<IntervalView> readIntervals(const std::string& dir, int index);

// Time that `pid` (0: everybody) had `engine` within [from_ns, to_ns).
std::uint64_t busyWithin(const IntervalView& view, int pid, CardEngine engine,
                         std::uint64_t from_ns, std::uint64_t to_ns);

}  // namespace divvy::simgpu
