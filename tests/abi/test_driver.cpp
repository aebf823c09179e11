// Stands for the real driver in stubs_test: a plain library that exports a few names. Some carry
// another signature than the real ones, to see that a jump keeps every argument register.
#include "abi/cuda_types.h"

#define EXPORT extern "C" __attribute__((visibility("default")))

EXPORT int cuTexRefSetMipmapLevelBias(CUtexref, float bias) {
  return static_cast<int>(bias * 4);
}

EXPORT int cuEGLStreamProducerPresentFrame(CUeglStreamConnection*, CUeglFrame frame, CUstream*) {
  return static_cast<int>(frame.width + frame.height);
}

EXPORT int cuDriverGetVersion(int* version) {
  *version = 12040;
  return 0;
}

// Eight integers (two of them on the stack) and nine doubles (one there too), summed with weights
// so that two that changed places would show.
EXPORT double cuEGLInit(long a, long b, long c, long d, long e, long f, double p, double q,
                        double r, double s, double t, double u, double v, double w, long g, long h,
                        double x) {
  const double integers =
      static_cast<double>(a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h);
  return integers + 1000 * (p + 2 * q + 3 * r + 4 * s + 5 * t + 6 * u + 7 * v + 8 * w + 9 * x);
}

EXPORT int cuCtxSynchronize() {
  return CUDA_ERROR_NOT_READY;
}
EXPORT int cuMemAlloc_v2(CUdeviceptr*, std::size_t) {
  return CUDA_ERROR_OUT_OF_MEMORY;
}
EXPORT int cuMemAlloc(CUdeviceptr_v1*, unsigned) {
  return CUDA_ERROR_NOT_FOUND;
}
EXPORT int cuMemFreeHost(void*) {
  return CUDA_ERROR_MAP_FAILED;
}
EXPORT int cuMemAdvise(CUdeviceptr, std::size_t, CUmem_advise, CUdevice) {
  return 5;
}
EXPORT int cuStreamQuery(CUstream) {
  return 6;
}
EXPORT int cuStreamQuery_ptsz(CUstream) {
  return 7;
}
EXPORT int cuEventQuery(CUevent) {
  return 8;
}
EXPORT int cuCtxGetFlags(unsigned*) {
  return 9;
}
