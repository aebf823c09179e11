// Entry points that copy boxes: two and three dimensions, and batches.
#include "cuda/copy/copy_call.h"

namespace divvy::simgpu {
namespace {

// The structure from before CUDA 3.2, widened.
CUDA_MEMCPY2D widened(const CUDA_MEMCPY2D_v1& c) {
  return {c.srcXInBytes, c.srcY,        c.srcMemoryType, c.srcHost,       c.srcDevice, c.srcArray,
          c.srcPitch,    c.dstXInBytes, c.dstY,          c.dstMemoryType, c.dstHost,   c.dstDevice,
          c.dstArray,    c.dstPitch,    c.WidthInBytes,  c.Height};
}

CUDA_MEMCPY3D widened(const CUDA_MEMCPY3D_v1& c) {
  return {c.srcXInBytes,   c.srcY,        c.srcZ,         c.srcLOD,    c.srcMemoryType,
          c.srcHost,       c.srcDevice,   c.srcArray,     c.reserved0, c.srcPitch,
          c.srcHeight,     c.dstXInBytes, c.dstY,         c.dstZ,      c.dstLOD,
          c.dstMemoryType, c.dstHost,     c.dstDevice,    c.dstArray,  c.reserved1,
          c.dstPitch,      c.dstHeight,   c.WidthInBytes, c.Height,    c.Depth};
}

Planner box(const CUDA_MEMCPY2D* copy) {
  return [copy](CopyPlan* plan) {
    return copy == nullptr ? CUDA_ERROR_INVALID_VALUE : planCopy2D(*copy, plan);
  };
}
Planner box(const CUDA_MEMCPY3D* copy) {
  return [copy](CopyPlan* plan) {
    return copy == nullptr ? CUDA_ERROR_INVALID_VALUE : planCopy3D(*copy, plan);
  };
}
Planner box(const CUDA_MEMCPY2D_v1* copy) {
  return [copy](CopyPlan* plan) {
    return copy == nullptr ? CUDA_ERROR_INVALID_VALUE : planCopy2D(widened(*copy), plan);
  };
}
Planner box(const CUDA_MEMCPY3D_v1* copy) {
  return [copy](CopyPlan* plan) {
    return copy == nullptr ? CUDA_ERROR_INVALID_VALUE : planCopy3D(widened(*copy), plan);
  };
}
Planner box(const CUDA_MEMCPY3D_PEER* copy) {
  return [copy](CopyPlan* plan) {
    return copy == nullptr ? CUDA_ERROR_INVALID_VALUE : planCopy3DPeer(*copy, plan);
  };
}

// Batches must go into a real stream; the legacy one is refused. All elements are checked before
// the first copy, so that a bad one has no effect; *fail is its index.
CUresult copyAll(Cu id, StreamArgument stream, std::size_t count, std::size_t* fail,
                 const std::function<CUresult(std::size_t, CopyPlan*)>& planner) {
  return withContext(id, [&](Context& context) -> CUresult {
    const auto handle = reinterpret_cast<std::uintptr_t>(stream.stream);
    if (count == 0 || handle == kStreamLegacy || (handle == 0 && !stream.per_thread)) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    if (fail != nullptr) *fail = SIZE_MAX;
    std::vector<CopyPlan> plans(count);
    for (std::size_t i = 0; i < count; ++i) {
      CUresult result = planner(i, &plans[i]);
      if (result == CUDA_SUCCESS) result = checkCopy(context, plans[i]);
      if (result == CUDA_SUCCESS) continue;
      if (fail != nullptr) *fail = i;
      return result;
    }
    for (CopyPlan& plan : plans) {
      const CUresult result = copyLaterIn(context, stream, std::move(plan));
      if (result != CUDA_SUCCESS) return result;
    }
    return CUDA_SUCCESS;
  });
}

CUresult copyRuns(Cu id, StreamArgument stream, CUdeviceptr* to, CUdeviceptr* from,
                  std::size_t* sizes, std::size_t count, std::size_t* fail) {
  if (to == nullptr || from == nullptr || sizes == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return copyAll(id, stream, count, fail, [&](std::size_t i, CopyPlan* plan) -> CUresult {
    plan->width = sizes[i];
    const CUresult known = unifiedEnd(from[i], &plan->from);
    return known != CUDA_SUCCESS ? known : unifiedEnd(to[i], &plan->to);
  });
}

CUresult copyBoxes(Cu id, StreamArgument stream, std::size_t count, CUDA_MEMCPY3D_BATCH_OP* list,
                   std::size_t* fail) {
  if (list == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return copyAll(id, stream, count, fail,
                 [&](std::size_t i, CopyPlan* plan) { return planBatchCopy(list[i], plan); });
}

}  // namespace

SIMGPU_IMPL(cuMemcpy2D)(const CUDA_MEMCPY2D_v1* c) {
  return copyNow(Cu::cuMemcpy2D, false, box(c));
}
SIMGPU_IMPL(cuMemcpy2D_v2)(const CUDA_MEMCPY2D* c) {
  return copyNow(Cu::cuMemcpy2D_v2, false, box(c));
}
SIMGPU_IMPL(cuMemcpy2D_v2_ptds)(const CUDA_MEMCPY2D* c) {
  return copyNow(Cu::cuMemcpy2D_v2_ptds, true, box(c));
}
SIMGPU_IMPL(cuMemcpy2DUnaligned)(const CUDA_MEMCPY2D_v1* c) {
  return copyNow(Cu::cuMemcpy2DUnaligned, false, box(c));
}
SIMGPU_IMPL(cuMemcpy2DUnaligned_v2)(const CUDA_MEMCPY2D* c) {
  return copyNow(Cu::cuMemcpy2DUnaligned_v2, false, box(c));
}
SIMGPU_IMPL(cuMemcpy2DUnaligned_v2_ptds)(const CUDA_MEMCPY2D* c) {
  return copyNow(Cu::cuMemcpy2DUnaligned_v2_ptds, true, box(c));
}
SIMGPU_IMPL(cuMemcpy3D)(const CUDA_MEMCPY3D_v1* c) {
  return copyNow(Cu::cuMemcpy3D, false, box(c));
}
SIMGPU_IMPL(cuMemcpy3D_v2)(const CUDA_MEMCPY3D* c) {
  return copyNow(Cu::cuMemcpy3D_v2, false, box(c));
}
SIMGPU_IMPL(cuMemcpy3D_v2_ptds)(const CUDA_MEMCPY3D* c) {
  return copyNow(Cu::cuMemcpy3D_v2_ptds, true, box(c));
}
SIMGPU_IMPL(cuMemcpy2DAsync)(const CUDA_MEMCPY2D_v1* c, CUstream s) {
  return copyLater(Cu::cuMemcpy2DAsync, {s, false}, box(c));
}
SIMGPU_IMPL(cuMemcpy2DAsync_v2)(const CUDA_MEMCPY2D* c, CUstream s) {
  return copyLater(Cu::cuMemcpy2DAsync_v2, {s, false}, box(c));
}
SIMGPU_IMPL(cuMemcpy2DAsync_v2_ptsz)(const CUDA_MEMCPY2D* c, CUstream s) {
  return copyLater(Cu::cuMemcpy2DAsync_v2_ptsz, {s, true}, box(c));
}
SIMGPU_IMPL(cuMemcpy3DAsync)(const CUDA_MEMCPY3D_v1* c, CUstream s) {
  return copyLater(Cu::cuMemcpy3DAsync, {s, false}, box(c));
}
SIMGPU_IMPL(cuMemcpy3DAsync_v2)(const CUDA_MEMCPY3D* c, CUstream s) {
  return copyLater(Cu::cuMemcpy3DAsync_v2, {s, false}, box(c));
}
SIMGPU_IMPL(cuMemcpy3DAsync_v2_ptsz)(const CUDA_MEMCPY3D* c, CUstream s) {
  return copyLater(Cu::cuMemcpy3DAsync_v2_ptsz, {s, true}, box(c));
}
SIMGPU_IMPL(cuMemcpy3DPeer)(const CUDA_MEMCPY3D_PEER* c) {
  return copyNow(Cu::cuMemcpy3DPeer, false, box(c));
}
SIMGPU_IMPL(cuMemcpy3DPeer_ptds)(const CUDA_MEMCPY3D_PEER* c) {
  return copyNow(Cu::cuMemcpy3DPeer_ptds, true, box(c));
}
SIMGPU_IMPL(cuMemcpy3DPeerAsync)(const CUDA_MEMCPY3D_PEER* c, CUstream s) {
  return copyLater(Cu::cuMemcpy3DPeerAsync, {s, false}, box(c));
}
SIMGPU_IMPL(cuMemcpy3DPeerAsync_ptsz)(const CUDA_MEMCPY3D_PEER* c, CUstream s) {
  return copyLater(Cu::cuMemcpy3DPeerAsync_ptsz, {s, true}, box(c));
}
SIMGPU_IMPL(cuMemcpyBatchAsync)
(CUdeviceptr* to, CUdeviceptr* from, std::size_t* sizes, std::size_t count, CUmemcpyAttributes*,
 std::size_t*, std::size_t, std::size_t* fail, CUstream s) {
  return copyRuns(Cu::cuMemcpyBatchAsync, {s, false}, to, from, sizes, count, fail);
}
SIMGPU_IMPL(cuMemcpyBatchAsync_v2)
(CUdeviceptr* to, CUdeviceptr* from, std::size_t* sizes, std::size_t count, CUmemcpyAttributes*,
 std::size_t*, std::size_t, CUstream s) {
  return copyRuns(Cu::cuMemcpyBatchAsync_v2, {s, false}, to, from, sizes, count, nullptr);
}
SIMGPU_IMPL(cuMemcpy3DBatchAsync)
(std::size_t count, CUDA_MEMCPY3D_BATCH_OP* list, std::size_t* fail, unsigned long long,
 CUstream s) {
  return copyBoxes(Cu::cuMemcpy3DBatchAsync, {s, false}, count, list, fail);
}
SIMGPU_IMPL(cuMemcpy3DBatchAsync_v2)
(std::size_t count, CUDA_MEMCPY3D_BATCH_OP* list, unsigned long long, CUstream s) {
  return copyBoxes(Cu::cuMemcpy3DBatchAsync_v2, {s, false}, count, list, nullptr);
}
SIMGPU_IMPL(cuMemcpyWithAttributesAsync)
(CUdeviceptr to, CUdeviceptr from, std::size_t bytes, CUmemcpyAttributes*, CUstream s) {
  return copyRuns(Cu::cuMemcpyWithAttributesAsync, {s, false}, &to, &from, &bytes, 1, nullptr);
}
SIMGPU_IMPL(cuMemcpy3DWithAttributesAsync)
(CUDA_MEMCPY3D_BATCH_OP* op, unsigned long long, CUstream s) {
  return copyBoxes(Cu::cuMemcpy3DWithAttributesAsync, {s, false}, 1, op, nullptr);
}
SIMGPU_IMPL(cuMemcpyBatchAsync_ptsz)
(CUdeviceptr* to, CUdeviceptr* from, std::size_t* sizes, std::size_t count, CUmemcpyAttributes*,
 std::size_t*, std::size_t, std::size_t* fail, CUstream s) {
  return copyRuns(Cu::cuMemcpyBatchAsync_ptsz, {s, true}, to, from, sizes, count, fail);
}
SIMGPU_IMPL(cuMemcpyBatchAsync_v2_ptsz)
(CUdeviceptr* to, CUdeviceptr* from, std::size_t* sizes, std::size_t count, CUmemcpyAttributes*,
 std::size_t*, std::size_t, CUstream s) {
  return copyRuns(Cu::cuMemcpyBatchAsync_v2_ptsz, {s, true}, to, from, sizes, count, nullptr);
}
SIMGPU_IMPL(cuMemcpy3DBatchAsync_ptsz)
(std::size_t count, CUDA_MEMCPY3D_BATCH_OP* list, std::size_t* fail, unsigned long long,
 CUstream s) {
  return copyBoxes(Cu::cuMemcpy3DBatchAsync_ptsz, {s, true}, count, list, fail);
}
SIMGPU_IMPL(cuMemcpy3DBatchAsync_v2_ptsz)
(std::size_t count, CUDA_MEMCPY3D_BATCH_OP* list, unsigned long long, CUstream s) {
  return copyBoxes(Cu::cuMemcpy3DBatchAsync_v2_ptsz, {s, true}, count, list, nullptr);
}
SIMGPU_IMPL(cuMemcpyWithAttributesAsync_ptsz)
(CUdeviceptr to, CUdeviceptr from, std::size_t bytes, CUmemcpyAttributes*, CUstream s) {
  return copyRuns(Cu::cuMemcpyWithAttributesAsync_ptsz, {s, true}, &to, &from, &bytes, 1, nullptr);
}
SIMGPU_IMPL(cuMemcpy3DWithAttributesAsync_ptsz)
(CUDA_MEMCPY3D_BATCH_OP* op, unsigned long long, CUstream s) {
  return copyBoxes(Cu::cuMemcpy3DWithAttributesAsync_ptsz, {s, true}, 1, op, nullptr);
}

}  // namespace divvy::simgpu
