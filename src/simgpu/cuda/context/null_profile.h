// The `null` profile: calls answer at once, so that an interposer's own cost can be measured.
#pragma once

namespace divvy::simgpu {

// Replaces the bodies of allocation, free, query, copy and launch entry points by bodies of a few
// nanoseconds, without locks, accounts, contents or time. Called once by cuInit.
void installNullProfile();

}  // namespace divvy::simgpu
