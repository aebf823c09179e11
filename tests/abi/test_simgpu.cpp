// Two bodies and a window, linked with the generated exports of the simulated CUDA driver.
#include "simgpu/cuda_impls.h"

SIMGPU_IMPL(cuDriverGetVersion)(int* version) {
  *version = 11040;
  return CUDA_SUCCESS;
}

SIMGPU_IMPL(cuTexRefSetMipmapLevelBias)(CUtexref, float bias) {
  return static_cast<CUresult>(static_cast<int>(bias * 4));
}

// The version script lets out only the list, so the test looks inside through a body that exists
// for it: which table entry, which count.
SIMGPU_IMPL(cuGetExportTable)(const void** table, const CUuuid* what) {
  switch (what->bytes[0]) {
    case 0:
      *table = simgpu_cuda_table;
      break;
    case 1:
      *table = simgpu_cuda_missing_calls;
      break;
    case 2:
      *table = simgpu_cuda_exports;
      break;
    default:
      *table = reinterpret_cast<const void*>(&simgpu_cuda_implements);
      break;
  }
  return CUDA_SUCCESS;
}
