// The clock that a simulated card lives by: CLOCK_MONOTONIC, times a factor that whoever made the
// card's file chose with SIMGPU_TIME_SCALE (10: its time runs ten times as fast). No faster
// processor comes with it: what programs do themselves between two calls looks that much longer to
// the card.
#pragma once

#include <cstdint>

#include <ctime>

#include "timeline/timeline_state.h"

namespace divvy::simgpu {

// In thousandths. Anything else than 0.001 to 1000 is refused.
inline constexpr std::uint32_t kRealTime = 1000;
inline constexpr std::uint32_t kFastestTime = 1'000'000;

// What SIMGPU_TIME_SCALE says; kRealTime, and a line on stderr, where it says nothing sensible.
std::uint32_t configuredTimeScale();
// One scale for all cards of a process: that of the file which it opened last. Any thread.
void setTimeScale(std::uint32_t thousandths);

// Of the card; so are all times in its files.
Nanos clockNow();
// When CLOCK_MONOTONIC will show at least the card's time `at`, which is not kNever.
timespec realTimeOf(Nanos at);
// Durations, from one clock to the other.
Nanos realDuration(Nanos card);
Nanos cardDuration(Nanos real);

}  // namespace divvy::simgpu
