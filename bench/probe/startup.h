// How long cuInit takes when processes start together.
#pragma once

namespace divvy::bench {

// `repeats` times: starts `processes` fresh programs (this one again, not forks that share its
// pages), lets them go at once, and prints "init MILLISECONDS" of wall time and
// "cpu MILLISECONDS" of processor time for each cuInit. 0 when all ended well.
int runStartup(int processes, int repeats);

// The child's half: waits at the barrier in file descriptor `page`, calls cuInit, leaves its time.
int runStartupChild(int page, int index, int processes);

}  // namespace divvy::bench
