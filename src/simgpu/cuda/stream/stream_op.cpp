#include "cuda/stream/stream_op.h"

#include "cuda/graph/capture.h"
#include "cuda/memory/memory.h"
#include "cuda/pool/pool_exec.h"
#include "cuda/stream/event.h"
#include "cuda/stream/stream.h"

namespace divvy::simgpu {
namespace {

Work workOf(ExecContext& exec, const KernelOp& op) {
  Work work;
  work.spec.engine = Engine::kCompute;
  work.spec.kind = IntervalKind::kKernel;
  work.spec.cost = op.code->cost(op.call, exec.device.costs);
  work.spec.priority = static_cast<std::int8_t>(op.priority);
  work.own_priority = op.has_priority;
  Context& context = exec.context;
  // Shared by effect and poll, so that parameters are copied once.
  const auto shared = std::make_shared<const KernelOp>(op);
  work.task.uses = op.code->uses(op.call);
  if (op.code->inPieces()) {
    const auto log = work.task.uses.log = std::make_shared<TouchLog>();
    // Begun by the first poll, on a thread that it may stay on.
    const auto run = std::make_shared<std::unique_ptr<KernelRun>>();
    work.task.poll = [shared, run, log, &context] {
      if (*run == nullptr) *run = shared->code->begin(shared->call, context, log);
      return (*run)->poll();
    };
    work.task.effect = [run] {
      const CUresult result = *run != nullptr ? (*run)->result() : CUDA_SUCCESS;
      run->reset();
      return result;
    };
    return work;
  }
  if (op.code->effective()) {
    work.task.effect = [shared, &context] { return shared->code->run(shared->call, context); };
  }
  if (op.code->waits()) {
    work.task.poll = [shared, &context] { return shared->code->poll(shared->call, context); };
  }
  return work;
}

Work workOf(ExecContext& exec, const CopyPlan& plan) {
  Work work;
  work.spec = copySpec(exec, plan);
  Context& context = exec.context;
  work.task.effect = [plan, &context] { return runCopy(context, plan); };
  work.task.uses.known = true;
  work.task.uses.spans = {
      {{plan.to.address, plan.span(plan.to)}, {plan.from.address, plan.span(plan.from)}}};
  return work;
}

Work workOf(ExecContext& exec, const MemsetPlan& plan) {
  Work work;
  work.spec = memsetSpec(exec, plan);
  Context& context = exec.context;
  work.task.effect = [plan, &context] { return runMemset(context, plan); };
  work.task.uses.known = true;
  work.task.uses.spans = {{{plan.address, plan.span()}}};
  return work;
}

Work workOf(const HostOp& op) {
  Work work;
  work.task.host = [op](CUresult state) {
    if (state == CUDA_SUCCESS) op.function(op.data);
  };
  return work;
}

Work workOf(const AllocOp& op) {
  Work work;
  work.task.effect = [memory = op.memory] {
    graphOpen(memory->address);
    return CUDA_SUCCESS;
  };
  return work;
}

Work workOf(const FreeOp& op) {
  Work work;
  work.task.effect = [address = op.address] {
    graphClose(address);
    return CUDA_SUCCESS;
  };
  return work;
}

CUresult eventWork(ExecContext& exec, CUevent handle, bool record, Work* work) {
  Event* event = nullptr;
  const CUresult known = findEvent(handle, &event);
  if (known != CUDA_SUCCESS) return known;
  *work = record ? recordWork(*event) : waitWork(exec, *event);
  return CUDA_SUCCESS;
}

}  // namespace

GraphMemory::~GraphMemory() {
  graphRelease(address);
}

CUresult reserveGraphMemory(Device& device, std::size_t bytes, AllocOp* out) {
  CUdeviceptr address = 0;
  const CUresult reserved = graphReserve(device, bytes, &address);
  if (reserved == CUDA_SUCCESS) out->memory = std::make_shared<GraphMemory>(address, bytes);
  return reserved;
}

CUresult worksOf(ExecContext& exec, const Operation& operation, std::vector<Work>* out) {
  if (const auto* ops = std::get_if<MemOpsOp>(&operation)) {
    for (const auto& op : ops->list) out->push_back(workOfMemOp(exec.context, op));
    if (out->empty()) out->emplace_back();
    return CUDA_SUCCESS;
  }
  Work& work = out->emplace_back();
  if (const auto* kernel = std::get_if<KernelOp>(&operation)) work = workOf(exec, *kernel);
  if (const auto* copy = std::get_if<CopyPlan>(&operation)) work = workOf(exec, *copy);
  if (const auto* set = std::get_if<MemsetPlan>(&operation)) work = workOf(exec, *set);
  if (const auto* host = std::get_if<HostOp>(&operation)) work = workOf(*host);
  if (const auto* alloc = std::get_if<AllocOp>(&operation)) work = workOf(*alloc);
  if (const auto* free = std::get_if<FreeOp>(&operation)) work = workOf(*free);
  if (const auto* record = std::get_if<EventRecordOp>(&operation)) {
    return eventWork(exec, record->event, true, &work);
  }
  if (const auto* wait = std::get_if<EventWaitOp>(&operation)) {
    return eventWork(exec, wait->event, false, &work);
  }
  return CUDA_SUCCESS;
}

CUresult submit(Stream& stream, Operation operation) {
  std::shared_ptr<Capture> capture;
  const CUresult allowed = beginOperation(stream, &capture);
  if (allowed != CUDA_SUCCESS) return allowed;
  if (capture != nullptr) return captureOperation(stream, *capture, std::move(operation));
  std::vector<Work> works;
  const CUresult made = worksOf(stream.exec, operation, &works);
  if (made != CUDA_SUCCESS) return made;
  for (Work& work : works) enqueue(stream, std::move(work));
  return CUDA_SUCCESS;
}

}  // namespace divvy::simgpu
