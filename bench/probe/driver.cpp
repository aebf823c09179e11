#include "driver.h"

#include <cstdio>
#include <cstdlib>

namespace divvy::bench {

void must(CUresult result, const char* what) {
  if (result == 0) return;
  std::fprintf(stderr, "probe: %s: driver error %d\n", what, result);
  std::_Exit(1);
}

void openDevice() {
  CUdevice device = 0;
  CUcontext context = nullptr;
  must(cuInit(0), "cuInit");
  must(cuDeviceGet(&device, 0), "cuDeviceGet");
  must(cuCtxCreate_v2(&context, 0, device), "cuCtxCreate");
}

}  // namespace divvy::bench
