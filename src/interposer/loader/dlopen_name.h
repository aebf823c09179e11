// The names for dlopen that mean the driver.
#pragma once

namespace divvy::interposer {

// Returns "libcuda.so.1" for libcuda.so and libcuda.so.1, and "libnvidia-ml.so.1" for
// libnvidia-ml.so and libnvidia-ml.so.1, bare or behind any directory. Returns nullptr for every
// other name, including null.
const char* driverSoname(const char* name);

}  // namespace divvy::interposer
