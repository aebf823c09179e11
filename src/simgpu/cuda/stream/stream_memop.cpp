// Waits for and writes of memory words in streams.
#include <atomic>

#include "cuda/memory/memory.h"
#include "cuda/stream/stream_op.h"

namespace divvy::simgpu {
namespace {

constexpr unsigned kConditionBits = 0x3;

bool isWide(CUstreamBatchMemOpType type) {
  return type == CU_STREAM_MEM_OP_WAIT_VALUE_64 || type == CU_STREAM_MEM_OP_WRITE_VALUE_64;
}

bool isWait(CUstreamBatchMemOpType type) {
  return type == CU_STREAM_MEM_OP_WAIT_VALUE_32 || type == CU_STREAM_MEM_OP_WAIT_VALUE_64;
}

bool isWrite(CUstreamBatchMemOpType type) {
  return type == CU_STREAM_MEM_OP_WRITE_VALUE_32 || type == CU_STREAM_MEM_OP_WRITE_VALUE_64;
}

template <typename T, typename Signed>
bool holds(T seen, T value, unsigned flags) {
  switch (flags & kConditionBits) {
    case CU_STREAM_WAIT_VALUE_EQ:
      return seen == value;
    case CU_STREAM_WAIT_VALUE_AND:
      return (seen & value) != 0;
    case CU_STREAM_WAIT_VALUE_NOR:
      return static_cast<T>(~(seen | value)) != 0;
    default:
      return static_cast<Signed>(seen - value) >= 0;  // GEQ, cyclic
  }
}

template <typename T>
CUresult word(Context& context, CUdeviceptr address, Access access, T** out) {
  std::byte* host = nullptr;
  const CUresult found = translate(context, address, sizeof(T), access, &host, true);
  *out = reinterpret_cast<T*>(host);
  return found;
}

template <typename T, typename Signed>
Polled pollWait(Context& context, const CUstreamMemOpValueParams& op, T value) {
  T* at = nullptr;
  if (word(context, op.address, Access::kRead, &at) != CUDA_SUCCESS) return Polled::kFault;
  const T seen = std::atomic_ref(*at).load(std::memory_order_acquire);
  return holds<T, Signed>(seen, value, op.flags) ? Polled::kOver : Polled::kNotYet;
}

template <typename T>
CUresult runWrite(Context& context, CUdeviceptr address, T value) {
  T* at = nullptr;
  const CUresult found = word(context, address, Access::kWrite, &at);
  if (found == CUDA_SUCCESS) std::atomic_ref(*at).store(value, std::memory_order_release);
  return found;
}

template <typename T>
CUresult runReduction(Context& context, const CUstreamMemOpReductionParams& op) {
  T* at = nullptr;
  const CUresult found = word(context, op.address, Access::kReadWrite, &at);
  if (found != CUDA_SUCCESS) return found;
  const auto value = static_cast<T>(op.value);
  std::atomic_ref target(*at);
  switch (op.reductionOp) {
    case CU_STREAM_ATOMIC_REDUCTION_OP_OR:
      target.fetch_or(value);
      break;
    case CU_STREAM_ATOMIC_REDUCTION_OP_AND:
      target.fetch_and(value);
      break;
    default:
      target.fetch_add(value);
  }
  return CUDA_SUCCESS;
}

}  // namespace

CUresult checkMemOp(Context& context, const CUstreamBatchMemOpParams& operation) {
  const auto type = operation.operation;
  if (type == CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES || type == CU_STREAM_MEM_OP_BARRIER) {
    return CUDA_SUCCESS;
  }
  const bool reduces = type == CU_STREAM_MEM_OP_ATOMIC_REDUCTION;
  if (!isWait(type) && !isWrite(type) && !reduces) return CUDA_ERROR_INVALID_VALUE;
  const bool wide =
      reduces ? operation.atomicReduction.dataType != CU_STREAM_ATOMIC_REDUCTION_UNSIGNED_32
              : isWide(type);
  const CUdeviceptr address =
      reduces ? operation.atomicReduction.address : operation.waitValue.address;
  const std::size_t bytes = wide ? 8 : 4;
  if (address % bytes != 0) return CUDA_ERROR_INVALID_VALUE;
  std::byte* host = nullptr;
  const Access access = isWait(type) ? Access::kRead : Access::kWrite;
  const CUresult found = translate(context, address, bytes, access, &host, true);
  return found == CUDA_ERROR_ILLEGAL_ADDRESS ? CUDA_ERROR_INVALID_VALUE : found;
}

Work workOfMemOp(Context& context, const CUstreamBatchMemOpParams& operation) {
  Work work;
  const auto type = operation.operation;
  if (isWait(type)) {
    work.task.poll = [&context, op = operation.waitValue, wide = isWide(type)] {
      return wide ? pollWait<std::uint64_t, std::int64_t>(context, op, op.value64)
                  : pollWait<std::uint32_t, std::int32_t>(context, op, op.value);
    };
  } else if (isWrite(type)) {
    work.task.effect = [&context, op = operation.writeValue, wide = isWide(type)] {
      return wide ? runWrite<std::uint64_t>(context, op.address, op.value64)
                  : runWrite<std::uint32_t>(context, op.address, op.value);
    };
  } else if (type == CU_STREAM_MEM_OP_ATOMIC_REDUCTION) {
    work.task.effect = [&context, op = operation.atomicReduction] {
      return op.dataType == CU_STREAM_ATOMIC_REDUCTION_UNSIGNED_32
                 ? runReduction<std::uint32_t>(context, op)
                 : runReduction<std::uint64_t>(context, op);
    };
  }
  return work;
}

}  // namespace divvy::simgpu
