// Entry points about executable graphs.
#include "cuda/context/api_prologue.h"
#include "cuda/graph/capture.h"
#include "cuda/graph/graph_exec.h"
#include "cuda/graph/graph_params.h"

namespace divvy::simgpu {
namespace {

constexpr std::uint64_t kKnownFlags =
    CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH | CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD |
    CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH | CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY;

CUresult instantiate(Cu id, CUgraphExec* out, CUgraph handle, std::uint64_t flags,
                     CUgraphNode* bad_node) {
  return withContext(id, [&](Context&) -> CUresult {
    Graph* graph = GraphHandles::get().find(handle);
    if (bad_node != nullptr) *bad_node = nullptr;
    if (out == nullptr || graph == nullptr || (flags & ~kKnownFlags) != 0) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    if ((flags & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH) != 0) return CUDA_ERROR_NOT_SUPPORTED;
    const CUresult allowed = checkUnsafe();
    if (allowed != CUDA_SUCCESS) return allowed;
    GraphExec* exec = nullptr;
    GraphNode* bad = nullptr;
    const CUresult made = GraphExec::make(*graph, flags, &exec, &bad);
    if (bad_node != nullptr && bad != nullptr) *bad_node = bad->handle();
    if (made != CUDA_SUCCESS) return made;
    *out = exec->handle();
    return (flags & CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD) != 0 ? exec->upload() : CUDA_SUCCESS;
  });
}

CUresult instantiateWithLog(Cu id, CUgraphExec* out, CUgraph graph, CUgraphNode* bad, char* log,
                            std::size_t room) {
  const CUresult made = instantiate(id, out, graph, 0, bad);
  if (log != nullptr && room != 0) log[0] = 0;
  return made;
}

template <typename Body>
CUresult withExec(Cu id, CUgraphExec handle, Body&& body) {
  return withDriver(id, [&]() -> CUresult {
    GraphExec* exec = GraphExecHandles::get().find(handle);
    return exec == nullptr ? CUDA_ERROR_INVALID_VALUE : body(*exec);
  });
}

// The executable's own node for a node of its source graph.
template <typename Body>
CUresult withTwin(Cu id, CUgraphExec handle, CUgraphNode node_handle, Body&& body) {
  return withExec(id, handle, [&](GraphExec& exec) -> CUresult {
    const GraphNode* node = NodeHandles::get().find(node_handle);
    GraphNode* twin = node == nullptr ? nullptr : exec.twinOf(*node);
    if (twin == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const std::lock_guard guard(exec.mutex);
    return body(exec, *twin);
  });
}

template <typename Specify>
CUresult set(Cu id, CUgraphExec handle, CUgraphNode node, Specify&& specify) {
  return withTwin(id, handle, node, [&](GraphExec&, GraphNode& twin) -> CUresult {
    NodeSpec spec;
    const CUresult made = specify(&spec);
    if (made != CUDA_SUCCESS) return made;
    if (spec.context != nullptr && twin.context != spec.context) return CUDA_ERROR_INVALID_VALUE;
    return assign(twin, std::move(spec));
  });
}

CUresult launch(Cu id, CUgraphExec handle, StreamArgument argument) {
  return withContext(id, [&](Context& context) -> CUresult {
    const CUresult struck = Faults::get().armed() ? Faults::get().strike(context) : CUDA_SUCCESS;
    if (struck != CUDA_SUCCESS) return struck;
    GraphExec* exec = GraphExecHandles::get().find(handle);
    if (exec == nullptr) return CUDA_ERROR_INVALID_VALUE;
    Stream* stream = nullptr;
    CUresult result = findStream(context, argument, &stream);
    if (result != CUDA_SUCCESS) return result;
    std::shared_ptr<Capture> capture;
    result = beginOperation(*stream, &capture);
    if (result != CUDA_SUCCESS) return result;
    if (capture == nullptr) return exec->launch(*stream);
    if (exec->graph->hasMemoryNodes()) return refuseCapturing(*stream);
    ChildOp child{exec->graph->clone()};
    child.graph->is_child = true;
    return captureOperation(*stream, *capture, std::move(child));
  });
}

CUresult upload(Cu id, CUgraphExec handle, StreamArgument argument) {
  return withContext(id, [&](Context& context) -> CUresult {
    GraphExec* exec = GraphExecHandles::get().find(handle);
    if (exec == nullptr) return CUDA_ERROR_INVALID_VALUE;
    Stream* stream = nullptr;
    CUresult result = findStream(context, argument, &stream);
    if (result == CUDA_SUCCESS) result = refuseCapturing(*stream);
    return result == CUDA_SUCCESS ? exec->upload() : result;
  });
}

CUresult update(Cu id, CUgraphExec handle, CUgraph graph_handle, CUgraphExecUpdateResult* why,
                CUgraphNode* bad_node) {
  return withExec(id, handle, [&](GraphExec& exec) -> CUresult {
    const Graph* graph = GraphHandles::get().find(graph_handle);
    if (graph == nullptr || why == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const GraphNode* bad = nullptr;
    *why = exec.update(*graph, &bad);
    if (bad_node != nullptr)
      *bad_node = bad == nullptr ? nullptr : const_cast<GraphNode*>(bad)->handle();
    return *why == CU_GRAPH_EXEC_UPDATE_SUCCESS ? CUDA_SUCCESS
                                                : CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
  });
}

bool canBeDisabled(const GraphNode& node) {
  return node.type == CU_GRAPH_NODE_TYPE_KERNEL || node.type == CU_GRAPH_NODE_TYPE_MEMCPY ||
         node.type == CU_GRAPH_NODE_TYPE_MEMSET;
}

}  // namespace

SIMGPU_IMPL(cuGraphInstantiate)
(CUgraphExec* out, CUgraph graph, CUgraphNode* bad, char* log, std::size_t room) {
  return instantiateWithLog(Cu::cuGraphInstantiate, out, graph, bad, log, room);
}
SIMGPU_IMPL(cuGraphInstantiate_v2)
(CUgraphExec* out, CUgraph graph, CUgraphNode* bad, char* log, std::size_t room) {
  return instantiateWithLog(Cu::cuGraphInstantiate_v2, out, graph, bad, log, room);
}
SIMGPU_IMPL(cuGraphInstantiateWithFlags)
(CUgraphExec* out, CUgraph graph, unsigned long long flags) {
  return instantiate(Cu::cuGraphInstantiateWithFlags, out, graph, flags, nullptr);
}
SIMGPU_IMPL(cuGraphInstantiateWithParams)
(CUgraphExec* out, CUgraph graph, CUDA_GRAPH_INSTANTIATE_PARAMS* p) {
  if (p == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const CUresult made =
      instantiate(Cu::cuGraphInstantiateWithParams, out, graph, p->flags, &p->hErrNode_out);
  p->result_out = made == CUDA_SUCCESS         ? CUDA_GRAPH_INSTANTIATE_SUCCESS
                  : p->hErrNode_out != nullptr ? CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE
                                               : CUDA_GRAPH_INSTANTIATE_ERROR;
  return made;
}
SIMGPU_IMPL(cuGraphInstantiateWithParams_ptsz)
(CUgraphExec* out, CUgraph graph, CUDA_GRAPH_INSTANTIATE_PARAMS* p) {
  if (p == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const CUresult made =
      instantiate(Cu::cuGraphInstantiateWithParams_ptsz, out, graph, p->flags, &p->hErrNode_out);
  p->result_out = made == CUDA_SUCCESS         ? CUDA_GRAPH_INSTANTIATE_SUCCESS
                  : p->hErrNode_out != nullptr ? CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE
                                               : CUDA_GRAPH_INSTANTIATE_ERROR;
  return made;
}
SIMGPU_IMPL(cuGraphLaunch)(CUgraphExec exec, CUstream s) {
  return launch(Cu::cuGraphLaunch, exec, {s, false});
}
SIMGPU_IMPL(cuGraphUpload)(CUgraphExec exec, CUstream s) {
  return upload(Cu::cuGraphUpload, exec, {s, false});
}
SIMGPU_IMPL(cuGraphLaunch_ptsz)(CUgraphExec exec, CUstream s) {
  return launch(Cu::cuGraphLaunch_ptsz, exec, {s, true});
}
SIMGPU_IMPL(cuGraphUpload_ptsz)(CUgraphExec exec, CUstream s) {
  return upload(Cu::cuGraphUpload_ptsz, exec, {s, true});
}
SIMGPU_IMPL(cuGraphExecDestroy)(CUgraphExec handle) {
  return withExec(Cu::cuGraphExecDestroy, handle, [](GraphExec& exec) {
    delete &exec;
    return CUDA_SUCCESS;
  });
}
SIMGPU_IMPL(cuGraphExecGetFlags)(CUgraphExec handle, cuuint64_t* out) {
  return withExec(Cu::cuGraphExecGetFlags, handle, [&](GraphExec& exec) -> CUresult {
    if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *out = exec.flags;
    return CUDA_SUCCESS;
  });
}
SIMGPU_IMPL(cuGraphExecGetId)(CUgraphExec handle, unsigned* out) {
  return withExec(Cu::cuGraphExecGetId, handle, [&](GraphExec& exec) -> CUresult {
    if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *out = exec.id;
    return CUDA_SUCCESS;
  });
}
SIMGPU_IMPL(cuGraphExecUpdate)
(CUgraphExec exec, CUgraph graph, CUgraphNode* bad, CUgraphExecUpdateResult* why) {
  return update(Cu::cuGraphExecUpdate, exec, graph, why, bad);
}
SIMGPU_IMPL(cuGraphExecUpdate_v2)
(CUgraphExec exec, CUgraph graph, CUgraphExecUpdateResultInfo* info) {
  if (info == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *info = {};
  return update(Cu::cuGraphExecUpdate_v2, exec, graph, &info->result, &info->errorNode);
}
SIMGPU_IMPL(cuGraphExecKernelNodeSetParams)
(CUgraphExec exec, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v1* p) {
  return set(Cu::cuGraphExecKernelNodeSetParams, exec, node,
             [&](NodeSpec* spec) { return specOf(p, spec); });
}
SIMGPU_IMPL(cuGraphExecKernelNodeSetParams_v2)
(CUgraphExec exec, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS* p) {
  return set(Cu::cuGraphExecKernelNodeSetParams_v2, exec, node,
             [&](NodeSpec* spec) { return specOf(p, spec); });
}
SIMGPU_IMPL(cuGraphExecMemcpyNodeSetParams)
(CUgraphExec exec, CUgraphNode node, const CUDA_MEMCPY3D* p, CUcontext ctx) {
  return set(Cu::cuGraphExecMemcpyNodeSetParams, exec, node,
             [&](NodeSpec* spec) { return specOf(p, ctx, spec); });
}
SIMGPU_IMPL(cuGraphExecMemsetNodeSetParams)
(CUgraphExec exec, CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS* p, CUcontext ctx) {
  return set(Cu::cuGraphExecMemsetNodeSetParams, exec, node,
             [&](NodeSpec* spec) { return specOf(p, ctx, spec); });
}
SIMGPU_IMPL(cuGraphExecHostNodeSetParams)
(CUgraphExec exec, CUgraphNode node, const CUDA_HOST_NODE_PARAMS* p) {
  return set(Cu::cuGraphExecHostNodeSetParams, exec, node,
             [&](NodeSpec* spec) { return specOf(p, spec); });
}
SIMGPU_IMPL(cuGraphExecEventRecordNodeSetEvent)
(CUgraphExec exec, CUgraphNode node, CUevent event) {
  return set(Cu::cuGraphExecEventRecordNodeSetEvent, exec, node,
             [&](NodeSpec* spec) { return specOfEvent(event, true, spec); });
}
SIMGPU_IMPL(cuGraphExecEventWaitNodeSetEvent)
(CUgraphExec exec, CUgraphNode node, CUevent event) {
  return set(Cu::cuGraphExecEventWaitNodeSetEvent, exec, node,
             [&](NodeSpec* spec) { return specOfEvent(event, false, spec); });
}
SIMGPU_IMPL(cuGraphExecBatchMemOpNodeSetParams)
(CUgraphExec exec, CUgraphNode node, const CUDA_BATCH_MEM_OP_NODE_PARAMS* p) {
  return set(Cu::cuGraphExecBatchMemOpNodeSetParams, exec, node,
             [&](NodeSpec* spec) { return specOf(p, spec); });
}
SIMGPU_IMPL(cuGraphExecNodeSetParams)
(CUgraphExec exec, CUgraphNode node, CUgraphNodeParams* p) {
  return set(Cu::cuGraphExecNodeSetParams, exec, node,
             [&](NodeSpec* spec) { return specOf(p, spec); });
}
SIMGPU_IMPL(cuGraphExecChildGraphNodeSetParams)
(CUgraphExec handle, CUgraphNode node, CUgraph child) {
  return withTwin(Cu::cuGraphExecChildGraphNodeSetParams, handle, node,
                  [&](GraphExec&, GraphNode& twin) -> CUresult {
                    auto* own = std::get_if<ChildOp>(&twin.operation);
                    const Graph* wanted = GraphHandles::get().find(child);
                    if (own == nullptr || wanted == nullptr) return CUDA_ERROR_INVALID_VALUE;
                    const GraphNode* bad = nullptr;
                    const auto why = updateGraph(*own->graph, *wanted, &bad);
                    return why == CU_GRAPH_EXEC_UPDATE_SUCCESS ? CUDA_SUCCESS
                                                               : CUDA_ERROR_INVALID_VALUE;
                  });
}
SIMGPU_IMPL(cuGraphNodeSetEnabled)(CUgraphExec handle, CUgraphNode node, unsigned enabled) {
  return withTwin(Cu::cuGraphNodeSetEnabled, handle, node,
                  [&](GraphExec& exec, GraphNode& twin) -> CUresult {
                    if (!canBeDisabled(twin)) return CUDA_ERROR_INVALID_VALUE;
                    exec.setEnabled(twin, enabled != 0);
                    return CUDA_SUCCESS;
                  });
}
SIMGPU_IMPL(cuGraphNodeGetEnabled)(CUgraphExec handle, CUgraphNode node, unsigned* out) {
  return withTwin(Cu::cuGraphNodeGetEnabled, handle, node,
                  [&](GraphExec& exec, GraphNode& twin) -> CUresult {
                    if (!canBeDisabled(twin) || out == nullptr) return CUDA_ERROR_INVALID_VALUE;
                    *out = exec.isEnabled(twin) ? 1 : 0;
                    return CUDA_SUCCESS;
                  });
}

}  // namespace divvy::simgpu
