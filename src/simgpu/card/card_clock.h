// The clock of a simulated card: CLOCK_MONOTONIC times a factor, which SIMGPU_TIME_SCALE set when
// the card's file was created. With 10 its time runs ten times as fast. The processor is no faster,
// so the programs' own work between two calls takes that much longer in card time.
#pragma once

#include <cstdint>

#include <ctime>

#include "timeline/timeline_state.h"

namespace divvy::simgpu {

// In thousandths. Anything else than 0.001 to 1000 is refused.
inline constexpr std::uint32_t kRealTime = 1000;
inline constexpr std::uint32_t kFastestTime = 1'000'000;

// The value of SIMGPU_TIME_SCALE. If it is not valid: kRealTime, and a line on stderr.
std::uint32_t configuredTimeScale();
// One scale for all cards of a process: that of the file which it opened last. Any thread.
void setTimeScale(std::uint32_t thousandths);

// The card's time; all times in its files are of this clock.
Nanos clockNow();
// When CLOCK_MONOTONIC will show at least the card's time `at`, which is not kNever.
timespec realTimeOf(Nanos at);
// Durations, from one clock to the other.
Nanos realDuration(Nanos card);
Nanos cardDuration(Nanos real);

}  // namespace divvy::simgpu
