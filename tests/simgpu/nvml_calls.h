// Calls of the built management library, for processes of DriverTest's.
#pragma once

#include "abi/nvml_entries.h"
#include "abi/nvml_protos.h"
#include "abi/nvml_types.h"
#include "driver_process.h"

namespace divvy::simgpu {

using abi::Nv;

// Calls an entry point by its exported name: nv<Nv::nvmlInit_v2>().
template <Nv id, typename... Arguments>
nvmlReturn_t nv(Arguments... arguments) {
  static void* const library = dlopen(driverPath("simgpu", "libnvidia-ml.so.1").c_str(), RTLD_NOW);
  static auto* const function = reinterpret_cast<typename abi::NvFn<id>::type*>(
      dlsym(library, abi::kNvEntries[static_cast<unsigned>(id)].symbol));
  if (function == nullptr) return NVML_ERROR_FUNCTION_NOT_FOUND;
  return function(arguments...);
}

}  // namespace divvy::simgpu
