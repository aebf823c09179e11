// Peer access between the devices of a process.
#include "cuda/context/api_prologue.h"
#include "cuda/context/device_attributes.h"

namespace divvy::simgpu {
namespace {

CUresult p2pAttribute(const Device& a, const Device& b, CUdevice_P2PAttribute attribute,
                      int* value) {
  const bool possible = peersPossible(a, b);
  const bool linked = a.profile->nvlinks > 0;
  switch (attribute) {
    case CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK:
      *value = possible && !linked ? 1 : 0;
      return CUDA_SUCCESS;
    case CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED:
    case CU_DEVICE_P2P_ATTRIBUTE_CUDA_ARRAY_ACCESS_SUPPORTED:
      *value = possible ? 1 : 0;
      return CUDA_SUCCESS;
    case CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED:
      *value = possible && linked ? 1 : 0;
      return CUDA_SUCCESS;
    case CU_DEVICE_P2P_ATTRIBUTE_ONLY_PARTIAL_NATIVE_ATOMIC_SUPPORTED:
      *value = 0;
      return CUDA_SUCCESS;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

}  // namespace

SIMGPU_IMPL(cuDeviceCanAccessPeer)(int* possible, CUdevice from, CUdevice to) {
  return withDriver(Cu::cuDeviceCanAccessPeer, [&]() -> CUresult {
    Device* a = findDevice(from);
    Device* b = findDevice(to);
    if (a == nullptr || b == nullptr) return CUDA_ERROR_INVALID_DEVICE;
    if (possible == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *possible = peersPossible(*a, *b) ? 1 : 0;
    return CUDA_SUCCESS;
  });
}
SIMGPU_IMPL(cuDeviceGetP2PAttribute)
(int* value, CUdevice_P2PAttribute attribute, CUdevice from, CUdevice to) {
  return withDriver(Cu::cuDeviceGetP2PAttribute, [&]() -> CUresult {
    Device* a = findDevice(from);
    Device* b = findDevice(to);
    if (a == nullptr || b == nullptr || a == b) return CUDA_ERROR_INVALID_DEVICE;
    if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return p2pAttribute(*a, *b, attribute, value);
  });
}
SIMGPU_IMPL(cuCtxEnablePeerAccess)(CUcontext handle, unsigned flags) {
  return withContext(Cu::cuCtxEnablePeerAccess, [&](Context& context) -> CUresult {
    if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
    Context* peer = findContext(handle);
    if (peer == nullptr || &peer->device() == &context.device()) return CUDA_ERROR_INVALID_CONTEXT;
    if (!peersPossible(context.device(), peer->device())) {
      return CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
    }
    const std::lock_guard guard(context.mutex);
    return context.peers.insert(&peer->device()).second ? CUDA_SUCCESS
                                                        : CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
  });
}
SIMGPU_IMPL(cuCtxDisablePeerAccess)(CUcontext handle) {
  return withContext(Cu::cuCtxDisablePeerAccess, [&](Context& context) -> CUresult {
    Context* peer = findContext(handle);
    if (peer == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    const std::lock_guard guard(context.mutex);
    return context.peers.erase(&peer->device()) != 0 ? CUDA_SUCCESS
                                                     : CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;
  });
}

}  // namespace divvy::simgpu
