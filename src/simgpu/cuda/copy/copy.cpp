#include "cuda/copy/copy.h"

#include <algorithm>
#include <cstring>

#include "cuda/engine/engine_executor.h"
#include "cuda/memory/memory.h"
#include "cuda/memory/memory_window.h"

namespace divvy::simgpu {
namespace {

// Where a side's bytes are. Both sides are looked up for the whole span: gaps between rows belong
// to the same allocation.
CUresult locate(Context& context, const CopyEnd& end, std::size_t span, Access access,
                std::byte** host) {
  if (end.space == CopySpace::kHost) {
    *host = reinterpret_cast<std::byte*>(end.address);
    return CUDA_SUCCESS;
  }
  Context* in = end.context == nullptr ? &context : findContext(end.context);
  if (in == nullptr) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
  return translate(*in, end.address, span, access, host, true);
}

CUresult checkEnd(Context& context, const CopyEnd& end, std::size_t span, Access access) {
  if (end.space == CopySpace::kHost) {
    return end.address == 0 ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
  }
  Context* in = end.context == nullptr ? &context : findContext(end.context);
  if (in == nullptr) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
  return checkAccess(*in, end.address, span, access, true);
}

Device* deviceOf(const CopyEnd& end) {
  if (end.array_device != nullptr) return end.array_device;
  return end.space == CopySpace::kHost ? nullptr : describePointer(end.address).device;
}

bool onDevice(const CopyEnd& end) {
  if (end.space == CopySpace::kHost) return false;
  if (end.array_device != nullptr) return true;
  return describePointer(end.address).kind != PointerKind::kPinnedHost;
}

}  // namespace

CopyPlan linearCopy(CopyEnd to, CopyEnd from, std::size_t bytes) {
  CopyPlan plan;
  plan.to = to;
  plan.from = from;
  plan.width = bytes;
  return plan;
}

CopyEnd hostEnd(const void* address) {
  CopyEnd end;
  end.space = CopySpace::kHost;
  end.address = reinterpret_cast<std::uintptr_t>(address);
  return end;
}

CopyEnd deviceEnd(CUdeviceptr address, CUcontext context) {
  CopyEnd end;
  end.address = address;
  end.context = context;
  return end;
}

CUresult unifiedEnd(CUdeviceptr address, CopyEnd* out) {
  if (describePointer(address).kind != PointerKind::kUnknown) {
    *out = deviceEnd(address);
    return CUDA_SUCCESS;
  }
  // Freed or never allocated device memory; anything else may be ordinary memory of the program.
  if (address == 0 || Window::get().contains(address)) return CUDA_ERROR_INVALID_VALUE;
  *out = hostEnd(reinterpret_cast<const void*>(address));
  return CUDA_SUCCESS;
}

CUresult checkCopy(Context& context, const CopyPlan& plan) {
  if (plan.bytes() == 0) return CUDA_SUCCESS;
  CUresult found = checkEnd(context, plan.from, plan.span(plan.from), Access::kRead);
  if (found == CUDA_SUCCESS) {
    found = checkEnd(context, plan.to, plan.span(plan.to), Access::kWrite);
  }
  return found == CUDA_ERROR_ILLEGAL_ADDRESS ? CUDA_ERROR_INVALID_VALUE : found;
}

bool isPageable(const CopyEnd& end) {
  return end.space == CopySpace::kHost &&
         describePointer(end.address).kind == PointerKind::kUnknown;
}

void stageSource(CopyPlan* plan) {
  plan->staged = std::make_shared<std::vector<std::byte>>(plan->bytes());
  std::byte* to = plan->staged->data();
  for (std::size_t z = 0; z < plan->depth; ++z) {
    for (std::size_t y = 0; y < plan->height; ++y, to += plan->width) {
      const std::uintptr_t row = plan->from.address + z * plan->from.slice + y * plan->from.pitch;
      std::memcpy(to, reinterpret_cast<const std::byte*>(row), plan->width);
    }
  }
  plan->from = hostEnd(plan->staged->data());
  plan->from.pitch = plan->width;
  plan->from.slice = plan->width * plan->height;
}

CUresult runCopy(Context& context, const CopyPlan& plan) {
  if (plan.bytes() == 0) return CUDA_SUCCESS;
  std::byte* to = nullptr;
  std::byte* from = nullptr;
  CUresult found = locate(context, plan.from, plan.span(plan.from), Access::kRead, &from);
  if (found != CUDA_SUCCESS) return found;
  const Access writing =
      plan.span(plan.to) == plan.bytes() ? Access::kOverwrite : Access::kWrite;  // no gaps
  found = locate(context, plan.to, plan.span(plan.to), writing, &to);
  if (found != CUDA_SUCCESS) return found;
  for (std::size_t z = 0; z < plan.depth; ++z) {
    for (std::size_t y = 0; y < plan.height; ++y) {
      std::memmove(to + z * plan.to.slice + y * plan.to.pitch,
                   from + z * plan.from.slice + y * plan.from.pitch, plan.width);
    }
  }
  return CUDA_SUCCESS;
}

OpSpec copySpec(ExecContext& exec, const CopyPlan& plan) {
  const CostModel& costs = exec.device.costs;
  OpSpec spec;
  spec.bytes = plan.bytes();
  const bool from_card = onDevice(plan.from);
  const bool to_card = onDevice(plan.to);
  if (from_card && to_card) {
    const bool peers = deviceOf(plan.from) != deviceOf(plan.to);
    spec.engine = peers ? Engine::kCopyOut : Engine::kCompute;
    spec.kind = IntervalKind::kCopyDevice;
    spec.cost = peers ? costs.peerCopy(spec.bytes) : costs.deviceCopy(spec.bytes);
    return spec;
  }
  spec.engine = from_card ? Engine::kCopyOut : Engine::kCopyIn;
  spec.kind = from_card ? IntervalKind::kCopyOut : IntervalKind::kCopyIn;
  spec.cost = costs.hostCopy(spec.bytes);
  return spec;
}

CUresult checkMemset(Context& context, const MemsetPlan& plan) {
  if (plan.bytes() == 0) return CUDA_SUCCESS;
  if (plan.address % plan.element != 0 || plan.pitch % plan.element != 0 ||
      (plan.height > 1 && plan.pitch < plan.width * plan.element)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const CUresult found = checkAccess(context, plan.address, plan.span(), Access::kWrite, true);
  return found == CUDA_ERROR_ILLEGAL_ADDRESS ? CUDA_ERROR_INVALID_VALUE : found;
}

CUresult runMemset(Context& context, const MemsetPlan& plan) {
  if (plan.bytes() == 0) return CUDA_SUCCESS;
  std::byte* host = nullptr;
  const Access writing = plan.span() == plan.bytes() ? Access::kOverwrite : Access::kWrite;
  const CUresult found = translate(context, plan.address, plan.span(), writing, &host, true);
  if (found != CUDA_SUCCESS) return found;
  for (std::size_t y = 0; y < plan.height; ++y, host += plan.pitch) {
    switch (plan.element) {
      case 1:
        std::memset(host, static_cast<int>(plan.value), plan.width);
        break;
      case 2:
        std::fill_n(reinterpret_cast<std::uint16_t*>(host), plan.width,
                    static_cast<std::uint16_t>(plan.value));
        break;
      default:
        std::fill_n(reinterpret_cast<std::uint32_t*>(host), plan.width, plan.value);
    }
  }
  return CUDA_SUCCESS;
}

OpSpec memsetSpec(ExecContext& exec, const MemsetPlan& plan) {
  OpSpec spec;
  spec.engine = Engine::kCompute;
  spec.kind = IntervalKind::kMemset;
  spec.bytes = plan.bytes();
  spec.cost = exec.device.costs.memset(spec.bytes);
  return spec;
}

}  // namespace divvy::simgpu
