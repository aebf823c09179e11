// Entry points that copy runs of bytes: host, device, peers, unified addresses.
#include "cuda/copy/copy_array.h"
#include "cuda/copy/copy_call.h"

namespace divvy::simgpu {
namespace {

Planner unified(CUdeviceptr to, CUdeviceptr from, std::size_t bytes) {
  return [=](CopyPlan* plan) -> CUresult {
    *plan = {};
    plan->width = bytes;
    if (bytes == 0) return CUDA_SUCCESS;
    const CUresult known = unifiedEnd(from, &plan->from);
    return known != CUDA_SUCCESS ? known : unifiedEnd(to, &plan->to);
  };
}

Planner toDevice(CUdeviceptr to, const void* from, std::size_t bytes) {
  return [=](CopyPlan* plan) {
    *plan = linearCopy(deviceEnd(to), hostEnd(from), bytes);
    return CUDA_SUCCESS;
  };
}

Planner toHost(void* to, CUdeviceptr from, std::size_t bytes) {
  return [=](CopyPlan* plan) {
    *plan = linearCopy(hostEnd(to), deviceEnd(from), bytes);
    return CUDA_SUCCESS;
  };
}

Planner onDevice(CUdeviceptr to, CUdeviceptr from, std::size_t bytes) {
  return [=](CopyPlan* plan) {
    *plan = linearCopy(deviceEnd(to), deviceEnd(from), bytes);
    return CUDA_SUCCESS;
  };
}

Planner peers(CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context,
              std::size_t bytes) {
  return [=](CopyPlan* plan) -> CUresult {
    if (findContext(to_context) == nullptr || findContext(from_context) == nullptr) {
      return CUDA_ERROR_INVALID_CONTEXT;
    }
    *plan = linearCopy(deviceEnd(to, to_context), deviceEnd(from, from_context), bytes);
    return CUDA_SUCCESS;
  };
}

// A side that is a run within a one-dimensional array.
CUresult arrayRun(CUarray array, std::size_t offset, std::size_t bytes, CopyEnd* end) {
  return arrayEnd(array, 0, {offset, 0, 0, bytes, 1, 1}, end);
}

Planner intoArray(CUarray to, std::size_t offset, CopyEnd from, std::size_t bytes) {
  return [=](CopyPlan* plan) {
    *plan = linearCopy({}, from, bytes);
    return arrayRun(to, offset, bytes, &plan->to);
  };
}

Planner fromArray(CopyEnd to, CUarray from, std::size_t offset, std::size_t bytes) {
  return [=](CopyPlan* plan) {
    *plan = linearCopy(to, {}, bytes);
    return arrayRun(from, offset, bytes, &plan->from);
  };
}

Planner betweenArrays(CUarray to, std::size_t to_offset, CUarray from, std::size_t from_offset,
                      std::size_t bytes) {
  return [=](CopyPlan* plan) {
    *plan = linearCopy({}, {}, bytes);
    const CUresult known = arrayRun(from, from_offset, bytes, &plan->from);
    return known != CUDA_SUCCESS ? known : arrayRun(to, to_offset, bytes, &plan->to);
  };
}

}  // namespace

SIMGPU_IMPL(cuMemcpy)(CUdeviceptr to, CUdeviceptr from, std::size_t bytes) {
  return copyNow(Cu::cuMemcpy, false, unified(to, from, bytes));
}
SIMGPU_IMPL(cuMemcpy_ptds)(CUdeviceptr to, CUdeviceptr from, std::size_t bytes) {
  return copyNow(Cu::cuMemcpy_ptds, true, unified(to, from, bytes));
}
SIMGPU_IMPL(cuMemcpyAsync)(CUdeviceptr to, CUdeviceptr from, std::size_t bytes, CUstream s) {
  return copyLater(Cu::cuMemcpyAsync, {s, false}, unified(to, from, bytes));
}
SIMGPU_IMPL(cuMemcpyAsync_ptsz)(CUdeviceptr to, CUdeviceptr from, std::size_t bytes, CUstream s) {
  return copyLater(Cu::cuMemcpyAsync_ptsz, {s, true}, unified(to, from, bytes));
}
SIMGPU_IMPL(cuMemcpyPeer)
(CUdeviceptr to, CUcontext tc, CUdeviceptr from, CUcontext fc, std::size_t bytes) {
  return copyNow(Cu::cuMemcpyPeer, false, peers(to, tc, from, fc, bytes));
}
SIMGPU_IMPL(cuMemcpyPeer_ptds)
(CUdeviceptr to, CUcontext tc, CUdeviceptr from, CUcontext fc, std::size_t bytes) {
  return copyNow(Cu::cuMemcpyPeer_ptds, true, peers(to, tc, from, fc, bytes));
}
SIMGPU_IMPL(cuMemcpyPeerAsync)
(CUdeviceptr to, CUcontext tc, CUdeviceptr from, CUcontext fc, std::size_t bytes, CUstream s) {
  return copyLater(Cu::cuMemcpyPeerAsync, {s, false}, peers(to, tc, from, fc, bytes));
}
SIMGPU_IMPL(cuMemcpyPeerAsync_ptsz)
(CUdeviceptr to, CUcontext tc, CUdeviceptr from, CUcontext fc, std::size_t bytes, CUstream s) {
  return copyLater(Cu::cuMemcpyPeerAsync_ptsz, {s, true}, peers(to, tc, from, fc, bytes));
}
SIMGPU_IMPL(cuMemcpyHtoD)(CUdeviceptr_v1 to, const void* from, unsigned bytes) {
  return copyNow(Cu::cuMemcpyHtoD, false, toDevice(to, from, bytes));
}
SIMGPU_IMPL(cuMemcpyHtoD_v2)(CUdeviceptr to, const void* from, std::size_t bytes) {
  return copyNow(Cu::cuMemcpyHtoD_v2, false, toDevice(to, from, bytes));
}
SIMGPU_IMPL(cuMemcpyHtoD_v2_ptds)(CUdeviceptr to, const void* from, std::size_t bytes) {
  return copyNow(Cu::cuMemcpyHtoD_v2_ptds, true, toDevice(to, from, bytes));
}
SIMGPU_IMPL(cuMemcpyDtoH)(void* to, CUdeviceptr_v1 from, unsigned bytes) {
  return copyNow(Cu::cuMemcpyDtoH, false, toHost(to, from, bytes));
}
SIMGPU_IMPL(cuMemcpyDtoH_v2)(void* to, CUdeviceptr from, std::size_t bytes) {
  return copyNow(Cu::cuMemcpyDtoH_v2, false, toHost(to, from, bytes));
}
SIMGPU_IMPL(cuMemcpyDtoH_v2_ptds)(void* to, CUdeviceptr from, std::size_t bytes) {
  return copyNow(Cu::cuMemcpyDtoH_v2_ptds, true, toHost(to, from, bytes));
}
SIMGPU_IMPL(cuMemcpyDtoD)(CUdeviceptr_v1 to, CUdeviceptr_v1 from, unsigned bytes) {
  return copyNow(Cu::cuMemcpyDtoD, false, onDevice(to, from, bytes));
}
SIMGPU_IMPL(cuMemcpyDtoD_v2)(CUdeviceptr to, CUdeviceptr from, std::size_t bytes) {
  return copyNow(Cu::cuMemcpyDtoD_v2, false, onDevice(to, from, bytes));
}
SIMGPU_IMPL(cuMemcpyDtoD_v2_ptds)(CUdeviceptr to, CUdeviceptr from, std::size_t bytes) {
  return copyNow(Cu::cuMemcpyDtoD_v2_ptds, true, onDevice(to, from, bytes));
}
SIMGPU_IMPL(cuMemcpyHtoA)(CUarray to, unsigned at, const void* from, unsigned bytes) {
  return copyNow(Cu::cuMemcpyHtoA, false, intoArray(to, at, hostEnd(from), bytes));
}
SIMGPU_IMPL(cuMemcpyHtoA_v2)(CUarray to, std::size_t at, const void* from, std::size_t bytes) {
  return copyNow(Cu::cuMemcpyHtoA_v2, false, intoArray(to, at, hostEnd(from), bytes));
}
SIMGPU_IMPL(cuMemcpyHtoA_v2_ptds)(CUarray to, std::size_t at, const void* from, std::size_t bytes) {
  return copyNow(Cu::cuMemcpyHtoA_v2_ptds, true, intoArray(to, at, hostEnd(from), bytes));
}
SIMGPU_IMPL(cuMemcpyAtoH)(void* to, CUarray from, unsigned at, unsigned bytes) {
  return copyNow(Cu::cuMemcpyAtoH, false, fromArray(hostEnd(to), from, at, bytes));
}
SIMGPU_IMPL(cuMemcpyAtoH_v2)(void* to, CUarray from, std::size_t at, std::size_t bytes) {
  return copyNow(Cu::cuMemcpyAtoH_v2, false, fromArray(hostEnd(to), from, at, bytes));
}
SIMGPU_IMPL(cuMemcpyAtoH_v2_ptds)(void* to, CUarray from, std::size_t at, std::size_t bytes) {
  return copyNow(Cu::cuMemcpyAtoH_v2_ptds, true, fromArray(hostEnd(to), from, at, bytes));
}
SIMGPU_IMPL(cuMemcpyHtoDAsync)(CUdeviceptr_v1 to, const void* from, unsigned bytes, CUstream s) {
  return copyLater(Cu::cuMemcpyHtoDAsync, {s, false}, toDevice(to, from, bytes));
}
SIMGPU_IMPL(cuMemcpyHtoDAsync_v2)(CUdeviceptr to, const void* from, std::size_t bytes, CUstream s) {
  return copyLater(Cu::cuMemcpyHtoDAsync_v2, {s, false}, toDevice(to, from, bytes));
}
SIMGPU_IMPL(cuMemcpyHtoDAsync_v2_ptsz)
(CUdeviceptr to, const void* from, std::size_t bytes, CUstream s) {
  return copyLater(Cu::cuMemcpyHtoDAsync_v2_ptsz, {s, true}, toDevice(to, from, bytes));
}
SIMGPU_IMPL(cuMemcpyDtoHAsync)(void* to, CUdeviceptr_v1 from, unsigned bytes, CUstream s) {
  return copyLater(Cu::cuMemcpyDtoHAsync, {s, false}, toHost(to, from, bytes));
}
SIMGPU_IMPL(cuMemcpyDtoHAsync_v2)(void* to, CUdeviceptr from, std::size_t bytes, CUstream s) {
  return copyLater(Cu::cuMemcpyDtoHAsync_v2, {s, false}, toHost(to, from, bytes));
}
SIMGPU_IMPL(cuMemcpyDtoHAsync_v2_ptsz)(void* to, CUdeviceptr from, std::size_t bytes, CUstream s) {
  return copyLater(Cu::cuMemcpyDtoHAsync_v2_ptsz, {s, true}, toHost(to, from, bytes));
}
SIMGPU_IMPL(cuMemcpyDtoDAsync)(CUdeviceptr_v1 to, CUdeviceptr_v1 from, unsigned bytes, CUstream s) {
  return copyLater(Cu::cuMemcpyDtoDAsync, {s, false}, onDevice(to, from, bytes));
}
SIMGPU_IMPL(cuMemcpyDtoDAsync_v2)(CUdeviceptr to, CUdeviceptr from, std::size_t bytes, CUstream s) {
  return copyLater(Cu::cuMemcpyDtoDAsync_v2, {s, false}, onDevice(to, from, bytes));
}
SIMGPU_IMPL(cuMemcpyDtoDAsync_v2_ptsz)
(CUdeviceptr to, CUdeviceptr from, std::size_t bytes, CUstream s) {
  return copyLater(Cu::cuMemcpyDtoDAsync_v2_ptsz, {s, true}, onDevice(to, from, bytes));
}
SIMGPU_IMPL(cuMemcpyHtoAAsync)
(CUarray to, unsigned at, const void* from, unsigned bytes, CUstream s) {
  return copyLater(Cu::cuMemcpyHtoAAsync, {s, false}, intoArray(to, at, hostEnd(from), bytes));
}
SIMGPU_IMPL(cuMemcpyHtoAAsync_v2)
(CUarray to, std::size_t at, const void* from, std::size_t bytes, CUstream s) {
  return copyLater(Cu::cuMemcpyHtoAAsync_v2, {s, false}, intoArray(to, at, hostEnd(from), bytes));
}
SIMGPU_IMPL(cuMemcpyHtoAAsync_v2_ptsz)
(CUarray to, std::size_t at, const void* from, std::size_t bytes, CUstream s) {
  return copyLater(Cu::cuMemcpyHtoAAsync_v2_ptsz, {s, true},
                   intoArray(to, at, hostEnd(from), bytes));
}
SIMGPU_IMPL(cuMemcpyAtoHAsync)(void* to, CUarray from, unsigned at, unsigned bytes, CUstream s) {
  return copyLater(Cu::cuMemcpyAtoHAsync, {s, false}, fromArray(hostEnd(to), from, at, bytes));
}
SIMGPU_IMPL(cuMemcpyAtoHAsync_v2)
(void* to, CUarray from, std::size_t at, std::size_t bytes, CUstream s) {
  return copyLater(Cu::cuMemcpyAtoHAsync_v2, {s, false}, fromArray(hostEnd(to), from, at, bytes));
}
SIMGPU_IMPL(cuMemcpyAtoHAsync_v2_ptsz)
(void* to, CUarray from, std::size_t at, std::size_t bytes, CUstream s) {
  return copyLater(Cu::cuMemcpyAtoHAsync_v2_ptsz, {s, true},
                   fromArray(hostEnd(to), from, at, bytes));
}
SIMGPU_IMPL(cuMemcpyDtoA)(CUarray to, unsigned at, CUdeviceptr_v1 from, unsigned bytes) {
  return copyNow(Cu::cuMemcpyDtoA, false, intoArray(to, at, deviceEnd(from), bytes));
}
SIMGPU_IMPL(cuMemcpyDtoA_v2)(CUarray to, std::size_t at, CUdeviceptr from, std::size_t bytes) {
  return copyNow(Cu::cuMemcpyDtoA_v2, false, intoArray(to, at, deviceEnd(from), bytes));
}
SIMGPU_IMPL(cuMemcpyDtoA_v2_ptds)(CUarray to, std::size_t at, CUdeviceptr from, std::size_t bytes) {
  return copyNow(Cu::cuMemcpyDtoA_v2_ptds, true, intoArray(to, at, deviceEnd(from), bytes));
}
SIMGPU_IMPL(cuMemcpyAtoD)(CUdeviceptr_v1 to, CUarray from, unsigned at, unsigned bytes) {
  return copyNow(Cu::cuMemcpyAtoD, false, fromArray(deviceEnd(to), from, at, bytes));
}
SIMGPU_IMPL(cuMemcpyAtoD_v2)(CUdeviceptr to, CUarray from, std::size_t at, std::size_t bytes) {
  return copyNow(Cu::cuMemcpyAtoD_v2, false, fromArray(deviceEnd(to), from, at, bytes));
}
SIMGPU_IMPL(cuMemcpyAtoD_v2_ptds)(CUdeviceptr to, CUarray from, std::size_t at, std::size_t bytes) {
  return copyNow(Cu::cuMemcpyAtoD_v2_ptds, true, fromArray(deviceEnd(to), from, at, bytes));
}
SIMGPU_IMPL(cuMemcpyAtoA)(CUarray to, unsigned ta, CUarray from, unsigned fa, unsigned bytes) {
  return copyNow(Cu::cuMemcpyAtoA, false, betweenArrays(to, ta, from, fa, bytes));
}
SIMGPU_IMPL(cuMemcpyAtoA_v2)
(CUarray to, std::size_t ta, CUarray from, std::size_t fa, std::size_t bytes) {
  return copyNow(Cu::cuMemcpyAtoA_v2, false, betweenArrays(to, ta, from, fa, bytes));
}
SIMGPU_IMPL(cuMemcpyAtoA_v2_ptds)
(CUarray to, std::size_t ta, CUarray from, std::size_t fa, std::size_t bytes) {
  return copyNow(Cu::cuMemcpyAtoA_v2_ptds, true, betweenArrays(to, ta, from, fa, bytes));
}

}  // namespace divvy::simgpu
