// How long cuInit takes when processes start together.
#pragma once

namespace divvy::bench {

// `repeats` times: starts `processes` fresh programs (this one again, not forks that share its
// pages), lets them go at once, and prints for each "init MILLISECONDS" (wall time
// of cuInit), "cpu MILLISECONDS" (its processor time) and "exec MILLISECONDS" (wall time from
// before the program was started until cuInit was done, the wait for the others included). 0 when
// all ended well.
int runStartup(int processes, int repeats);

// The child's half: waits at the barrier in file descriptor `page`, calls cuInit, leaves its time.
int runStartupChild(int page, int index, int processes);

}  // namespace divvy::bench
