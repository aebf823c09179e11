#include "cuda/context/null_profile.h"

#include <atomic>

#include "abi/cuda_entries.h"
#include "cuda/context/api_prologue.h"

namespace divvy::simgpu {
namespace {

// Addresses that are never dereferenced; enough for any measurement.
std::atomic<CUdeviceptr> next_address{0x7f00'0000'0000};

std::size_t total_bytes = 0;  // of device 0, set before the first call

CUresult answer() {
  return CUDA_SUCCESS;
}

CUresult allocate(CUdeviceptr* out, std::size_t bytes) {
  if (out == nullptr || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  *out = next_address.fetch_add((bytes + 511) & ~std::size_t{511}, std::memory_order_relaxed);
  return CUDA_SUCCESS;
}

CUresult allocateAsync(CUdeviceptr* out, std::size_t bytes, CUstream) {
  return allocate(out, bytes);
}

CUresult allocateFromPool(CUdeviceptr* out, std::size_t bytes, CUmemoryPool, CUstream) {
  return allocate(out, bytes);
}

CUresult allocatePitch(CUdeviceptr* out, std::size_t* pitch, std::size_t width, std::size_t height,
                       unsigned) {
  *pitch = (width + 511) & ~std::size_t{511};
  return allocate(out, *pitch * height);
}

CUresult memoryInfo(std::size_t* free_bytes, std::size_t* total) {
  if (free_bytes != nullptr) *free_bytes = total_bytes - (std::size_t{1} << 30);
  if (total != nullptr) *total = total_bytes;
  return CUDA_SUCCESS;
}

CUresult elapsed(float* milliseconds, CUevent, CUevent) {
  *milliseconds = 0;
  return CUDA_SUCCESS;
}

template <typename Function>
void put(Cu id, Function* body) {
  simgpu_cuda_table[static_cast<unsigned>(id)] = reinterpret_cast<void*>(body);
}

constexpr Cu kAnswered[] = {
    Cu::cuMemFree_v2,        Cu::cuMemFreeAsync,         Cu::cuMemFreeAsync_ptsz,
    Cu::cuStreamSynchronize, Cu::cuStreamQuery,          Cu::cuStreamSynchronize_ptsz,
    Cu::cuStreamQuery_ptsz,  Cu::cuEventRecord,          Cu::cuEventRecord_ptsz,
    Cu::cuEventQuery,        Cu::cuEventSynchronize,     Cu::cuCtxSynchronize,
    Cu::cuCtxSynchronize_v2, Cu::cuGraphLaunch,          Cu::cuGraphLaunch_ptsz,
    Cu::cuStreamWaitEvent,   Cu::cuStreamWaitEvent_ptsz, Cu::cuCtxRecordEvent};

bool answersByClass(abi::Class cls) {
  return cls == abi::Class::kLaunch || cls == abi::Class::kCopy || cls == abi::Class::kSet;
}

}  // namespace

void installNullProfile() {
  total_bytes = findDevice(0)->profile->usableBytes();
  for (unsigned id = 0; id < static_cast<unsigned>(Cu::kCount); ++id) {
    if (answersByClass(abi::kCuEntries[id].cls)) put(static_cast<Cu>(id), answer);
  }
  for (const Cu id : kAnswered) put(id, answer);
  put(Cu::cuMemAlloc_v2, allocate);
  put(Cu::cuMemAllocAsync, allocateAsync);
  put(Cu::cuMemAllocAsync_ptsz, allocateAsync);
  put(Cu::cuMemAllocFromPoolAsync, allocateFromPool);
  put(Cu::cuMemAllocFromPoolAsync_ptsz, allocateFromPool);
  put(Cu::cuMemAllocPitch_v2, allocatePitch);
  put(Cu::cuEventElapsedTime, elapsed);
  put(Cu::cuMemGetInfo_v2, memoryInfo);
}

}  // namespace divvy::simgpu
