// The one kernel of the client programs, y[i] += a * x[i] in single precision, as PTX text. All
// values are small whole numbers, which single precision holds exactly.
#pragma once

#include <string.h>

#include "axpy_ptx.h"
#include "cuda_app.h"

enum { kAxpyBlock = 256 };

struct AxpyArguments {
  CUdeviceptr y, x;
  uint64_t count;
  float a;
};

static inline unsigned axpyGrid(uint32_t n) {
  return (n + kAxpyBlock - 1) / kAxpyBlock;
}

// The bits of a number, for 32-bit memsets.
static inline uint32_t bitsOf(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

// The array of pointers that a launch takes; `arguments` must live until the launch returns.
static inline void** axpyParams(struct AxpyArguments* arguments, void** params) {
  params[0] = &arguments->y;
  params[1] = &arguments->x;
  params[2] = &arguments->count;
  params[3] = &arguments->a;
  return params;
}

typedef CUresult ModuleLoadData(CUmodule* module, const void* image);
typedef CUresult ModuleGetFunction(CUfunction* function, CUmodule module, const char* name);

static inline CUresult loadAxpy(ModuleLoadData* load, ModuleGetFunction* get, CUmodule* module,
                                CUfunction* function) {
  const CUresult result = load(module, kAxpyPtx);
  return result == CUDA_SUCCESS ? get(function, *module, "axpy_f32") : result;
}
