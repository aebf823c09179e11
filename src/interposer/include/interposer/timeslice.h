// libdivvy-timeslice.so, to whoever runs in the same process (its self-test): the names that it
// exports beside ioctl. An experiment, preloaded only where it was asked for.
//
// The library watches how the driver makes its channel groups, and sets the time slice of each to
// DIVVY_TIMESLICE_US (1 to 1,000,000 microseconds; without it, none is set).
#pragma once

extern "C" {

// Channel groups of this process that the library knows now.
__attribute__((visibility("default"))) unsigned divvy_timeslice_groups() noexcept;

// Sets the slice of the groups numbered [first, end), in the order in which they were made. Returns
// how many took it.
__attribute__((visibility("default"))) unsigned divvy_timeslice_set(unsigned first, unsigned end,
                                                                    unsigned micros) noexcept;

// Why the last group that did not take a slice did not: the kernel module's status, or 0x10000 plus
// errno; 0: all did.
__attribute__((visibility("default"))) unsigned divvy_timeslice_fault() noexcept;
}
