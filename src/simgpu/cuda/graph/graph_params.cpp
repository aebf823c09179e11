#include "cuda/graph/graph_params.h"

#include "cuda/kernel/launch.h"
#include "cuda/memory/memory.h"
#include "cuda/stream/event.h"

namespace divvy::simgpu {
namespace {

// A named context, or the current one.
CUresult contextFor(CUcontext named, Context** out) {
  *out = named != nullptr ? findContext(named) : currentContext();
  if (*out == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  return (*out)->sticky();
}

CUresult kernelSpec(CUfunction function, CUcontext context, const LaunchShape& shape, void** params,
                    void** extra, NodeSpec* out) {
  Context* in = nullptr;
  const Function* known = FunctionHandles::get().find(function);
  if (known != nullptr) context = known->module->exec.context.handle();
  CUresult result = contextFor(context, &in);
  if (result != CUDA_SUCCESS) return result;
  KernelOp op;
  result = makeKernelOp(execOf(*in), function, shape, params, extra, &op);
  if (result != CUDA_SUCCESS) return result;
  *out = {CU_GRAPH_NODE_TYPE_KERNEL, std::move(op), in->handle(), nullptr};
  return CUDA_SUCCESS;
}

template <typename Params>
LaunchShape shapeOf(const Params& p) {
  return {{p.gridDimX, p.gridDimY, p.gridDimZ},
          {p.blockDimX, p.blockDimY, p.blockDimZ},
          p.sharedMemBytes};
}

CUDA_MEMCPY3D describe(const CopyPlan& plan) {
  CUDA_MEMCPY3D copy{};
  copy.srcMemoryType =
      plan.from.space == CopySpace::kHost ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
  copy.srcHost = reinterpret_cast<const void*>(plan.from.address);
  copy.srcDevice = plan.from.address;
  copy.srcPitch = plan.from.pitch != 0 ? plan.from.pitch : plan.width;
  copy.srcHeight = plan.height;
  copy.dstMemoryType =
      plan.to.space == CopySpace::kHost ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
  copy.dstHost = reinterpret_cast<void*>(plan.to.address);
  copy.dstDevice = plan.to.address;
  copy.dstPitch = plan.to.pitch != 0 ? plan.to.pitch : plan.width;
  copy.dstHeight = plan.height;
  copy.WidthInBytes = plan.width;
  copy.Height = plan.height;
  copy.Depth = plan.depth;
  return copy;
}

}  // namespace

CUresult specOf(const CUDA_KERNEL_NODE_PARAMS_v1* p, NodeSpec* out) {
  if (p == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return kernelSpec(p->func, nullptr, shapeOf(*p), p->kernelParams, p->extra, out);
}

CUresult specOf(const CUDA_KERNEL_NODE_PARAMS* p, NodeSpec* out) {
  if (p == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const auto kernel = reinterpret_cast<CUfunction>(p->kern);
  return kernelSpec(p->func != nullptr ? p->func : kernel, p->ctx, shapeOf(*p), p->kernelParams,
                    p->extra, out);
}

CUresult specOf(const CUDA_MEMCPY3D* p, CUcontext context, NodeSpec* out) {
  if (p == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Context* in = nullptr;
  CUresult result = contextFor(context, &in);
  CopyPlan plan;
  if (result == CUDA_SUCCESS) result = planCopy3D(*p, &plan);
  if (result != CUDA_SUCCESS) return result;
  *out = {CU_GRAPH_NODE_TYPE_MEMCPY, std::move(plan), in->handle(),
          std::make_shared<CUDA_MEMCPY3D>(*p)};
  return CUDA_SUCCESS;
}

CUresult specOf(const CUDA_MEMSET_NODE_PARAMS* p, CUcontext context, NodeSpec* out) {
  if (p == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Context* in = nullptr;
  const CUresult result = contextFor(context, &in);
  if (result != CUDA_SUCCESS) return result;
  const bool sized = p->elementSize == 1 || p->elementSize == 2 || p->elementSize == 4;
  if (!sized || p->width == 0 || p->height == 0 || p->dst % p->elementSize != 0 ||
      (p->height > 1 && p->pitch < p->width * p->elementSize)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const MemsetPlan plan{p->dst, p->pitch, p->value, p->elementSize, p->width, p->height};
  *out = {CU_GRAPH_NODE_TYPE_MEMSET, plan, in->handle(), nullptr};
  return CUDA_SUCCESS;
}

CUresult specOf(const CUDA_HOST_NODE_PARAMS* p, NodeSpec* out) {
  if (p == nullptr || p->fn == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *out = {CU_GRAPH_NODE_TYPE_HOST, HostOp{p->fn, p->userData}, nullptr, nullptr};
  return CUDA_SUCCESS;
}

CUresult specOf(const CUDA_BATCH_MEM_OP_NODE_PARAMS* p, NodeSpec* out) {
  if (p == nullptr || p->paramArray == nullptr || p->count == 0) return CUDA_ERROR_INVALID_VALUE;
  Context* in = nullptr;
  CUresult result = contextFor(p->ctx, &in);
  for (unsigned i = 0; i < p->count && result == CUDA_SUCCESS; ++i) {
    result = checkMemOp(*in, p->paramArray[i]);
  }
  if (result != CUDA_SUCCESS) return result;
  *out = {CU_GRAPH_NODE_TYPE_BATCH_MEM_OP,
          MemOpsOp{{p->paramArray, p->paramArray + p->count}, p->flags}, in->handle(), nullptr};
  return CUDA_SUCCESS;
}

CUresult specOfChild(CUgraph child, NodeSpec* out) {
  Graph* graph = GraphHandles::get().find(child);
  if (graph == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (graph->hasMemoryNodes()) return CUDA_ERROR_NOT_SUPPORTED;
  ChildOp op{graph->clone()};
  op.graph->is_child = true;
  *out = {CU_GRAPH_NODE_TYPE_GRAPH, std::move(op), nullptr, nullptr};
  return CUDA_SUCCESS;
}

CUresult specOfEvent(CUevent handle, bool record, NodeSpec* out) {
  Event* event = nullptr;
  const CUresult known = findEvent(handle, &event);
  if (known != CUDA_SUCCESS) return known;
  if (record) {
    *out = {CU_GRAPH_NODE_TYPE_EVENT_RECORD, EventRecordOp{handle}, event->exec.context.handle(),
            nullptr};
  } else {
    *out = {CU_GRAPH_NODE_TYPE_WAIT_EVENT, EventWaitOp{handle}, nullptr, nullptr};
  }
  return CUDA_SUCCESS;
}

CUresult specOf(CUDA_MEM_ALLOC_NODE_PARAMS* p, NodeSpec* out) {
  if (p == nullptr || p->bytesize == 0) return CUDA_ERROR_INVALID_VALUE;
  Device* device = p->poolProps.location.type == CU_MEM_LOCATION_TYPE_DEVICE
                       ? findDevice(p->poolProps.location.id)
                       : nullptr;
  if (device == nullptr) return CUDA_ERROR_INVALID_VALUE;
  AllocOp op;
  const CUresult reserved = reserveGraphMemory(*device, p->bytesize, &op);
  if (reserved != CUDA_SUCCESS) return reserved;
  op.properties = p->poolProps;
  if (p->accessDescs != nullptr) {
    op.access.assign(p->accessDescs, p->accessDescs + p->accessDescCount);
  }
  p->dptr = op.memory->address;
  *out = {CU_GRAPH_NODE_TYPE_MEM_ALLOC, std::move(op), nullptr, nullptr};
  return CUDA_SUCCESS;
}

CUresult specOfFree(CUdeviceptr address, NodeSpec* out) {
  if (describePointer(address).kind == PointerKind::kUnknown) return CUDA_ERROR_INVALID_VALUE;
  *out = {CU_GRAPH_NODE_TYPE_MEM_FREE, FreeOp{address}, nullptr, nullptr};
  return CUDA_SUCCESS;
}

CUresult specOf(CUgraphNodeParams* p, NodeSpec* out) {
  if (p == nullptr) return CUDA_ERROR_INVALID_VALUE;
  switch (p->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
      return specOf(&p->kernel, out);
    case CU_GRAPH_NODE_TYPE_MEMCPY:
      return specOf(&p->memcpy.copyParams, p->memcpy.copyCtx, out);
    case CU_GRAPH_NODE_TYPE_MEMSET: {
      const CUDA_MEMSET_NODE_PARAMS plain{p->memset.dst,         p->memset.pitch, p->memset.value,
                                          p->memset.elementSize, p->memset.width, p->memset.height};
      return specOf(&plain, p->memset.ctx, out);
    }
    case CU_GRAPH_NODE_TYPE_HOST: {
      const CUDA_HOST_NODE_PARAMS plain{p->host.fn, p->host.userData};
      return specOf(&plain, out);
    }
    case CU_GRAPH_NODE_TYPE_GRAPH:
      return specOfChild(p->graph.graph, out);
    case CU_GRAPH_NODE_TYPE_EMPTY:
      *out = {};
      return CUDA_SUCCESS;
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
      return specOfEvent(p->eventWait.event, false, out);
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
      return specOfEvent(p->eventRecord.event, true, out);
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
      return specOf(&p->alloc, out);
    case CU_GRAPH_NODE_TYPE_MEM_FREE:
      return specOfFree(p->free.dptr, out);
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
      return specOf(&p->memOp, out);
    default:
      return CUDA_ERROR_NOT_SUPPORTED;
  }
}

CUresult paramsOf(GraphNode& node, CUDA_KERNEL_NODE_PARAMS* out) {
  auto* op = std::get_if<KernelOp>(&node.operation);
  if (op == nullptr || out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  node.shown_params.clear();
  for (const KernelParam& param : op->code->params) {
    node.shown_params.push_back(op->call.params.data() + param.offset);
  }
  const LaunchShape& shape = op->call.shape;
  const bool is_kernel = FunctionHandles::get().find(op->function) == nullptr;
  *out = {is_kernel ? nullptr : op->function,
          shape.grid.x,
          shape.grid.y,
          shape.grid.z,
          shape.block.x,
          shape.block.y,
          shape.block.z,
          shape.shared_bytes,
          node.shown_params.data(),
          nullptr,
          is_kernel ? reinterpret_cast<CUkernel>(op->function) : nullptr,
          node.context};
  return CUDA_SUCCESS;
}

CUresult paramsOf(GraphNode& node, CUDA_MEMCPY3D* out) {
  const auto* plan = std::get_if<CopyPlan>(&node.operation);
  if (plan == nullptr || out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *out = node.copy != nullptr ? *node.copy : describe(*plan);
  return CUDA_SUCCESS;
}

CUresult paramsOf(GraphNode& node, CUDA_MEMSET_NODE_PARAMS* out) {
  const auto* plan = std::get_if<MemsetPlan>(&node.operation);
  if (plan == nullptr || out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *out = {plan->address, plan->pitch, plan->value, plan->element, plan->width, plan->height};
  return CUDA_SUCCESS;
}

CUresult paramsOf(GraphNode& node, CUDA_HOST_NODE_PARAMS* out) {
  const auto* op = std::get_if<HostOp>(&node.operation);
  if (op == nullptr || out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *out = {op->function, op->data};
  return CUDA_SUCCESS;
}

CUresult paramsOf(GraphNode& node, CUDA_BATCH_MEM_OP_NODE_PARAMS* out) {
  auto* op = std::get_if<MemOpsOp>(&node.operation);
  if (op == nullptr || out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *out = {node.context, static_cast<unsigned>(op->list.size()), op->list.data(), op->flags};
  return CUDA_SUCCESS;
}

CUresult paramsOf(GraphNode& node, CUDA_MEM_ALLOC_NODE_PARAMS* out) {
  const auto* op = std::get_if<AllocOp>(&node.operation);
  if (op == nullptr || out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *out = {op->properties, op->access.data(), op->access.size(), op->memory->bytes,
          op->memory->address};
  return CUDA_SUCCESS;
}

CUresult paramsOf(GraphNode& node, CUgraphNodeParams* out) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *out = {};
  out->type = node.type;
  switch (node.type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
      return paramsOf(node, &out->kernel);
    case CU_GRAPH_NODE_TYPE_MEMCPY:
      out->memcpy.copyCtx = node.context;
      return paramsOf(node, &out->memcpy.copyParams);
    case CU_GRAPH_NODE_TYPE_MEMSET: {
      CUDA_MEMSET_NODE_PARAMS plain{};
      paramsOf(node, &plain);
      out->memset = {plain.dst,   plain.pitch,  plain.value, plain.elementSize,
                     plain.width, plain.height, node.context};
      return CUDA_SUCCESS;
    }
    case CU_GRAPH_NODE_TYPE_HOST:
      out->host.fn = std::get<HostOp>(node.operation).function;
      out->host.userData = std::get<HostOp>(node.operation).data;
      return CUDA_SUCCESS;
    case CU_GRAPH_NODE_TYPE_GRAPH:
      out->graph.graph = std::get<ChildOp>(node.operation).graph->handle();
      return CUDA_SUCCESS;
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
      out->eventWait.event = std::get<EventWaitOp>(node.operation).event;
      return CUDA_SUCCESS;
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
      out->eventRecord.event = std::get<EventRecordOp>(node.operation).event;
      return CUDA_SUCCESS;
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
      return paramsOf(node, &out->alloc);
    case CU_GRAPH_NODE_TYPE_MEM_FREE:
      out->free.dptr = std::get<FreeOp>(node.operation).address;
      return CUDA_SUCCESS;
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
      return paramsOf(node, &out->memOp);
    default:
      return CUDA_SUCCESS;
  }
}

CUresult assign(GraphNode& node, NodeSpec spec) {
  if (node.type != spec.type) return CUDA_ERROR_INVALID_VALUE;
  node.operation = std::move(spec.operation);
  node.copy = std::move(spec.copy);
  if (spec.context != nullptr) node.context = spec.context;
  return CUDA_SUCCESS;
}

}  // namespace divvy::simgpu
