// What the memory half does without an execution half: nothing is ever in flight. Each is weak, and
// replaced by the real one where it is linked.
#include "exec.h"
#include "host_memory.h"
#include "pool.h"

namespace divvy::simgpu {

namespace exec {

__attribute__((weak)) void contextMade(Context&) {}
__attribute__((weak)) void contextEnding(Context&) {}
__attribute__((weak)) CUresult synchronizeDevice(Device&) {
  return CUDA_SUCCESS;
}
__attribute__((weak)) CUresult checkUnsafeCall(Context&) {
  return CUDA_SUCCESS;
}
__attribute__((weak)) CUresult resolveStream(Context& current, StreamArgument, Context** context,
                                             std::uint64_t* identity) {
  *context = &current;
  *identity = 1;
  return CUDA_SUCCESS;
}
__attribute__((weak)) CUresult streamIsCapturing(Context&, StreamArgument, bool* capturing) {
  *capturing = false;
  return CUDA_SUCCESS;
}
__attribute__((weak)) CUresult captureAlloc(Context&, StreamArgument, std::size_t, CUdeviceptr*) {
  return CUDA_ERROR_NOT_SUPPORTED;
}
__attribute__((weak)) CUresult captureFree(Context&, StreamArgument, CUdeviceptr) {
  return CUDA_ERROR_NOT_SUPPORTED;
}
__attribute__((weak)) CUresult enqueueAction(Context&, StreamArgument,
                                             std::function<void()> action) {
  action();
  return CUDA_SUCCESS;
}

}  // namespace exec
}  // namespace divvy::simgpu

namespace divvy::simgpu {
__attribute__((weak)) void closeImport(CUdeviceptr) {}
}  // namespace divvy::simgpu
