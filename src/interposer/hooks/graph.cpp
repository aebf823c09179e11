// Graphs: their launches pass the gate, their allocation nodes are charged.
#include "accounting/allocation.h"
#include "launch/gate_pair.h"
#include "launch/launch_gate.h"

using namespace divvy::interposer;
using divvy::abi::Cu;

namespace {

// Makes an executable graph. The driver may back it with memory at once, if asked to upload it.
template <typename Call>
CUresult instantiate(CUgraphExec* exec, CUgraph graph, Call call) {
  const ResidentAccess memory;
  if (memory.refused() != CUDA_SUCCESS) return memory.refused();
  const DriverCallScope inside;
  if (inside.nested()) return call();
  GraphMemory& graphs = runtime().graphs;
  const GraphMemory::Need need = graphs.needOf(graph);
  if (!graphs.begin(need)) return refuseOverLimit(need.most());
  const CUresult result = call();
  if (result == CUDA_SUCCESS && exec != nullptr) {
    graphs.remember(*exec, need);
    if (runtime().memory_gate.active()) runtime().graph_uses.remember(*exec, graph);
  }
  graphs.end(need);
  return result;
}

// Uploads or launches a graph: memory is charged before the driver backs it.
template <Cu kId>
CUresult runGraph(CUgraphExec exec, CUstream stream) {
  const DriverCallScope inside;
  const auto call = [=] { return real<kId>()(exec, stream); };
  if (inside.nested()) return call();
  GraphMemory& graphs = runtime().graphs;
  const GraphMemory::Need need = graphs.needOf(exec);
  if (!need.any || graphs.isBacked(exec)) return call();
  const std::uint64_t backing = graphs.backing();
  if (!graphs.begin(need)) return refuseOverLimit(need.most());
  const CUresult result = call();
  if (result == CUDA_SUCCESS) graphs.noteBacked(exec, backing);
  graphs.end(need);
  return result;
}

template <Cu kId>
CUresult uploadGraph(CUgraphExec exec, CUstream stream) {
  const ResidentAccess memory;
  return memory.refused() != CUDA_SUCCESS ? memory.refused() : runGraph<kId>(exec, stream);
}

template <Cu kId>
CUresult launchAdmitted(CUgraphExec exec, CUstream stream) {
  return runtime().graphs.any() ? runGraph<kId>(exec, stream) : real<kId>()(exec, stream);
}

template <Cu kId>
CUresult launchGraph(CUgraphExec exec, CUstream stream) {
  if (divvy_thread.depth != 0 || passGate()) return launchAdmitted<kId>(exec, stream);
  GatePass passage;
  enterGate(workOf<kId>(exec, stream), passage);
  if (passage.refused != CUDA_SUCCESS) return passage.refused;
  divvy_thread.depth = 0;  // memory is charged inside, so the next call is not a nested one
  const CUresult result = launchAdmitted<kId>(exec, stream);
  divvy_thread.depth = 1;
  leaveGate(passage, result);
  return result;
}

void noteNode(CUresult result, const CUgraphNodeParams* params) {
  if (result == CUDA_SUCCESS && params->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC) {
    runtime().graphs.noteAllocationNode();
  }
}

}  // namespace

DIVVY_HOOK(cuGraphLaunch)(CUgraphExec exec, CUstream stream) noexcept {
  return launchGraph<Cu::cuGraphLaunch>(exec, stream);
}

DIVVY_HOOK(cuGraphLaunch_ptsz)(CUgraphExec exec, CUstream stream) noexcept {
  return launchGraph<Cu::cuGraphLaunch_ptsz>(exec, stream);
}

DIVVY_HOOK(cuGraphUpload)(CUgraphExec exec, CUstream stream) noexcept {
  return uploadGraph<Cu::cuGraphUpload>(exec, stream);
}

DIVVY_HOOK(cuGraphUpload_ptsz)(CUgraphExec exec, CUstream stream) noexcept {
  return uploadGraph<Cu::cuGraphUpload_ptsz>(exec, stream);
}

DIVVY_HOOK(cuGraphInstantiate)
(CUgraphExec* exec, CUgraph graph, CUgraphNode* error_node, char* log, std::size_t size) noexcept {
  return instantiate(exec, graph, [=] {
    return real<Cu::cuGraphInstantiate>()(exec, graph, error_node, log, size);
  });
}

DIVVY_HOOK(cuGraphInstantiate_v2)
(CUgraphExec* exec, CUgraph graph, CUgraphNode* error_node, char* log, std::size_t size) noexcept {
  return instantiate(exec, graph, [=] {
    return real<Cu::cuGraphInstantiate_v2>()(exec, graph, error_node, log, size);
  });
}

DIVVY_HOOK(cuGraphInstantiateWithFlags)
(CUgraphExec* exec, CUgraph graph, unsigned long long flags) noexcept {
  return instantiate(exec, graph,
                     [=] { return real<Cu::cuGraphInstantiateWithFlags>()(exec, graph, flags); });
}

DIVVY_HOOK(cuGraphInstantiateWithParams)
(CUgraphExec* exec, CUgraph graph, CUDA_GRAPH_INSTANTIATE_PARAMS* params) noexcept {
  return instantiate(exec, graph,
                     [=] { return real<Cu::cuGraphInstantiateWithParams>()(exec, graph, params); });
}

DIVVY_HOOK(cuGraphInstantiateWithParams_ptsz)
(CUgraphExec* exec, CUgraph graph, CUDA_GRAPH_INSTANTIATE_PARAMS* params) noexcept {
  return instantiate(exec, graph, [=] {
    return real<Cu::cuGraphInstantiateWithParams_ptsz>()(exec, graph, params);
  });
}

DIVVY_HOOK(cuGraphExecDestroy)(CUgraphExec exec) noexcept {
  const DriverCallScope inside;
  GraphMemory& graphs = runtime().graphs;
  if (!inside.nested() && runtime().memory_gate.active()) runtime().graph_uses.forget(exec);
  const GraphMemory::Need need = inside.nested() ? GraphMemory::Need{} : graphs.needOf(exec);
  if (!need.any) return real<Cu::cuGraphExecDestroy>()(exec);
  graphs.forget(exec);
  const CUresult result = real<Cu::cuGraphExecDestroy>()(exec);
  if (result != CUDA_SUCCESS) graphs.remember(exec, need);
  graphs.settle(kNoDevice);
  return result;
}

DIVVY_HOOK(cuGraphAddMemAllocNode)
(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, std::size_t count,
 CUDA_MEM_ALLOC_NODE_PARAMS* params) noexcept {
  const CUresult result =
      real<Cu::cuGraphAddMemAllocNode>()(node, graph, dependencies, count, params);
  if (result == CUDA_SUCCESS) runtime().graphs.noteAllocationNode();
  return result;
}

DIVVY_HOOK(cuGraphAddNode)
(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, std::size_t count,
 CUgraphNodeParams* params) noexcept {
  const ResidentAccess memory;
  if (memory.refused() != CUDA_SUCCESS) return memory.refused();
  const CUresult result = real<Cu::cuGraphAddNode>()(node, graph, dependencies, count, params);
  noteNode(result, params);
  return result;
}

DIVVY_HOOK(cuGraphAddNode_v2)
(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, const CUgraphEdgeData* edges,
 std::size_t count, CUgraphNodeParams* params) noexcept {
  const ResidentAccess memory;
  if (memory.refused() != CUDA_SUCCESS) return memory.refused();
  const CUresult result =
      real<Cu::cuGraphAddNode_v2>()(node, graph, dependencies, edges, count, params);
  noteNode(result, params);
  return result;
}

DIVVY_HOOK(cuGraphAddNode_v3)
(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, const CUgraphEdgeData* edges,
 std::size_t count, CUgraphNodeParams* params) noexcept {
  const ResidentAccess memory;
  if (memory.refused() != CUDA_SUCCESS) return memory.refused();
  const CUresult result =
      real<Cu::cuGraphAddNode_v3>()(node, graph, dependencies, edges, count, params);
  noteNode(result, params);
  return result;
}

DIVVY_HOOK(cuDeviceGraphMemTrim)(CUdevice device) noexcept {
  const DriverCallScope inside;
  const CUresult result = real<Cu::cuDeviceGraphMemTrim>()(device);
  if (!inside.nested() && runtime().graphs.any() && runtime().tenant.ready()) {
    runtime().graphs.settle(kNoDevice);
  }
  return result;
}
