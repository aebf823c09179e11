// Entry points that wait for or write memory words in streams.
#include "cuda/context/api_prologue.h"
#include "cuda/stream/stream.h"
#include "cuda/stream/stream_op.h"

namespace divvy::simgpu {
namespace {

constexpr unsigned kMaxBatch = 256;

CUresult batch(Cu id, StreamArgument argument, const CUstreamBatchMemOpParams* list, unsigned count,
               unsigned flags) {
  return withContext(id, [&](Context& context) -> CUresult {
    if (list == nullptr || count == 0 || count > kMaxBatch || flags != 0) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    Stream* stream = nullptr;
    CUresult result = findStream(context, argument, &stream);
    for (unsigned i = 0; i < count && result == CUDA_SUCCESS; ++i) {
      result = checkMemOp(stream->exec.context, list[i]);
    }
    if (result != CUDA_SUCCESS) return result;
    return submit(*stream, MemOpsOp{{list, list + count}, flags});
  });
}

CUresult one(Cu id, StreamArgument stream, CUstreamBatchMemOpType type, CUdeviceptr address,
             std::uint64_t value, unsigned flags) {
  CUstreamBatchMemOpParams op{};
  op.waitValue.operation = type;
  op.waitValue.address = address;
  op.waitValue.value64 = value;
  op.waitValue.flags = flags;
  return batch(id, stream, &op, 1, 0);
}

}  // namespace

SIMGPU_IMPL(cuStreamWaitValue32)
(CUstream s, CUdeviceptr p, cuuint32_t value, unsigned flags) {
  return one(Cu::cuStreamWaitValue32, {s, false}, CU_STREAM_MEM_OP_WAIT_VALUE_32, p, value, flags);
}
SIMGPU_IMPL(cuStreamWaitValue32_ptsz)
(CUstream s, CUdeviceptr p, cuuint32_t value, unsigned flags) {
  return one(Cu::cuStreamWaitValue32_ptsz, {s, true}, CU_STREAM_MEM_OP_WAIT_VALUE_32, p, value,
             flags);
}
SIMGPU_IMPL(cuStreamWaitValue32_v2)
(CUstream s, CUdeviceptr p, cuuint32_t value, unsigned flags) {
  return one(Cu::cuStreamWaitValue32_v2, {s, false}, CU_STREAM_MEM_OP_WAIT_VALUE_32, p, value,
             flags);
}
SIMGPU_IMPL(cuStreamWaitValue32_v2_ptsz)
(CUstream s, CUdeviceptr p, cuuint32_t value, unsigned flags) {
  return one(Cu::cuStreamWaitValue32_v2_ptsz, {s, true}, CU_STREAM_MEM_OP_WAIT_VALUE_32, p, value,
             flags);
}
SIMGPU_IMPL(cuStreamWaitValue64)
(CUstream s, CUdeviceptr p, cuuint64_t value, unsigned flags) {
  return one(Cu::cuStreamWaitValue64, {s, false}, CU_STREAM_MEM_OP_WAIT_VALUE_64, p, value, flags);
}
SIMGPU_IMPL(cuStreamWaitValue64_ptsz)
(CUstream s, CUdeviceptr p, cuuint64_t value, unsigned flags) {
  return one(Cu::cuStreamWaitValue64_ptsz, {s, true}, CU_STREAM_MEM_OP_WAIT_VALUE_64, p, value,
             flags);
}
SIMGPU_IMPL(cuStreamWaitValue64_v2)
(CUstream s, CUdeviceptr p, cuuint64_t value, unsigned flags) {
  return one(Cu::cuStreamWaitValue64_v2, {s, false}, CU_STREAM_MEM_OP_WAIT_VALUE_64, p, value,
             flags);
}
SIMGPU_IMPL(cuStreamWaitValue64_v2_ptsz)
(CUstream s, CUdeviceptr p, cuuint64_t value, unsigned flags) {
  return one(Cu::cuStreamWaitValue64_v2_ptsz, {s, true}, CU_STREAM_MEM_OP_WAIT_VALUE_64, p, value,
             flags);
}
SIMGPU_IMPL(cuStreamWriteValue32)
(CUstream s, CUdeviceptr p, cuuint32_t value, unsigned flags) {
  return one(Cu::cuStreamWriteValue32, {s, false}, CU_STREAM_MEM_OP_WRITE_VALUE_32, p, value,
             flags);
}
SIMGPU_IMPL(cuStreamWriteValue32_ptsz)
(CUstream s, CUdeviceptr p, cuuint32_t value, unsigned flags) {
  return one(Cu::cuStreamWriteValue32_ptsz, {s, true}, CU_STREAM_MEM_OP_WRITE_VALUE_32, p, value,
             flags);
}
SIMGPU_IMPL(cuStreamWriteValue32_v2)
(CUstream s, CUdeviceptr p, cuuint32_t value, unsigned flags) {
  return one(Cu::cuStreamWriteValue32_v2, {s, false}, CU_STREAM_MEM_OP_WRITE_VALUE_32, p, value,
             flags);
}
SIMGPU_IMPL(cuStreamWriteValue32_v2_ptsz)
(CUstream s, CUdeviceptr p, cuuint32_t value, unsigned flags) {
  return one(Cu::cuStreamWriteValue32_v2_ptsz, {s, true}, CU_STREAM_MEM_OP_WRITE_VALUE_32, p, value,
             flags);
}
SIMGPU_IMPL(cuStreamWriteValue64)
(CUstream s, CUdeviceptr p, cuuint64_t value, unsigned flags) {
  return one(Cu::cuStreamWriteValue64, {s, false}, CU_STREAM_MEM_OP_WRITE_VALUE_64, p, value,
             flags);
}
SIMGPU_IMPL(cuStreamWriteValue64_ptsz)
(CUstream s, CUdeviceptr p, cuuint64_t value, unsigned flags) {
  return one(Cu::cuStreamWriteValue64_ptsz, {s, true}, CU_STREAM_MEM_OP_WRITE_VALUE_64, p, value,
             flags);
}
SIMGPU_IMPL(cuStreamWriteValue64_v2)
(CUstream s, CUdeviceptr p, cuuint64_t value, unsigned flags) {
  return one(Cu::cuStreamWriteValue64_v2, {s, false}, CU_STREAM_MEM_OP_WRITE_VALUE_64, p, value,
             flags);
}
SIMGPU_IMPL(cuStreamWriteValue64_v2_ptsz)
(CUstream s, CUdeviceptr p, cuuint64_t value, unsigned flags) {
  return one(Cu::cuStreamWriteValue64_v2_ptsz, {s, true}, CU_STREAM_MEM_OP_WRITE_VALUE_64, p, value,
             flags);
}
SIMGPU_IMPL(cuStreamBatchMemOp)
(CUstream s, unsigned count, CUstreamBatchMemOpParams* list, unsigned flags) {
  return batch(Cu::cuStreamBatchMemOp, {s, false}, list, count, flags);
}
SIMGPU_IMPL(cuStreamBatchMemOp_ptsz)
(CUstream s, unsigned count, CUstreamBatchMemOpParams* list, unsigned flags) {
  return batch(Cu::cuStreamBatchMemOp_ptsz, {s, true}, list, count, flags);
}
SIMGPU_IMPL(cuStreamBatchMemOp_v2)
(CUstream s, unsigned count, CUstreamBatchMemOpParams* list, unsigned flags) {
  return batch(Cu::cuStreamBatchMemOp_v2, {s, false}, list, count, flags);
}
SIMGPU_IMPL(cuStreamBatchMemOp_v2_ptsz)
(CUstream s, unsigned count, CUstreamBatchMemOpParams* list, unsigned flags) {
  return batch(Cu::cuStreamBatchMemOp_v2_ptsz, {s, true}, list, count, flags);
}

}  // namespace divvy::simgpu
