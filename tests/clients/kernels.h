// The one kernel of the client programs, y[i] += a * x[i] in single precision, as PTX text that a
// real driver compiles, and as the simulated card's native built-in (`divvy sim`). All values are
// small whole numbers, which single precision holds exactly.
#pragma once

#include <string.h>

#include "cuda_app.h"

static const char kAxpyPtx[] =
    ".version 6.4\n"
    ".target sm_52\n"
    ".address_size 64\n"
    ".visible .entry axpy_f32(.param .u64 axpy_y, .param .u64 axpy_x,\n"
    "                         .param .u64 axpy_count, .param .f32 axpy_a)\n"
    "{\n"
    "  .reg .pred %p<2>;\n"
    "  .reg .f32 %f<5>;\n"
    "  .reg .b32 %r<4>;\n"
    "  .reg .b64 %rd<10>;\n"
    "  ld.param.u64 %rd1, [axpy_y];\n"
    "  ld.param.u64 %rd2, [axpy_x];\n"
    "  ld.param.u64 %rd3, [axpy_count];\n"
    "  ld.param.f32 %f1, [axpy_a];\n"
    "  mov.u32 %r1, %ctaid.x;\n"
    "  mov.u32 %r2, %ntid.x;\n"
    "  mov.u32 %r3, %tid.x;\n"
    "  cvt.u64.u32 %rd4, %r3;\n"
    "  mul.wide.u32 %rd5, %r1, %r2;\n"
    "  add.u64 %rd6, %rd5, %rd4;\n"
    "  setp.ge.u64 %p1, %rd6, %rd3;\n"
    "  @%p1 bra done;\n"
    "  cvta.to.global.u64 %rd1, %rd1;\n"
    "  cvta.to.global.u64 %rd2, %rd2;\n"
    "  shl.b64 %rd7, %rd6, 2;\n"
    "  add.u64 %rd8, %rd1, %rd7;\n"
    "  add.u64 %rd9, %rd2, %rd7;\n"
    "  ld.global.f32 %f2, [%rd9];\n"
    "  ld.global.f32 %f3, [%rd8];\n"
    "  fma.rn.f32 %f4, %f1, %f2, %f3;\n"
    "  st.global.f32 [%rd8], %f4;\n"
    "done:\n"
    "  ret;\n"
    "}\n";

static const char kAxpyBuiltin[] = "simgpu-builtin 1\nkernel axpy_f32 = axpy\n";

enum { kAxpyBlock = 256, kPtxFirst = 0, kBuiltinFirst = 1 };

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

// Loads whichever image the driver takes, trying `first` (kPtxFirst or kBuiltinFirst) first.
static inline CUresult loadAxpy(ModuleLoadData* load, ModuleGetFunction* get, int first,
                                CUmodule* module, CUfunction* function) {
  const char* images[2] = {kAxpyPtx, kAxpyBuiltin};
  if (load(module, images[first]) != CUDA_SUCCESS) {
    const CUresult result = load(module, images[1 - first]);
    if (result != CUDA_SUCCESS) return result;
  }
  return get(function, *module, "axpy_f32");
}
