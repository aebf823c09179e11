// Execution times of a simulated card, read from its shared log: the figures that tests and benches
// judge by. Nothing here changes the card or waits.
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

// nullopt: no program has run on such a card yet, or the file is of another version. Also if the
// file changed so fast that no consistent copy was possible.
std::optional<IntervalView> readIntervals(const std::string& dir, int index);

// Follows a card's log for longer than its ring holds: records stay once they are read. Call
// update() before 65,000 new intervals have come together. One thread at a time.
class IntervalFollower {
 public:
  IntervalFollower(std::string dir, int index);
  ~IntervalFollower();
  IntervalFollower(const IntervalFollower&) = delete;
  IntervalFollower& operator=(const IntervalFollower&) = delete;

  // Adds the new intervals. False: there is no log yet, or no quiet moment was found; call again.
  bool update();
  // `dropped` also counts intervals that came and went between two updates.
  const IntervalView& view() const { return view_; }

 private:
  std::string dir_;
  int index_;
  const void* file_ = nullptr;
  std::uint64_t next_ = 0;      // records read
  std::size_t unfinished_ = 0;  // the first of view_ that may have grown since
  IntervalView view_{};
};

// Time that `pid` (0: any process) had `engine` within [from_ns, to_ns).
std::uint64_t busyWithin(const IntervalView& view, int pid, CardEngine engine,
                         std::uint64_t from_ns, std::uint64_t to_ns);

}  // namespace divvy::simgpu
