// Interface between the simulated driver and the library that simulates its kernel module.
#pragma once

#include <cstdint>

extern "C" {

// Sets the slice of a channel group of this process, microseconds; not 0: there is no such group.
typedef int SimgpuSetSlice(std::uint32_t object, std::uint32_t micros);

// The descriptor that simulates the module's device file; -1: none could be made.
__attribute__((visibility("default"))) int simgpu_rm_open(SimgpuSetSlice* set) noexcept;
}
