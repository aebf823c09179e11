// Names and texts of results, with the real driver's texts where programs show them to users.
#include "cuda/context/api_prologue.h"

namespace divvy::simgpu {
namespace {

struct ErrorRow {
  CUresult code;
  const char* name;
  const char* text;
};

// The list names each result once.
#define SIMGPU_RESULT(name, text) \
  { name, #name, text }

constexpr ErrorRow kErrors[] = {
    SIMGPU_RESULT(CUDA_SUCCESS, "no error"),
    SIMGPU_RESULT(CUDA_ERROR_INVALID_VALUE, "invalid argument"),
    SIMGPU_RESULT(CUDA_ERROR_OUT_OF_MEMORY, "out of memory"),
    SIMGPU_RESULT(CUDA_ERROR_NOT_INITIALIZED, "initialization error"),
    SIMGPU_RESULT(CUDA_ERROR_DEINITIALIZED, "driver shutting down"),
    SIMGPU_RESULT(CUDA_ERROR_PROFILER_DISABLED,
                  "profiler disabled while using external profiling "
                  "tool"),
    SIMGPU_RESULT(CUDA_ERROR_PROFILER_NOT_INITIALIZED,
                  "profiler not initialized: call "
                  "cudaProfilerInitialize()"),
    SIMGPU_RESULT(CUDA_ERROR_PROFILER_ALREADY_STARTED, "profiler already started"),
    SIMGPU_RESULT(CUDA_ERROR_PROFILER_ALREADY_STOPPED, "profiler already stopped"),
    SIMGPU_RESULT(CUDA_ERROR_STUB_LIBRARY, "CUDA driver is a stub library"),
    SIMGPU_RESULT(CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER, "API call requires newer CUDA driver"),
    SIMGPU_RESULT(CUDA_ERROR_DEVICE_UNAVAILABLE,
                  "CUDA-capable device(s) is/are busy or "
                  "unavailable"),
    SIMGPU_RESULT(CUDA_ERROR_MULTICAST_RESOURCE_FULL, "multicast resources exhausted"),
    SIMGPU_RESULT(CUDA_ERROR_NO_DEVICE, "no CUDA-capable device is detected"),
    SIMGPU_RESULT(CUDA_ERROR_INVALID_DEVICE, "invalid device ordinal"),
    SIMGPU_RESULT(CUDA_ERROR_DEVICE_NOT_LICENSED, "device doesn't have valid Grid license"),
    SIMGPU_RESULT(CUDA_ERROR_INVALID_IMAGE, "device kernel image is invalid"),
    SIMGPU_RESULT(CUDA_ERROR_INVALID_CONTEXT, "invalid device context"),
    SIMGPU_RESULT(CUDA_ERROR_CONTEXT_ALREADY_CURRENT, "context already current"),
    SIMGPU_RESULT(CUDA_ERROR_MAP_FAILED, "mapping of buffer object failed"),
    SIMGPU_RESULT(CUDA_ERROR_UNMAP_FAILED, "unmapping of buffer object failed"),
    SIMGPU_RESULT(CUDA_ERROR_ARRAY_IS_MAPPED, "array is mapped"),
    SIMGPU_RESULT(CUDA_ERROR_ALREADY_MAPPED, "resource already mapped"),
    SIMGPU_RESULT(CUDA_ERROR_NO_BINARY_FOR_GPU,
                  "no kernel image is available for execution on the "
                  "device"),
    SIMGPU_RESULT(CUDA_ERROR_ALREADY_ACQUIRED, "resource already acquired"),
    SIMGPU_RESULT(CUDA_ERROR_NOT_MAPPED, "resource not mapped"),
    SIMGPU_RESULT(CUDA_ERROR_NOT_MAPPED_AS_ARRAY, "resource not mapped as array"),
    SIMGPU_RESULT(CUDA_ERROR_NOT_MAPPED_AS_POINTER, "resource not mapped as pointer"),
    SIMGPU_RESULT(CUDA_ERROR_ECC_UNCORRECTABLE, "uncorrectable ECC error encountered"),
    SIMGPU_RESULT(CUDA_ERROR_UNSUPPORTED_LIMIT, "limit is not supported on this architecture"),
    SIMGPU_RESULT(CUDA_ERROR_CONTEXT_ALREADY_IN_USE,
                  "exclusive-thread device already in use by a different "
                  "thread"),
    SIMGPU_RESULT(CUDA_ERROR_PEER_ACCESS_UNSUPPORTED,
                  "peer access is not supported between these two "
                  "devices"),
    SIMGPU_RESULT(CUDA_ERROR_INVALID_PTX, "a PTX JIT compilation failed"),
    SIMGPU_RESULT(CUDA_ERROR_INVALID_GRAPHICS_CONTEXT, "invalid OpenGL or DirectX context"),
    SIMGPU_RESULT(CUDA_ERROR_NVLINK_UNCORRECTABLE,
                  "uncorrectable NVLink error detected during the "
                  "execution"),
    SIMGPU_RESULT(CUDA_ERROR_JIT_COMPILER_NOT_FOUND, "PTX JIT compiler library not found"),
    SIMGPU_RESULT(CUDA_ERROR_UNSUPPORTED_PTX_VERSION,
                  "the provided PTX was compiled with an unsupported "
                  "toolchain."),
    SIMGPU_RESULT(CUDA_ERROR_JIT_COMPILATION_DISABLED, "PTX JIT compilation was disabled"),
    SIMGPU_RESULT(CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY,
                  "the provided execution affinity is not "
                  "supported"),
    SIMGPU_RESULT(CUDA_ERROR_UNSUPPORTED_DEVSIDE_SYNC,
                  "the provided PTX contains unsupported call to "
                  "cudaDeviceSynchronize"),
    SIMGPU_RESULT(CUDA_ERROR_CONTAINED,
                  "Invalid access of peer GPU memory over nvlink or a hardware "
                  "error"),
    SIMGPU_RESULT(CUDA_ERROR_INSUFFICIENT_LOADER_VERSION, "insufficient loader version"),
    SIMGPU_RESULT(CUDA_ERROR_INVALID_SOURCE, "device kernel image is invalid"),
    SIMGPU_RESULT(CUDA_ERROR_FILE_NOT_FOUND, "file not found"),
    SIMGPU_RESULT(CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND, "shared object symbol not found"),
    SIMGPU_RESULT(CUDA_ERROR_SHARED_OBJECT_INIT_FAILED, "shared object initialization failed"),
    SIMGPU_RESULT(CUDA_ERROR_OPERATING_SYSTEM,
                  "OS call failed or operation not supported on this "
                  "OS"),
    SIMGPU_RESULT(CUDA_ERROR_INVALID_HANDLE, "invalid resource handle"),
    SIMGPU_RESULT(CUDA_ERROR_ILLEGAL_STATE,
                  "the operation cannot be performed in the present "
                  "state"),
    SIMGPU_RESULT(CUDA_ERROR_LOSSY_QUERY, "attempted introspection would be semantically lossy"),
    SIMGPU_RESULT(CUDA_ERROR_NOT_FOUND, "named symbol not found"),
    SIMGPU_RESULT(CUDA_ERROR_NOT_READY, "device not ready"),
    SIMGPU_RESULT(CUDA_ERROR_ILLEGAL_ADDRESS, "an illegal memory access was encountered"),
    SIMGPU_RESULT(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, "too many resources requested for launch"),
    SIMGPU_RESULT(CUDA_ERROR_LAUNCH_TIMEOUT, "the launch timed out and was terminated"),
    SIMGPU_RESULT(CUDA_ERROR_LAUNCH_INCOMPATIBLE_TEXTURING,
                  "launch uses incompatible texturing "
                  "mode"),
    SIMGPU_RESULT(CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED, "peer access is already enabled"),
    SIMGPU_RESULT(CUDA_ERROR_PEER_ACCESS_NOT_ENABLED, "peer access has not been enabled"),
    SIMGPU_RESULT(CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE,
                  "cannot set while device is active in this "
                  "process"),
    SIMGPU_RESULT(CUDA_ERROR_CONTEXT_IS_DESTROYED, "context is destroyed"),
    SIMGPU_RESULT(CUDA_ERROR_ASSERT, "device-side assert triggered"),
    SIMGPU_RESULT(CUDA_ERROR_TOO_MANY_PEERS, "peer mapping resources exhausted"),
    SIMGPU_RESULT(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED,
                  "part or all of the requested memory range is already "
                  "mapped"),
    SIMGPU_RESULT(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED,
                  "pointer does not correspond to a registered memory "
                  "region"),
    SIMGPU_RESULT(CUDA_ERROR_HARDWARE_STACK_ERROR, "hardware stack error"),
    SIMGPU_RESULT(CUDA_ERROR_ILLEGAL_INSTRUCTION, "an illegal instruction was encountered"),
    SIMGPU_RESULT(CUDA_ERROR_MISALIGNED_ADDRESS, "misaligned address"),
    SIMGPU_RESULT(CUDA_ERROR_INVALID_ADDRESS_SPACE,
                  "operation not supported on global/shared address "
                  "space"),
    SIMGPU_RESULT(CUDA_ERROR_INVALID_PC, "invalid program counter"),
    SIMGPU_RESULT(CUDA_ERROR_LAUNCH_FAILED, "unspecified launch failure"),
    SIMGPU_RESULT(CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE, "too many blocks in cooperative launch"),
    SIMGPU_RESULT(CUDA_ERROR_TENSOR_MEMORY_LEAK, "tensor memory leak"),
    SIMGPU_RESULT(CUDA_ERROR_NOT_PERMITTED, "operation not permitted"),
    SIMGPU_RESULT(CUDA_ERROR_NOT_SUPPORTED, "operation not supported"),
    SIMGPU_RESULT(CUDA_ERROR_SYSTEM_NOT_READY, "system not yet initialized"),
    SIMGPU_RESULT(CUDA_ERROR_SYSTEM_DRIVER_MISMATCH,
                  "system has unsupported display driver / cuda driver "
                  "combination"),
    SIMGPU_RESULT(CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE,
                  "forward compatibility was attempted on non supported "
                  "HW"),
    SIMGPU_RESULT(CUDA_ERROR_MPS_CONNECTION_FAILED,
                  "MPS client failed to connect to the MPS control daemon or "
                  "the MPS server"),
    SIMGPU_RESULT(CUDA_ERROR_MPS_RPC_FAILURE,
                  "the remote procedural call between the MPS server and the "
                  "MPS client failed"),
    SIMGPU_RESULT(CUDA_ERROR_MPS_SERVER_NOT_READY,
                  "MPS server is not ready to accept new MPS client "
                  "requests"),
    SIMGPU_RESULT(CUDA_ERROR_MPS_MAX_CLIENTS_REACHED,
                  "the hardware resources required to create MPS client have "
                  "been exhausted"),
    SIMGPU_RESULT(CUDA_ERROR_MPS_MAX_CONNECTIONS_REACHED,
                  "the hardware resources required to support device "
                  "connections have been exhausted"),
    SIMGPU_RESULT(CUDA_ERROR_MPS_CLIENT_TERMINATED, "mps client terminated"),
    SIMGPU_RESULT(CUDA_ERROR_CDP_NOT_SUPPORTED, "cdp not supported"),
    SIMGPU_RESULT(CUDA_ERROR_CDP_VERSION_MISMATCH, "cdp version mismatch"),
    SIMGPU_RESULT(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
                  "operation not permitted when stream is "
                  "capturing"),
    SIMGPU_RESULT(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED,
                  "operation failed due to a previous error during "
                  "capture"),
    SIMGPU_RESULT(CUDA_ERROR_STREAM_CAPTURE_MERGE,
                  "operation would result in a merge of separate capture "
                  "sequences"),
    SIMGPU_RESULT(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED,
                  "capture was not ended in the same stream as it "
                  "began"),
    SIMGPU_RESULT(CUDA_ERROR_STREAM_CAPTURE_UNJOINED, "capturing stream has unjoined work"),
    SIMGPU_RESULT(CUDA_ERROR_STREAM_CAPTURE_ISOLATION,
                  "dependency created on uncaptured work in another "
                  "stream"),
    SIMGPU_RESULT(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT,
                  "operation would make the legacy stream depend on a "
                  "capturing blocking stream"),
    SIMGPU_RESULT(CUDA_ERROR_CAPTURED_EVENT,
                  "operation not permitted on an event last recorded in a "
                  "capturing stream"),
    SIMGPU_RESULT(CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD,
                  "attempt to terminate a thread-local capture sequence from "
                  "another thread"),
    SIMGPU_RESULT(CUDA_ERROR_TIMEOUT, "wait operation timed out"),
    SIMGPU_RESULT(CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE,
                  "the graph update was not performed because it included "
                  "changes which violated constraints specific to instantiated graph update"),
    SIMGPU_RESULT(CUDA_ERROR_EXTERNAL_DEVICE,
                  "an async error has occured in external entity outside of "
                  "CUDA"),
    SIMGPU_RESULT(CUDA_ERROR_INVALID_CLUSTER_SIZE,
                  "a kernel launch error has occurred due to cluster "
                  "misconfiguration"),
    SIMGPU_RESULT(CUDA_ERROR_FUNCTION_NOT_LOADED, "function not loaded"),
    SIMGPU_RESULT(CUDA_ERROR_INVALID_RESOURCE_TYPE, "invalid resource type"),
    SIMGPU_RESULT(CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION, "invalid resource configuration"),
    SIMGPU_RESULT(CUDA_ERROR_KEY_ROTATION, "key rotation"),
    SIMGPU_RESULT(CUDA_ERROR_STREAM_DETACHED, "stream detached"),
    SIMGPU_RESULT(CUDA_ERROR_GRAPH_RECAPTURE_FAILURE, "graph recapture failure"),
    SIMGPU_RESULT(CUDA_ERROR_FABRIC_NOT_READY, "fabric not ready"),
    SIMGPU_RESULT(CUDA_ERROR_UNKNOWN, "unknown error"),
};

#undef SIMGPU_RESULT

CUresult describe(CUresult code, const char** out, const char* ErrorRow::*column) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *out = nullptr;
  for (const ErrorRow& row : kErrors) {
    if (row.code == code) *out = row.*column;
  }
  return *out == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

}  // namespace

SIMGPU_IMPL(cuGetErrorName)(CUresult error, const char** out) {
  return withNothing(Cu::cuGetErrorName, [&] { return describe(error, out, &ErrorRow::name); });
}
SIMGPU_IMPL(cuGetErrorString)(CUresult error, const char** out) {
  return withNothing(Cu::cuGetErrorString, [&] { return describe(error, out, &ErrorRow::text); });
}

}  // namespace divvy::simgpu
