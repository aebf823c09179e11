// The clocks of a test's process, which the test moves: a pause of a minute takes milliseconds.
#pragma once

#include <chrono>

namespace divvy::scheduler {

// Moves CLOCK_MONOTONIC, CLOCK_BOOTTIME and CLOCK_REALTIME of this process forward. Between two
// calls they stand still, so that no test depends on how busy the machine is. Linking this file
// replaces clock_gettime(), which the C++ library's clocks read; GoogleTest prints these times,
// too. Any thread. Waits of the kernel that have begun do not notice: run the event loop once more
// (ControllerTest does).
void moveClocks(std::chrono::milliseconds by);

}  // namespace divvy::scheduler
