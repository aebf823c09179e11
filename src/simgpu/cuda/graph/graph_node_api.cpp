// Entry points that add nodes to graphs and read or change their parameters.
#include "cuda/context/api_prologue.h"
#include "cuda/graph/graph.h"
#include "cuda/graph/graph_params.h"

namespace divvy::simgpu {
namespace {

struct Dependencies {
  const CUgraphNode* nodes;
  std::size_t count;
  const CUgraphEdgeData* edges = nullptr;
};

// Checks the node's place before its specification is made, so that a refusal has no effect.
template <typename Specify>
CUresult add(Cu id, CUgraphNode* out, CUgraph handle, const Dependencies& after,
             Specify&& specify) {
  return withDriver(id, [&]() -> CUresult {
    Graph* graph = GraphHandles::get().find(handle);
    if (out == nullptr || graph == nullptr) return CUDA_ERROR_INVALID_VALUE;
    std::vector<GraphNode*> deps;
    CUresult result = findNodes(after.nodes, after.count, graph, &deps);
    NodeSpec spec;
    if (result == CUDA_SUCCESS) result = specify(&spec);
    if (result != CUDA_SUCCESS) return result;
    GraphNode* node = graph->add(spec.type, std::move(spec.operation), {});
    node->context = spec.context;
    node->copy = std::move(spec.copy);
    for (std::size_t i = 0; i < deps.size(); ++i) {
      graph->connect(deps[i], node, after.edges != nullptr ? after.edges[i] : CUgraphEdgeData{});
    }
    *out = node->handle();
    return CUDA_SUCCESS;
  });
}

template <typename Body>
CUresult withNode(Cu id, CUgraphNode handle, Body&& body) {
  return withDriver(id, [&]() -> CUresult {
    GraphNode* node = NodeHandles::get().find(handle);
    return node == nullptr ? CUDA_ERROR_INVALID_VALUE : body(*node);
  });
}

template <typename Specify>
CUresult set(Cu id, CUgraphNode handle, Specify&& specify) {
  return withNode(id, handle, [&](GraphNode& node) -> CUresult {
    NodeSpec spec;
    const CUresult made = specify(&spec);
    return made != CUDA_SUCCESS ? made : assign(node, std::move(spec));
  });
}

template <typename Params>
CUresult get(Cu id, CUgraphNode handle, Params* out) {
  return withNode(id, handle, [&](GraphNode& node) { return paramsOf(node, out); });
}

// The single member of a node, for queries that return one.
template <typename Op, typename Value, typename Member>
CUresult member(Cu id, CUgraphNode handle, Value* out, Member&& value) {
  return withNode(id, handle, [&](GraphNode& node) -> CUresult {
    const auto* op = std::get_if<Op>(&node.operation);
    if (op == nullptr || out == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *out = value(*op);
    return CUDA_SUCCESS;
  });
}

CUresult addAny(Cu id, CUgraphNode* out, CUgraph graph, const Dependencies& after,
                CUgraphNodeParams* params) {
  return add(id, out, graph, after, [&](NodeSpec* spec) { return specOf(params, spec); });
}

KernelOp* kernelOf(GraphNode& node) {
  return std::get_if<KernelOp>(&node.operation);
}

CUlaunchAttribute* attributeIn(KernelOp& op, CUlaunchAttributeID id) {
  for (CUlaunchAttribute& attribute : op.attributes) {
    if (attribute.id == id) return &attribute;
  }
  return nullptr;
}

}  // namespace

SIMGPU_IMPL(cuGraphAddKernelNode)
(CUgraphNode* out, CUgraph graph, const CUgraphNode* after, std::size_t count,
 const CUDA_KERNEL_NODE_PARAMS_v1* p) {
  return add(Cu::cuGraphAddKernelNode, out, graph, {after, count},
             [&](NodeSpec* spec) { return specOf(p, spec); });
}
SIMGPU_IMPL(cuGraphAddKernelNode_v2)
(CUgraphNode* out, CUgraph graph, const CUgraphNode* after, std::size_t count,
 const CUDA_KERNEL_NODE_PARAMS* p) {
  return add(Cu::cuGraphAddKernelNode_v2, out, graph, {after, count},
             [&](NodeSpec* spec) { return specOf(p, spec); });
}
SIMGPU_IMPL(cuGraphAddMemcpyNode)
(CUgraphNode* out, CUgraph graph, const CUgraphNode* after, std::size_t count,
 const CUDA_MEMCPY3D* p, CUcontext ctx) {
  return add(Cu::cuGraphAddMemcpyNode, out, graph, {after, count},
             [&](NodeSpec* spec) { return specOf(p, ctx, spec); });
}
SIMGPU_IMPL(cuGraphAddMemsetNode)
(CUgraphNode* out, CUgraph graph, const CUgraphNode* after, std::size_t count,
 const CUDA_MEMSET_NODE_PARAMS* p, CUcontext ctx) {
  return add(Cu::cuGraphAddMemsetNode, out, graph, {after, count},
             [&](NodeSpec* spec) { return specOf(p, ctx, spec); });
}
SIMGPU_IMPL(cuGraphAddHostNode)
(CUgraphNode* out, CUgraph graph, const CUgraphNode* after, std::size_t count,
 const CUDA_HOST_NODE_PARAMS* p) {
  return add(Cu::cuGraphAddHostNode, out, graph, {after, count},
             [&](NodeSpec* spec) { return specOf(p, spec); });
}
SIMGPU_IMPL(cuGraphAddChildGraphNode)
(CUgraphNode* out, CUgraph graph, const CUgraphNode* after, std::size_t count, CUgraph child) {
  return add(Cu::cuGraphAddChildGraphNode, out, graph, {after, count},
             [&](NodeSpec* spec) { return specOfChild(child, spec); });
}
SIMGPU_IMPL(cuGraphAddEmptyNode)
(CUgraphNode* out, CUgraph graph, const CUgraphNode* after, std::size_t count) {
  return add(Cu::cuGraphAddEmptyNode, out, graph, {after, count},
             [](NodeSpec*) { return CUDA_SUCCESS; });
}
SIMGPU_IMPL(cuGraphAddEventRecordNode)
(CUgraphNode* out, CUgraph graph, const CUgraphNode* after, std::size_t count, CUevent event) {
  return add(Cu::cuGraphAddEventRecordNode, out, graph, {after, count},
             [&](NodeSpec* spec) { return specOfEvent(event, true, spec); });
}
SIMGPU_IMPL(cuGraphAddEventWaitNode)
(CUgraphNode* out, CUgraph graph, const CUgraphNode* after, std::size_t count, CUevent event) {
  return add(Cu::cuGraphAddEventWaitNode, out, graph, {after, count},
             [&](NodeSpec* spec) { return specOfEvent(event, false, spec); });
}
SIMGPU_IMPL(cuGraphAddBatchMemOpNode)
(CUgraphNode* out, CUgraph graph, const CUgraphNode* after, std::size_t count,
 const CUDA_BATCH_MEM_OP_NODE_PARAMS* p) {
  return add(Cu::cuGraphAddBatchMemOpNode, out, graph, {after, count},
             [&](NodeSpec* spec) { return specOf(p, spec); });
}
SIMGPU_IMPL(cuGraphAddMemAllocNode)
(CUgraphNode* out, CUgraph graph, const CUgraphNode* after, std::size_t count,
 CUDA_MEM_ALLOC_NODE_PARAMS* p) {
  return add(Cu::cuGraphAddMemAllocNode, out, graph, {after, count},
             [&](NodeSpec* spec) { return specOf(p, spec); });
}
SIMGPU_IMPL(cuGraphAddMemFreeNode)
(CUgraphNode* out, CUgraph graph, const CUgraphNode* after, std::size_t count,
 CUdeviceptr address) {
  return add(Cu::cuGraphAddMemFreeNode, out, graph, {after, count},
             [&](NodeSpec* spec) { return specOfFree(address, spec); });
}
SIMGPU_IMPL(cuGraphAddNode)
(CUgraphNode* out, CUgraph graph, const CUgraphNode* after, std::size_t count,
 CUgraphNodeParams* p) {
  return addAny(Cu::cuGraphAddNode, out, graph, {after, count}, p);
}
SIMGPU_IMPL(cuGraphAddNode_v2)
(CUgraphNode* out, CUgraph graph, const CUgraphNode* after, const CUgraphEdgeData* edges,
 std::size_t count, CUgraphNodeParams* p) {
  return addAny(Cu::cuGraphAddNode_v2, out, graph, {after, count, edges}, p);
}
SIMGPU_IMPL(cuGraphAddNode_v3)
(CUgraphNode* out, CUgraph graph, const CUgraphNode* after, const CUgraphEdgeData* edges,
 std::size_t count, CUgraphNodeParams* p) {
  return addAny(Cu::cuGraphAddNode_v3, out, graph, {after, count, edges}, p);
}

SIMGPU_IMPL(cuGraphKernelNodeGetParams)(CUgraphNode handle, CUDA_KERNEL_NODE_PARAMS_v1* out) {
  return withNode(Cu::cuGraphKernelNodeGetParams, handle, [&](GraphNode& node) -> CUresult {
    CUDA_KERNEL_NODE_PARAMS full{};
    const CUresult known = paramsOf(node, &full);
    if (known != CUDA_SUCCESS || out == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *out = {full.func,      full.gridDimX,  full.gridDimY,       full.gridDimZ,     full.blockDimX,
            full.blockDimY, full.blockDimZ, full.sharedMemBytes, full.kernelParams, full.extra};
    return CUDA_SUCCESS;
  });
}
SIMGPU_IMPL(cuGraphKernelNodeGetParams_v2)(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS* out) {
  return get(Cu::cuGraphKernelNodeGetParams_v2, node, out);
}
SIMGPU_IMPL(cuGraphKernelNodeSetParams)(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v1* p) {
  return set(Cu::cuGraphKernelNodeSetParams, node, [&](NodeSpec* spec) { return specOf(p, spec); });
}
SIMGPU_IMPL(cuGraphKernelNodeSetParams_v2)(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS* p) {
  return set(Cu::cuGraphKernelNodeSetParams_v2, node,
             [&](NodeSpec* spec) { return specOf(p, spec); });
}
SIMGPU_IMPL(cuGraphMemcpyNodeGetParams)(CUgraphNode node, CUDA_MEMCPY3D* out) {
  return get(Cu::cuGraphMemcpyNodeGetParams, node, out);
}
SIMGPU_IMPL(cuGraphMemcpyNodeSetParams)(CUgraphNode node, const CUDA_MEMCPY3D* p) {
  return set(Cu::cuGraphMemcpyNodeSetParams, node,
             [&](NodeSpec* spec) { return specOf(p, nullptr, spec); });
}
SIMGPU_IMPL(cuGraphMemsetNodeGetParams)(CUgraphNode node, CUDA_MEMSET_NODE_PARAMS* out) {
  return get(Cu::cuGraphMemsetNodeGetParams, node, out);
}
SIMGPU_IMPL(cuGraphMemsetNodeSetParams)(CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS* p) {
  return set(Cu::cuGraphMemsetNodeSetParams, node,
             [&](NodeSpec* spec) { return specOf(p, nullptr, spec); });
}
SIMGPU_IMPL(cuGraphHostNodeGetParams)(CUgraphNode node, CUDA_HOST_NODE_PARAMS* out) {
  return get(Cu::cuGraphHostNodeGetParams, node, out);
}
SIMGPU_IMPL(cuGraphHostNodeSetParams)(CUgraphNode node, const CUDA_HOST_NODE_PARAMS* p) {
  return set(Cu::cuGraphHostNodeSetParams, node, [&](NodeSpec* spec) { return specOf(p, spec); });
}
SIMGPU_IMPL(cuGraphBatchMemOpNodeGetParams)(CUgraphNode node, CUDA_BATCH_MEM_OP_NODE_PARAMS* out) {
  return get(Cu::cuGraphBatchMemOpNodeGetParams, node, out);
}
SIMGPU_IMPL(cuGraphBatchMemOpNodeSetParams)
(CUgraphNode node, const CUDA_BATCH_MEM_OP_NODE_PARAMS* p) {
  return set(Cu::cuGraphBatchMemOpNodeSetParams, node,
             [&](NodeSpec* spec) { return specOf(p, spec); });
}
SIMGPU_IMPL(cuGraphMemAllocNodeGetParams)(CUgraphNode node, CUDA_MEM_ALLOC_NODE_PARAMS* out) {
  return get(Cu::cuGraphMemAllocNodeGetParams, node, out);
}
SIMGPU_IMPL(cuGraphNodeGetParams)(CUgraphNode node, CUgraphNodeParams* out) {
  return get(Cu::cuGraphNodeGetParams, node, out);
}
SIMGPU_IMPL(cuGraphNodeSetParams)(CUgraphNode node, CUgraphNodeParams* p) {
  return set(Cu::cuGraphNodeSetParams, node, [&](NodeSpec* spec) { return specOf(p, spec); });
}
SIMGPU_IMPL(cuGraphNodeSetParams_v2)(CUgraphNode node, CUgraphNodeParams* p) {
  return set(Cu::cuGraphNodeSetParams_v2, node, [&](NodeSpec* spec) { return specOf(p, spec); });
}
SIMGPU_IMPL(cuGraphEventRecordNodeSetEvent)(CUgraphNode node, CUevent event) {
  return set(Cu::cuGraphEventRecordNodeSetEvent, node,
             [&](NodeSpec* spec) { return specOfEvent(event, true, spec); });
}
SIMGPU_IMPL(cuGraphEventWaitNodeSetEvent)(CUgraphNode node, CUevent event) {
  return set(Cu::cuGraphEventWaitNodeSetEvent, node,
             [&](NodeSpec* spec) { return specOfEvent(event, false, spec); });
}
SIMGPU_IMPL(cuGraphMemFreeNodeGetParams)(CUgraphNode node, CUdeviceptr* out) {
  return member<FreeOp>(Cu::cuGraphMemFreeNodeGetParams, node, out,
                        [](const FreeOp& op) { return op.address; });
}
SIMGPU_IMPL(cuGraphEventRecordNodeGetEvent)(CUgraphNode node, CUevent* out) {
  return member<EventRecordOp>(Cu::cuGraphEventRecordNodeGetEvent, node, out,
                               [](const EventRecordOp& op) { return op.event; });
}
SIMGPU_IMPL(cuGraphEventWaitNodeGetEvent)(CUgraphNode node, CUevent* out) {
  return member<EventWaitOp>(Cu::cuGraphEventWaitNodeGetEvent, node, out,
                             [](const EventWaitOp& op) { return op.event; });
}
SIMGPU_IMPL(cuGraphChildGraphNodeGetGraph)(CUgraphNode node, CUgraph* out) {
  return member<ChildOp>(Cu::cuGraphChildGraphNodeGetGraph, node, out,
                         [](const ChildOp& op) { return op.graph->handle(); });
}
SIMGPU_IMPL(cuGraphKernelNodeCopyAttributes)(CUgraphNode to, CUgraphNode from) {
  return withNode(Cu::cuGraphKernelNodeCopyAttributes, from, [&](GraphNode& source) -> CUresult {
    GraphNode* target = NodeHandles::get().find(to);
    if (target == nullptr || kernelOf(*target) == nullptr || kernelOf(source) == nullptr) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    kernelOf(*target)->attributes = kernelOf(source)->attributes;
    kernelOf(*target)->priority = kernelOf(source)->priority;
    return CUDA_SUCCESS;
  });
}
SIMGPU_IMPL(cuGraphKernelNodeGetAttribute)
(CUgraphNode handle, CUkernelNodeAttrID id, CUkernelNodeAttrValue* out) {
  return withNode(Cu::cuGraphKernelNodeGetAttribute, handle, [&](GraphNode& node) -> CUresult {
    KernelOp* op = kernelOf(node);
    if (op == nullptr || out == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const CUlaunchAttribute* known = attributeIn(*op, id);
    *out = known != nullptr ? known->value : CUkernelNodeAttrValue{};
    return CUDA_SUCCESS;
  });
}
SIMGPU_IMPL(cuGraphKernelNodeSetAttribute)
(CUgraphNode handle, CUkernelNodeAttrID id, const CUkernelNodeAttrValue* value) {
  return withNode(Cu::cuGraphKernelNodeSetAttribute, handle, [&](GraphNode& node) -> CUresult {
    KernelOp* op = kernelOf(node);
    if (op == nullptr || value == nullptr) return CUDA_ERROR_INVALID_VALUE;
    CUlaunchAttribute* known = attributeIn(*op, id);
    if (known == nullptr) known = &op->attributes.emplace_back();
    known->id = id;
    known->value = *value;
    if (id == CU_LAUNCH_ATTRIBUTE_PRIORITY) {
      op->priority = value->priority;
      op->has_priority = true;
    }
    return CUDA_SUCCESS;
  });
}

}  // namespace divvy::simgpu
