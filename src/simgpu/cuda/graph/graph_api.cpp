// Entry points about graphs as such: create, copy, walk, connect.
#include <algorithm>
#include <fstream>

#include "cuda/context/api_prologue.h"
#include "cuda/graph/capture.h"
#include "cuda/graph/graph.h"

namespace divvy::simgpu {
namespace {

template <typename Body>
CUresult withGraph(Cu id, CUgraph handle, Body&& body) {
  return withDriver(id, [&]() -> CUresult {
    Graph* graph = GraphHandles::get().find(handle);
    return graph == nullptr ? CUDA_ERROR_INVALID_VALUE : body(*graph);
  });
}

template <typename Body>
CUresult withNode(Cu id, CUgraphNode handle, Body&& body) {
  return withDriver(id, [&]() -> CUresult {
    GraphNode* node = NodeHandles::get().find(handle);
    return node == nullptr ? CUDA_ERROR_INVALID_VALUE : body(*node);
  });
}

// The driver's convention for lists: without a buffer the count; else the entries that fit, the
// rest NULL.
CUresult copyNodes(const std::vector<GraphNode*>& nodes, CUgraphNode* out, std::size_t* count) {
  if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (out != nullptr) {
    for (std::size_t i = 0; i < *count; ++i) {
      out[i] = i < nodes.size() ? nodes[i]->handle() : nullptr;
    }
    *count = std::min(*count, nodes.size());
  } else {
    *count = nodes.size();
  }
  return CUDA_SUCCESS;
}

CUresult copyEdgeData(const std::vector<CUgraphEdgeData>& edges, CUgraphEdgeData* out,
                      std::size_t room) {
  for (std::size_t i = 0; out != nullptr && i < room && i < edges.size(); ++i) out[i] = edges[i];
  return CUDA_SUCCESS;
}

CUresult nodes(Cu id, CUgraph handle, CUgraphNode* out, std::size_t* count, bool roots_only) {
  return withGraph(id, handle, [&](Graph& graph) {
    std::vector<GraphNode*> found;
    for (const auto& node : graph.nodes()) {
      if (!roots_only || node->deps.empty()) found.push_back(node.get());
    }
    return copyNodes(found, out, count);
  });
}

CUresult edges(Cu id, CUgraph handle, CUgraphNode* from, CUgraphNode* to, CUgraphEdgeData* data,
               std::size_t* count) {
  return withGraph(id, handle, [&](Graph& graph) -> CUresult {
    std::vector<GraphNode*> sources;
    std::vector<GraphNode*> targets;
    std::vector<CUgraphEdgeData> all;
    for (const auto& node : graph.nodes()) {
      for (std::size_t i = 0; i < node->deps.size(); ++i) {
        sources.push_back(node->deps[i]);
        targets.push_back(node.get());
        all.push_back(node->edges[i]);
      }
    }
    if (count == nullptr || (from == nullptr) != (to == nullptr)) return CUDA_ERROR_INVALID_VALUE;
    const std::size_t room = *count;
    const CUresult given = copyNodes(sources, from, count);
    if (given != CUDA_SUCCESS) return given;
    *count = room;
    copyNodes(targets, to, count);
    return copyEdgeData(all, data, room);
  });
}

CUresult dependencies(Cu id, CUgraphNode handle, CUgraphNode* out, CUgraphEdgeData* data,
                      std::size_t* count) {
  return withNode(id, handle, [&](GraphNode& node) -> CUresult {
    const std::size_t room = count == nullptr ? 0 : *count;
    const CUresult given = copyNodes(node.deps, out, count);
    return given != CUDA_SUCCESS ? given : copyEdgeData(node.edges, data, room);
  });
}

CUresult dependents(Cu id, CUgraphNode handle, CUgraphNode* out, CUgraphEdgeData* data,
                    std::size_t* count) {
  return withNode(id, handle, [&](GraphNode& node) -> CUresult {
    const std::size_t room = count == nullptr ? 0 : *count;
    std::vector<CUgraphEdgeData> all;
    for (const GraphNode* dependent : node.dependents) {
      const auto at = std::find(dependent->deps.begin(), dependent->deps.end(), &node);
      all.push_back(dependent->edges[static_cast<std::size_t>(at - dependent->deps.begin())]);
    }
    const CUresult given = copyNodes(node.dependents, out, count);
    return given != CUDA_SUCCESS ? given : copyEdgeData(all, data, room);
  });
}

CUresult changeEdges(Cu id, CUgraph handle, const CUgraphNode* from, const CUgraphNode* to,
                     const CUgraphEdgeData* data, std::size_t count, bool add) {
  return withGraph(id, handle, [&](Graph& graph) -> CUresult {
    std::vector<GraphNode*> sources;
    std::vector<GraphNode*> targets;
    CUresult known = findNodes(from, count, &graph, &sources);
    if (known == CUDA_SUCCESS) known = findNodes(to, count, &graph, &targets);
    if (known != CUDA_SUCCESS) return known;
    if (!add && graph.hasMemoryNodes()) return CUDA_ERROR_NOT_SUPPORTED;
    for (std::size_t i = 0; i < count; ++i) {
      const bool done = add ? sources[i] != targets[i] &&
                                  graph.connect(sources[i], targets[i],
                                                data != nullptr ? data[i] : CUgraphEdgeData{})
                            : graph.disconnect(sources[i], targets[i]);
      if (!done) return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
  });
}

// The graph in the language of Graphviz.
CUresult printDot(const Graph& graph, const char* path) {
  if (path == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::ofstream file(path);
  if (!file) return CUDA_ERROR_OPERATING_SYSTEM;
  file << "digraph graph_" << graph.id << " {\n";
  for (const auto& node : graph.nodes()) {
    file << "  n" << node->id << " [label=\"" << node->id << " type "
         << static_cast<int>(node->type);
    if (const auto* kernel = std::get_if<KernelOp>(&node->operation)) {
      file << ' ' << kernel->code->name;
    }
    file << "\"];\n";
    for (const GraphNode* dep : node->deps) {
      file << "  n" << dep->id << " -> n" << node->id << ";\n";
    }
  }
  file << "}\n";
  return file.good() ? CUDA_SUCCESS : CUDA_ERROR_OPERATING_SYSTEM;
}

}  // namespace

SIMGPU_IMPL(cuGraphCreate)(CUgraph* out, unsigned flags) {
  return withDriver(Cu::cuGraphCreate, [&]() -> CUresult {
    if (out == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
    const std::shared_ptr<Graph> graph = Graph::make();
    graph->keeper = graph;
    *out = graph->handle();
    return CUDA_SUCCESS;
  });
}
SIMGPU_IMPL(cuGraphDestroy)(CUgraph handle) {
  return withGraph(Cu::cuGraphDestroy, handle, [](Graph& graph) -> CUresult {
    // a child's graph, or being captured
    if (graph.keeper == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const std::shared_ptr<Graph> last = std::move(graph.keeper);
    return CUDA_SUCCESS;
  });
}
SIMGPU_IMPL(cuGraphClone)(CUgraph* out, CUgraph handle) {
  return withGraph(Cu::cuGraphClone, handle, [&](Graph& graph) -> CUresult {
    if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (graph.hasMemoryNodes()) return CUDA_ERROR_NOT_SUPPORTED;
    const std::shared_ptr<Graph> copy = graph.clone();
    copy->keeper = copy;
    *out = copy->handle();
    return CUDA_SUCCESS;
  });
}
SIMGPU_IMPL(cuGraphNodeFindInClone)(CUgraphNode* out, CUgraphNode original, CUgraph clone) {
  return withGraph(Cu::cuGraphNodeFindInClone, clone, [&](Graph& graph) -> CUresult {
    GraphNode* node = NodeHandles::get().find(original);
    if (out == nullptr || node == nullptr || node->graph != graph.cloned_from) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    GraphNode* twin = graph.findOrigin(node->id);
    if (twin == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *out = twin->handle();
    return CUDA_SUCCESS;
  });
}
SIMGPU_IMPL(cuGraphGetNodes)(CUgraph graph, CUgraphNode* out, std::size_t* count) {
  return nodes(Cu::cuGraphGetNodes, graph, out, count, false);
}
SIMGPU_IMPL(cuGraphGetRootNodes)(CUgraph graph, CUgraphNode* out, std::size_t* count) {
  return nodes(Cu::cuGraphGetRootNodes, graph, out, count, true);
}
SIMGPU_IMPL(cuGraphGetEdges)
(CUgraph graph, CUgraphNode* from, CUgraphNode* to, std::size_t* count) {
  return edges(Cu::cuGraphGetEdges, graph, from, to, nullptr, count);
}
SIMGPU_IMPL(cuGraphGetEdges_v2)
(CUgraph graph, CUgraphNode* from, CUgraphNode* to, CUgraphEdgeData* data, std::size_t* count) {
  return edges(Cu::cuGraphGetEdges_v2, graph, from, to, data, count);
}
SIMGPU_IMPL(cuGraphNodeGetDependencies)
(CUgraphNode node, CUgraphNode* out, std::size_t* count) {
  return dependencies(Cu::cuGraphNodeGetDependencies, node, out, nullptr, count);
}
SIMGPU_IMPL(cuGraphNodeGetDependencies_v2)
(CUgraphNode node, CUgraphNode* out, CUgraphEdgeData* data, std::size_t* count) {
  return dependencies(Cu::cuGraphNodeGetDependencies_v2, node, out, data, count);
}
SIMGPU_IMPL(cuGraphNodeGetDependentNodes)
(CUgraphNode node, CUgraphNode* out, std::size_t* count) {
  return dependents(Cu::cuGraphNodeGetDependentNodes, node, out, nullptr, count);
}
SIMGPU_IMPL(cuGraphNodeGetDependentNodes_v2)
(CUgraphNode node, CUgraphNode* out, CUgraphEdgeData* data, std::size_t* count) {
  return dependents(Cu::cuGraphNodeGetDependentNodes_v2, node, out, data, count);
}
SIMGPU_IMPL(cuGraphAddDependencies)
(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to, std::size_t count) {
  return changeEdges(Cu::cuGraphAddDependencies, graph, from, to, nullptr, count, true);
}
SIMGPU_IMPL(cuGraphAddDependencies_v2)
(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to, const CUgraphEdgeData* data,
 std::size_t count) {
  return changeEdges(Cu::cuGraphAddDependencies_v2, graph, from, to, data, count, true);
}
SIMGPU_IMPL(cuGraphRemoveDependencies)
(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to, std::size_t count) {
  return changeEdges(Cu::cuGraphRemoveDependencies, graph, from, to, nullptr, count, false);
}
SIMGPU_IMPL(cuGraphRemoveDependencies_v2)
(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to, const CUgraphEdgeData* data,
 std::size_t count) {
  return changeEdges(Cu::cuGraphRemoveDependencies_v2, graph, from, to, data, count, false);
}
SIMGPU_IMPL(cuGraphDestroyNode)(CUgraphNode handle) {
  return withNode(Cu::cuGraphDestroyNode, handle, [](GraphNode& node) -> CUresult {
    if (node.graph->hasMemoryNodes()) return CUDA_ERROR_NOT_SUPPORTED;
    node.graph->remove(&node);
    return CUDA_SUCCESS;
  });
}
SIMGPU_IMPL(cuGraphNodeGetType)(CUgraphNode handle, CUgraphNodeType* out) {
  return withNode(Cu::cuGraphNodeGetType, handle, [&](GraphNode& node) -> CUresult {
    if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *out = node.type;
    return CUDA_SUCCESS;
  });
}
SIMGPU_IMPL(cuGraphNodeGetContainingGraph)(CUgraphNode handle, CUgraph* out) {
  return withNode(Cu::cuGraphNodeGetContainingGraph, handle, [&](GraphNode& node) -> CUresult {
    if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *out = node.graph->handle();
    return CUDA_SUCCESS;
  });
}
SIMGPU_IMPL(cuGraphNodeGetLocalId)(CUgraphNode handle, unsigned* out) {
  return withNode(Cu::cuGraphNodeGetLocalId, handle, [&](GraphNode& node) -> CUresult {
    if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *out = node.id;
    return CUDA_SUCCESS;
  });
}
SIMGPU_IMPL(cuGraphNodeGetToolsId)(CUgraphNode handle, unsigned long long* out) {
  return withNode(Cu::cuGraphNodeGetToolsId, handle, [&](GraphNode& node) -> CUresult {
    if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *out = std::uint64_t{node.graph->id} << 32 | node.id;
    return CUDA_SUCCESS;
  });
}
SIMGPU_IMPL(cuGraphGetId)(CUgraph handle, unsigned* out) {
  return withGraph(Cu::cuGraphGetId, handle, [&](Graph& graph) -> CUresult {
    if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *out = graph.id;
    return CUDA_SUCCESS;
  });
}
SIMGPU_IMPL(cuGraphDebugDotPrint)(CUgraph handle, const char* path, unsigned) {
  return withGraph(Cu::cuGraphDebugDotPrint, handle,
                   [&](Graph& graph) { return printDot(graph, path); });
}

}  // namespace divvy::simgpu
