// The names that libdivvy-timeslice.so exports beside ioctl, for its self-test in the same process.
// The library is an experiment and is preloaded only on request.
//
// It observes how the driver creates channel groups, and sets the time slice of each group to
// DIVVY_TIMESLICE_US (1 to 1,000,000 microseconds). Without that variable it sets none.
#pragma once

extern "C" {

// Returns the number of channel groups of this process that the library knows now.
__attribute__((visibility("default"))) unsigned divvy_timeslice_groups() noexcept;

// Sets the time slice, in microseconds, of the groups numbered [first, end) in the order of their
// creation. Returns how many groups accepted it.
__attribute__((visibility("default"))) unsigned divvy_timeslice_set(unsigned first, unsigned end,
                                                                    unsigned micros) noexcept;

// Returns why the last group refused a time slice: the kernel module's status, or 0x10000 plus
// errno; 0 if none refused.
__attribute__((visibility("default"))) unsigned divvy_timeslice_fault() noexcept;
}
