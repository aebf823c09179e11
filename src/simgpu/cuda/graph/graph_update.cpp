// Compares the shape of two graphs and copies parameters.
#include <unordered_map>

#include "cuda/graph/graph.h"
#include "cuda/kernel/module.h"

namespace divvy::simgpu {
namespace {

using Pairs = std::unordered_map<const GraphNode*, GraphNode*>;  // of the new graph -> of the old

// Nodes are paired in the order of their creation; edges must agree with that.
CUgraphExecUpdateResult pairNodes(Graph& to, const Graph& from, Pairs* pairs,
                                  const GraphNode** bad) {
  if (to.nodes().size() != from.nodes().size()) return CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
  for (std::size_t i = 0; i < to.nodes().size(); ++i) {
    pairs->emplace(from.nodes()[i].get(), to.nodes()[i].get());
  }
  for (const auto& [theirs, ours] : *pairs) {
    *bad = theirs;
    if (theirs->type != ours->type) return CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED;
    if (theirs->deps.size() != ours->deps.size()) {
      return CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
    }
    for (std::size_t i = 0; i < theirs->deps.size(); ++i) {
      if (pairs->at(theirs->deps[i]) != ours->deps[i]) {
        return CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
      }
    }
  }
  *bad = nullptr;
  return CU_GRAPH_EXEC_UPDATE_SUCCESS;
}

bool sameSpaces(const CopyPlan& a, const CopyPlan& b) {
  return a.to.space == b.to.space && a.from.space == b.from.space;
}

CUgraphExecUpdateResult checkNode(const GraphNode& ours, const GraphNode& theirs) {
  if (ours.type == CU_GRAPH_NODE_TYPE_MEM_ALLOC || ours.type == CU_GRAPH_NODE_TYPE_MEM_FREE) {
    return CU_GRAPH_EXEC_UPDATE_ERROR_NOT_SUPPORTED;
  }
  if (ours.context != theirs.context) {
    return std::holds_alternative<KernelOp>(ours.operation)
               ? CU_GRAPH_EXEC_UPDATE_ERROR_UNSUPPORTED_FUNCTION_CHANGE
               : CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED;
  }
  if (const auto* copy = std::get_if<CopyPlan>(&ours.operation)) {
    if (!sameSpaces(*copy, std::get<CopyPlan>(theirs.operation))) {
      return CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED;
    }
  }
  if (const auto* set = std::get_if<MemsetPlan>(&ours.operation)) {
    const auto& wanted = std::get<MemsetPlan>(theirs.operation);
    if ((set->height > 1 || wanted.height > 1) &&
        (set->height != wanted.height || set->width != wanted.width)) {
      return CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED;
    }
  }
  return CU_GRAPH_EXEC_UPDATE_SUCCESS;
}

CUgraphExecUpdateResult checkGraph(Graph& to, const Graph& from, const GraphNode** bad) {
  Pairs pairs;
  CUgraphExecUpdateResult result = pairNodes(to, from, &pairs, bad);
  for (auto it = pairs.begin(); it != pairs.end() && result == CU_GRAPH_EXEC_UPDATE_SUCCESS; ++it) {
    const auto& [theirs, ours] = *it;
    result = checkNode(*ours, *theirs);
    if (result != CU_GRAPH_EXEC_UPDATE_SUCCESS) *bad = theirs;
    if (const auto* child = std::get_if<ChildOp>(&ours->operation);
        child != nullptr && result == CU_GRAPH_EXEC_UPDATE_SUCCESS) {
      result = checkGraph(*child->graph, *std::get<ChildOp>(theirs->operation).graph, bad);
    }
  }
  return result;
}

void copyOperations(Graph& to, const Graph& from) {
  for (std::size_t i = 0; i < to.nodes().size(); ++i) {
    GraphNode& ours = *to.nodes()[i];
    const GraphNode& theirs = *from.nodes()[i];
    if (auto* child = std::get_if<ChildOp>(&ours.operation)) {
      copyOperations(*child->graph, *std::get<ChildOp>(theirs.operation).graph);
    } else {
      ours.operation = theirs.operation;
    }
  }
}

}  // namespace

CUgraphExecUpdateResult updateGraph(Graph& to, const Graph& from, const GraphNode** bad) {
  const CUgraphExecUpdateResult result = checkGraph(to, from, bad);
  if (result == CU_GRAPH_EXEC_UPDATE_SUCCESS) copyOperations(to, from);
  return result;
}

}  // namespace divvy::simgpu
