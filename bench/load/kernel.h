// The kernel of the loads: it keeps the card busy for a time that is asked for.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "card_time.h"
#include "probe/driver.h"

namespace divvy::bench {

// On a simulated card its built-in kernel, whose duration is exact and which the card itself logs.
// On a real one a loop of as many steps as take that long alone (time in which the card runs
// somebody else is not work), which stamps the card's %globaltimer where it begins, ends, or
// finds that it did not run for a while.
class WorkKernel {
 public:
  // In the current context. `spans`: stamps are kept for writeSpans(), on a simulated card too.
  explicit WorkKernel(bool spans);

  // One block of one thread.
  void launch(CUstream stream, double micros);
  // The stamped intervals as lines "START END" of CLOCK_MONOTONIC nanoseconds. Nothing on a
  // simulated card. False: the file cannot be written, or there were more than there is room for.
  bool writeSpans(const std::string& path) const;

 private:
  void calibrate();
  // When a kernel of `steps` steps began and ended by the card's own clock.
  Spans stamped(std::uint64_t steps);

  CUfunction function_ = nullptr;
  CUdeviceptr stamps_ = 0;  // 0: simulated
  double steps_per_us_ = 0;
  std::int64_t to_monotonic_ = 0;  // added to the card's stamps
};

}  // namespace divvy::bench
