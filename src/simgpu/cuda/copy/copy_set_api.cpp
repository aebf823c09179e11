// Entry points that fill device memory.
#include "cuda/copy/copy_call.h"

namespace divvy::simgpu {
namespace {

MemsetPlan run(CUdeviceptr address, unsigned value, unsigned element, std::size_t count) {
  return {.address = address,
          .pitch = 0,
          .value = value,
          .element = element,
          .width = count,
          .height = 1};
}

MemsetPlan rows(CUdeviceptr address, std::size_t pitch, unsigned value, unsigned element,
                std::size_t width, std::size_t height) {
  return {.address = address,
          .pitch = pitch,
          .value = value,
          .element = element,
          .width = width,
          .height = height};
}

}  // namespace

SIMGPU_IMPL(cuMemsetD8)(CUdeviceptr_v1 p, unsigned char v, unsigned n) {
  return setMemory(Cu::cuMemsetD8, {nullptr, false}, run(p, v, 1, n));
}
SIMGPU_IMPL(cuMemsetD8_v2)(CUdeviceptr p, unsigned char v, std::size_t n) {
  return setMemory(Cu::cuMemsetD8_v2, {nullptr, false}, run(p, v, 1, n));
}
SIMGPU_IMPL(cuMemsetD8_v2_ptds)(CUdeviceptr p, unsigned char v, std::size_t n) {
  return setMemory(Cu::cuMemsetD8_v2_ptds, {nullptr, true}, run(p, v, 1, n));
}
SIMGPU_IMPL(cuMemsetD8Async)(CUdeviceptr p, unsigned char v, std::size_t n, CUstream s) {
  return setMemory(Cu::cuMemsetD8Async, {s, false}, run(p, v, 1, n));
}
SIMGPU_IMPL(cuMemsetD8Async_ptsz)(CUdeviceptr p, unsigned char v, std::size_t n, CUstream s) {
  return setMemory(Cu::cuMemsetD8Async_ptsz, {s, true}, run(p, v, 1, n));
}
SIMGPU_IMPL(cuMemsetD16)(CUdeviceptr_v1 p, unsigned short v, unsigned n) {
  return setMemory(Cu::cuMemsetD16, {nullptr, false}, run(p, v, 2, n));
}
SIMGPU_IMPL(cuMemsetD16_v2)(CUdeviceptr p, unsigned short v, std::size_t n) {
  return setMemory(Cu::cuMemsetD16_v2, {nullptr, false}, run(p, v, 2, n));
}
SIMGPU_IMPL(cuMemsetD16_v2_ptds)(CUdeviceptr p, unsigned short v, std::size_t n) {
  return setMemory(Cu::cuMemsetD16_v2_ptds, {nullptr, true}, run(p, v, 2, n));
}
SIMGPU_IMPL(cuMemsetD16Async)(CUdeviceptr p, unsigned short v, std::size_t n, CUstream s) {
  return setMemory(Cu::cuMemsetD16Async, {s, false}, run(p, v, 2, n));
}
SIMGPU_IMPL(cuMemsetD16Async_ptsz)(CUdeviceptr p, unsigned short v, std::size_t n, CUstream s) {
  return setMemory(Cu::cuMemsetD16Async_ptsz, {s, true}, run(p, v, 2, n));
}
SIMGPU_IMPL(cuMemsetD32)(CUdeviceptr_v1 p, unsigned v, unsigned n) {
  return setMemory(Cu::cuMemsetD32, {nullptr, false}, run(p, v, 4, n));
}
SIMGPU_IMPL(cuMemsetD32_v2)(CUdeviceptr p, unsigned v, std::size_t n) {
  return setMemory(Cu::cuMemsetD32_v2, {nullptr, false}, run(p, v, 4, n));
}
SIMGPU_IMPL(cuMemsetD32_v2_ptds)(CUdeviceptr p, unsigned v, std::size_t n) {
  return setMemory(Cu::cuMemsetD32_v2_ptds, {nullptr, true}, run(p, v, 4, n));
}
SIMGPU_IMPL(cuMemsetD32Async)(CUdeviceptr p, unsigned v, std::size_t n, CUstream s) {
  return setMemory(Cu::cuMemsetD32Async, {s, false}, run(p, v, 4, n));
}
SIMGPU_IMPL(cuMemsetD32Async_ptsz)(CUdeviceptr p, unsigned v, std::size_t n, CUstream s) {
  return setMemory(Cu::cuMemsetD32Async_ptsz, {s, true}, run(p, v, 4, n));
}
SIMGPU_IMPL(cuMemsetD2D8)
(CUdeviceptr_v1 p, unsigned pitch, unsigned char v, unsigned width, unsigned height) {
  return setMemory(Cu::cuMemsetD2D8, {nullptr, false}, rows(p, pitch, v, 1, width, height));
}
SIMGPU_IMPL(cuMemsetD2D8_v2)
(CUdeviceptr p, std::size_t pitch, unsigned char v, std::size_t width, std::size_t height) {
  return setMemory(Cu::cuMemsetD2D8_v2, {nullptr, false}, rows(p, pitch, v, 1, width, height));
}
SIMGPU_IMPL(cuMemsetD2D8_v2_ptds)
(CUdeviceptr p, std::size_t pitch, unsigned char v, std::size_t width, std::size_t height) {
  return setMemory(Cu::cuMemsetD2D8_v2_ptds, {nullptr, true}, rows(p, pitch, v, 1, width, height));
}
SIMGPU_IMPL(cuMemsetD2D8Async)
(CUdeviceptr p, std::size_t pitch, unsigned char v, std::size_t width, std::size_t height,
 CUstream s) {
  return setMemory(Cu::cuMemsetD2D8Async, {s, false}, rows(p, pitch, v, 1, width, height));
}
SIMGPU_IMPL(cuMemsetD2D8Async_ptsz)
(CUdeviceptr p, std::size_t pitch, unsigned char v, std::size_t width, std::size_t height,
 CUstream s) {
  return setMemory(Cu::cuMemsetD2D8Async_ptsz, {s, true}, rows(p, pitch, v, 1, width, height));
}
SIMGPU_IMPL(cuMemsetD2D16)
(CUdeviceptr_v1 p, unsigned pitch, unsigned short v, unsigned width, unsigned height) {
  return setMemory(Cu::cuMemsetD2D16, {nullptr, false}, rows(p, pitch, v, 2, width, height));
}
SIMGPU_IMPL(cuMemsetD2D16_v2)
(CUdeviceptr p, std::size_t pitch, unsigned short v, std::size_t width, std::size_t height) {
  return setMemory(Cu::cuMemsetD2D16_v2, {nullptr, false}, rows(p, pitch, v, 2, width, height));
}
SIMGPU_IMPL(cuMemsetD2D16_v2_ptds)
(CUdeviceptr p, std::size_t pitch, unsigned short v, std::size_t width, std::size_t height) {
  return setMemory(Cu::cuMemsetD2D16_v2_ptds, {nullptr, true}, rows(p, pitch, v, 2, width, height));
}
SIMGPU_IMPL(cuMemsetD2D16Async)
(CUdeviceptr p, std::size_t pitch, unsigned short v, std::size_t width, std::size_t height,
 CUstream s) {
  return setMemory(Cu::cuMemsetD2D16Async, {s, false}, rows(p, pitch, v, 2, width, height));
}
SIMGPU_IMPL(cuMemsetD2D16Async_ptsz)
(CUdeviceptr p, std::size_t pitch, unsigned short v, std::size_t width, std::size_t height,
 CUstream s) {
  return setMemory(Cu::cuMemsetD2D16Async_ptsz, {s, true}, rows(p, pitch, v, 2, width, height));
}
SIMGPU_IMPL(cuMemsetD2D32)
(CUdeviceptr_v1 p, unsigned pitch, unsigned v, unsigned width, unsigned height) {
  return setMemory(Cu::cuMemsetD2D32, {nullptr, false}, rows(p, pitch, v, 4, width, height));
}
SIMGPU_IMPL(cuMemsetD2D32_v2)
(CUdeviceptr p, std::size_t pitch, unsigned v, std::size_t width, std::size_t height) {
  return setMemory(Cu::cuMemsetD2D32_v2, {nullptr, false}, rows(p, pitch, v, 4, width, height));
}
SIMGPU_IMPL(cuMemsetD2D32_v2_ptds)
(CUdeviceptr p, std::size_t pitch, unsigned v, std::size_t width, std::size_t height) {
  return setMemory(Cu::cuMemsetD2D32_v2_ptds, {nullptr, true}, rows(p, pitch, v, 4, width, height));
}
SIMGPU_IMPL(cuMemsetD2D32Async)
(CUdeviceptr p, std::size_t pitch, unsigned v, std::size_t width, std::size_t height, CUstream s) {
  return setMemory(Cu::cuMemsetD2D32Async, {s, false}, rows(p, pitch, v, 4, width, height));
}
SIMGPU_IMPL(cuMemsetD2D32Async_ptsz)
(CUdeviceptr p, std::size_t pitch, unsigned v, std::size_t width, std::size_t height, CUstream s) {
  return setMemory(Cu::cuMemsetD2D32Async_ptsz, {s, true}, rows(p, pitch, v, 4, width, height));
}

}  // namespace divvy::simgpu
