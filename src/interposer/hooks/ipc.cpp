// Legacy IPC of memory. The driver has no handles for blocks made of chunks. These have a handle of
// ours, which the library in the other process opens.
#include "accounting/allocation.h"

using namespace divvy::interposer;
using divvy::abi::Cu;

namespace {

template <typename Call>
CUresult openHandle(CUdeviceptr* out, const CUipcMemHandle& handle, unsigned flags, Call call) {
  const DriverCallScope inside;
  IpcToken token;
  __builtin_memcpy(&token, &handle, sizeof token);
  if (inside.nested() || !token.isOurs()) return call();
  return runtime().ipc_imports.open(token, flags, out);
}

}  // namespace

DIVVY_HOOK(cuIpcGetMemHandle)(CUipcMemHandle* pHandle, CUdeviceptr dptr) noexcept {
  const DriverCallScope inside;
  if (!inside.nested() && pHandle != nullptr && runtime().chunks.any()) {
    IpcToken token;
    const CUresult named = runtime().ipc_exports.nameBlock(dptr, &token);
    if (named == CUDA_SUCCESS) __builtin_memcpy(pHandle, &token, sizeof token);
    if (named != CUDA_ERROR_NOT_FOUND) return named;
  }
  return real<Cu::cuIpcGetMemHandle>()(pHandle, dptr);
}

DIVVY_HOOK(cuIpcOpenMemHandle)
(CUdeviceptr* pdptr, CUipcMemHandle handle, unsigned int Flags) noexcept {
  return openHandle(pdptr, handle, Flags,
                    [&] { return real<Cu::cuIpcOpenMemHandle>()(pdptr, handle, Flags); });
}

DIVVY_HOOK(cuIpcOpenMemHandle_v2)
(CUdeviceptr* pdptr, CUipcMemHandle handle, unsigned int Flags) noexcept {
  return openHandle(pdptr, handle, Flags,
                    [&] { return real<Cu::cuIpcOpenMemHandle_v2>()(pdptr, handle, Flags); });
}

DIVVY_HOOK(cuIpcCloseMemHandle)(CUdeviceptr dptr) noexcept {
  const DriverCallScope inside;
  if (!inside.nested()) {
    const CUresult closed = runtime().ipc_imports.close(dptr);
    if (closed != CUDA_ERROR_NOT_FOUND) return closed;
  }
  return real<Cu::cuIpcCloseMemHandle>()(dptr);
}
