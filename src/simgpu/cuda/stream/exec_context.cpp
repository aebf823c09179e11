// The interface of the execution half for the memory half.
#include "cuda/context/exec.h"
#include "cuda/context/faults.h"
#include "cuda/engine/channel_group.h"
#include "cuda/engine/engine_executor.h"
#include "cuda/graph/capture.h"
#include "cuda/kernel/module.h"
#include "cuda/stream/event.h"
#include "cuda/stream/stream.h"
#include "cuda/stream/stream_op.h"

namespace divvy::simgpu {

ExecContext::ExecContext(Context& c, ExecDevice& d, std::uint32_t l)
    : context(c), device(d), lane(l), payloads(kOpsPerLane) {
  legacy = std::make_unique<Stream>(*this, StreamKind::kLegacy, 0, kMinUrgent);
}

ExecContext::~ExecContext() = default;

namespace exec {

CUresult contextMade(Context& context) {
  Executor& executor = Executor::get();
  ExecDevice* device = executor.device(context.device());
  if (device == nullptr) return CUDA_ERROR_OPERATING_SYSTEM;
  const std::uint32_t lane = device->engine.addLane();
  if (lane == kNoLane) return CUDA_ERROR_OUT_OF_MEMORY;
  context.exec = new ExecContext(context, *device, lane);
  executor.add(*context.exec);
  announceChannelGroup(*context.exec);
  return CUDA_SUCCESS;
}

namespace {

void dropObjects(ExecContext& exec) {
  for (Stream* stream : std::set<Stream*>(exec.created)) {
    dropStream(*stream);
    StreamHandles::get().remove(stream);
    delete stream;
  }
  for (const auto& [thread, stream] : exec.per_thread) dropStream(*stream);
  for (Event* event : std::set<Event*>(exec.events)) {
    EventHandles::get().remove(event);
    delete event;
  }
  unloadModulesOf(exec);
}

}  // namespace

void contextEnding(Context& context) {
  ExecContext* exec = context.exec;
  if (exec == nullptr) return;
  if (context.sticky() == CUDA_SUCCESS) waitForAll(*exec);
  withdrawChannelGroup(*exec);
  Executor::get().remove(*exec);
  dropObjects(*exec);
  context.exec = nullptr;
  delete exec;
}

bool inHostFunction() {
  return Executor::isCalling();
}

void callFromHostThread(std::function<void()> call) {
  Executor::get().callSoon(std::move(call));
}

CUresult synchronizeDevice(Device& device) {
  return Executor::get().waitForDevice(device);
}

void betweenEffects(const std::function<void()>& change) {
  Executor::get().betweenEffects(change);
}

// Kernels take effect at their ends. Memory that is mapped again before that looks unchanged to a
// kernel, so only this function detects it.
void noteUnmap(Device& device, CUdeviceptr address, std::uint64_t bytes) {
  const Faults& faults = Faults::get();
  const std::vector<ExecContext*> disturbed =
      Executor::get().disturbedContexts(device, {address, bytes}, faults.strictUnmapOfAny());
  if (disturbed.empty()) return;
  device.card.file().unmapped_under_work.fetch_add(1, std::memory_order_relaxed);
  if (!faults.strictUnmap()) return;
  for (ExecContext* exec : disturbed) fault(*exec, CUDA_ERROR_ILLEGAL_ADDRESS);
}

bool noteLateTouch(Context& context) {
  context.device().card.file().unmapped_under_work.fetch_add(1, std::memory_order_relaxed);
  return Faults::get().strictUnmap();
}

CUresult checkUnsafeCall(Context&) {
  return checkUnsafe();
}

CUresult resolveStream(Context& current, StreamArgument stream, Context** context,
                       std::uint64_t* identity) {
  Stream* found = nullptr;
  const CUresult known = findStream(current, stream, &found);
  if (known != CUDA_SUCCESS) return known;
  *context = &found->exec.context;
  *identity = found->id;
  return CUDA_SUCCESS;
}

CUresult streamIsCapturing(Context& current, StreamArgument stream, bool* capturing) {
  Stream* found = nullptr;
  CUresult result = findStream(current, stream, &found);
  if (result != CUDA_SUCCESS) return result;
  std::shared_ptr<Capture> capture;
  result = beginOperation(*found, &capture);
  *capturing = capture != nullptr;
  return result;
}

CUresult captureAlloc(Context& current, StreamArgument stream, std::size_t bytes,
                      CUdeviceptr* address) {
  Stream* found = nullptr;
  const CUresult known = findStream(current, stream, &found);
  if (known != CUDA_SUCCESS) return known;
  AllocOp op;
  const CUresult reserved = reserveGraphMemory(found->exec.context.device(), bytes, &op);
  if (reserved != CUDA_SUCCESS) return reserved;
  *address = op.memory->address;
  return submit(*found, std::move(op));
}

CUresult captureFree(Context& current, StreamArgument stream, CUdeviceptr address) {
  Stream* found = nullptr;
  const CUresult known = findStream(current, stream, &found);
  return known != CUDA_SUCCESS ? known : submit(*found, FreeOp{address});
}

CUresult enqueueAction(Context& current, StreamArgument stream, std::function<void()> action) {
  Stream* found = nullptr;
  CUresult result = findStream(current, stream, &found);
  if (result != CUDA_SUCCESS) return result;
  std::shared_ptr<Capture> capture;
  result = beginOperation(*found, &capture);
  if (result != CUDA_SUCCESS) return result;
  if (capture != nullptr) return refuseCapturing(*found);
  Work work;
  work.task.effect = [action = std::move(action)] {
    action();
    return CUDA_SUCCESS;
  };
  const OpRef ref = enqueue(*found, std::move(work));
  bool idle = false;
  {
    EngineLock lock(found->exec.device.engine);
    idle = lock.line().ended(ref);
  }
  // In an idle stream the effect is complete when the call returns, as programs observe on real
  // cards.
  if (idle) Executor::get().drain(true);
  return CUDA_SUCCESS;
}

}  // namespace exec
}  // namespace divvy::simgpu
