// One body, linked with the generated exports of the simulated NVML.
#include "simgpu/nvml_impls.h"

SIMGPU_IMPL(nvmlDeviceGetCount_v2)(unsigned int* count) {
  *count = 3;
  return NVML_SUCCESS;
}
