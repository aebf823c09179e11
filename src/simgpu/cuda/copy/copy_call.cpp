#include "cuda/copy/copy_call.h"

#include "cuda/graph/capture.h"
#include "cuda/stream/stream.h"
#include "cuda/stream/stream_op.h"

namespace divvy::simgpu {
namespace {

// Up to this size the driver copies pageable memory aside and returns.
constexpr std::size_t kStagedBytes = 64 << 10;

// Enqueues the copy and waits for it.
CUresult copyAndWait(Stream& stream, const CopyPlan& plan) {
  std::vector<Work> works;
  const CUresult made = worksOf(stream.exec, plan, &works);
  if (made != CUDA_SUCCESS) return made;
  works.front().awaited = true;
  return waitFor(stream.exec, enqueue(stream, std::move(works.front())));
}

}  // namespace

CUresult copyNow(Cu id, bool per_thread, const Planner& planner) {
  return withContext(id, [&](Context& context) -> CUresult {
    CopyPlan plan;
    CUresult result = planner(&plan);
    if (result != CUDA_SUCCESS) return result;
    Stream* stream = nullptr;
    result = findStream(context, {nullptr, per_thread}, &stream);
    if (result == CUDA_SUCCESS) result = refuseCapturing(*stream);
    if (result == CUDA_SUCCESS) result = checkUnsafe();
    if (result == CUDA_SUCCESS) result = checkCopy(context, plan);
    if (result != CUDA_SUCCESS || plan.bytes() == 0) return result;
    const bool on_card =
        plan.to.space == CopySpace::kDevice && plan.from.space == CopySpace::kDevice;
    return on_card ? submit(*stream, plan) : copyAndWait(*stream, plan);
  });
}

CUresult copyLaterIn(Context& context, StreamArgument argument, CopyPlan plan) {
  Stream* stream = nullptr;
  CUresult result = findStream(context, argument, &stream);
  if (result != CUDA_SUCCESS) return result;
  std::shared_ptr<Capture> capture;
  result = beginOperation(*stream, &capture);
  if (result != CUDA_SUCCESS) return result;
  if (plan.bytes() == 0) return CUDA_SUCCESS;
  if (capture != nullptr) return captureOperation(*stream, *capture, std::move(plan));
  result = checkCopy(stream->exec.context, plan);
  if (result != CUDA_SUCCESS) return result;
  if (isPageable(plan.from) && plan.bytes() <= kStagedBytes) stageSource(&plan);
  const bool reads_late = plan.staged == nullptr && isPageable(plan.from);
  if (isPageable(plan.to) || reads_late) return copyAndWait(*stream, plan);
  return submit(*stream, std::move(plan));
}

CUresult copyLater(Cu id, StreamArgument stream, const Planner& planner) {
  return withContext(id, [&](Context& context) -> CUresult {
    CopyPlan plan;
    const CUresult planned = planner(&plan);
    return planned != CUDA_SUCCESS ? planned : copyLaterIn(context, stream, std::move(plan));
  });
}

CUresult setMemory(Cu id, StreamArgument argument, const MemsetPlan& plan) {
  return withContext(id, [&](Context& context) -> CUresult {
    Stream* stream = nullptr;
    CUresult result = findStream(context, argument, &stream);
    std::shared_ptr<Capture> capture;
    if (result == CUDA_SUCCESS) result = beginOperation(*stream, &capture);
    if (result == CUDA_SUCCESS && capture == nullptr) {
      result = checkMemset(stream->exec.context, plan);
    }
    if (result != CUDA_SUCCESS || plan.bytes() == 0) return result;
    return submit(*stream, plan);
  });
}

}  // namespace divvy::simgpu
