#include "cuda/kernel/launch.h"

#include <algorithm>

namespace divvy::simgpu {
namespace {

constexpr unsigned kMaxGridX = 0x7fffffff;
constexpr unsigned kMaxGridYZ = 65535;
constexpr unsigned kMaxBlockZ = 64;
constexpr int kWarp = 32;
constexpr int kRegistersPerMultiprocessor = 65536;
// for each block; kept by the system since compute capability 8.0
constexpr int kReservedShared = 1024;

CUresult checkShape(const Profile& profile, const Function& function, const LaunchShape& shape) {
  const Dim3& grid = shape.grid;
  const Dim3& block = shape.block;
  if (grid.count() == 0 || block.count() == 0 || grid.x > kMaxGridX || grid.y > kMaxGridYZ ||
      grid.z > kMaxGridYZ || block.z > kMaxBlockZ) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (block.x > 1024 || block.y > 1024 ||
      block.count() > static_cast<unsigned>(function.code->max_threads)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const int allowed = std::min(function.settings.max_dynamic_shared, profile.shared_per_block);
  const auto asked = static_cast<std::uint64_t>(shape.shared_bytes) +
                     static_cast<std::uint64_t>(function.code->static_shared_bytes);
  return asked > static_cast<std::uint64_t>(allowed) ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

// The packed form: pairs of key and pointer up to an end mark.
CUresult unpackExtra(void** extra, std::vector<std::byte>* out) {
  const void* buffer = nullptr;
  const std::size_t* size = nullptr;
  for (; reinterpret_cast<std::uintptr_t>(*extra) != kLaunchParamEnd; extra += 2) {
    const auto key = reinterpret_cast<std::uintptr_t>(*extra);
    if (key == kLaunchParamBufferPointer) {
      buffer = extra[1];
    } else if (key == kLaunchParamBufferSize) {
      size = static_cast<const std::size_t*>(extra[1]);
    } else {
      return CUDA_ERROR_INVALID_VALUE;
    }
  }
  if (buffer == nullptr || size == nullptr || *size < out->size()) return CUDA_ERROR_INVALID_VALUE;
  std::memcpy(out->data(), buffer, out->size());
  return CUDA_SUCCESS;
}

CUresult copyParams(const KernelCode& code, void** params, void** extra,
                    std::vector<std::byte>* out) {
  out->assign(code.paramBytes(), std::byte{0});
  if (params != nullptr && extra != nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (extra != nullptr) return unpackExtra(extra, out);
  if (params == nullptr) return code.params.empty() ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  for (std::size_t i = 0; i < code.params.size(); ++i) {
    if (params[i] == nullptr) return CUDA_ERROR_INVALID_VALUE;
    std::memcpy(out->data() + code.params[i].offset, params[i], code.params[i].size);
  }
  return CUDA_SUCCESS;
}

}  // namespace

CUresult makeKernelOp(ExecContext& exec, CUfunction handle, const LaunchShape& shape, void** params,
                      void** extra, KernelOp* out) {
  Function* function = nullptr;
  CUresult result = findFunction(exec, handle, &function);
  if (result != CUDA_SUCCESS) return result;
  if (&function->module->exec != &exec) return CUDA_ERROR_INVALID_HANDLE;
  result = checkShape(*exec.context.device().profile, *function, shape);
  if (result != CUDA_SUCCESS) return result;
  out->function = handle;
  out->image = function->module->image;
  out->code = function->code;
  out->call.shape = shape;
  out->call.globals = function->module->globals;
  return copyParams(*function->code, params, extra, &out->call.params);
}

int blocksPerMultiprocessor(const Profile& profile, const KernelCode& code, int threads,
                            std::size_t dynamic_shared) {
  if (threads <= 0 || threads > code.max_threads) return 0;
  const int padded = (threads + kWarp - 1) / kWarp * kWarp;
  const std::size_t shared = dynamic_shared + static_cast<std::size_t>(code.static_shared_bytes);
  if (shared > static_cast<std::size_t>(profile.shared_per_block)) return 0;
  const int by_threads = profile.threads_per_sm / padded;
  const int by_registers = kRegistersPerMultiprocessor / (code.registers * padded);
  const int by_shared = profile.shared_per_sm / (static_cast<int>(shared) + kReservedShared);
  return std::min({by_threads, by_registers, by_shared, profile.blocks_per_sm});
}

CUresult checkCooperative(ExecContext& exec, const KernelOp& op) {
  const Profile& profile = *exec.context.device().profile;
  const int blocks = blocksPerMultiprocessor(
      profile, *op.code, static_cast<int>(op.call.shape.block.count()), op.call.shape.shared_bytes);
  const auto room =
      static_cast<std::uint64_t>(blocks) * static_cast<std::uint64_t>(exec.context.sm_count);
  return op.call.shape.grid.count() > room ? CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE : CUDA_SUCCESS;
}

}  // namespace divvy::simgpu
