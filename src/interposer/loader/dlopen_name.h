// Which names of dlopen mean the driver.
#pragma once

namespace divvy::interposer {

// "libcuda.so.1" for libcuda.so and libcuda.so.1, "libnvidia-ml.so.1" for libnvidia-ml.so and
// libnvidia-ml.so.1, bare or with any directory before them; nullptr for every other name
// (null included).
const char* driverSoname(const char* name);

}  // namespace divvy::interposer
