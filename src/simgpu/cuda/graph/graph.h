// Graphs as programs describe them: nodes and edges, nothing that runs.
#pragma once

#include "abi/cuda_types.h"

#include <map>
#include <memory>
#include <vector>

#include "cuda/engine/engine_handles.h"
#include "cuda/stream/stream_op.h"

namespace divvy::simgpu {

class Graph;
class UserObject;

struct GraphNode {
  Graph* graph = nullptr;
  unsigned id = 0;  // unique in its graph
  CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
  Operation operation;
  CUcontext context = nullptr;  // it runs in; nullptr: that of the launch
  unsigned origin = 0;          // id of the node that this one was cloned from
  std::vector<GraphNode*> deps;
  std::vector<CUgraphEdgeData> edges;  // of deps, index for index
  std::vector<GraphNode*> dependents;

  // Targets of the parameter queries' pointers, valid until the node's parameters change.
  std::vector<void*> shown_params;
  std::shared_ptr<CUDA_MEMCPY3D> copy;  // as the program described it; captures describe nothing

  CUgraphNode handle() { return reinterpret_cast<CUgraphNode>(this); }
};

// Not synchronised, as the driver documents; captures change theirs under captureMutex().
class Graph : public std::enable_shared_from_this<Graph> {
 public:
  static std::shared_ptr<Graph> make();
  ~Graph();
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  CUgraph handle() { return reinterpret_cast<CUgraph>(this); }

  GraphNode* add(CUgraphNodeType type, Operation operation, const std::vector<GraphNode*>& deps);
  void remove(GraphNode* node);
  // False when the edge is there already / is not there.
  bool connect(GraphNode* from, GraphNode* to, const CUgraphEdgeData& data = {});
  bool disconnect(GraphNode* from, GraphNode* to);

  // Deep: copies child graphs too. The clone records the origin of each node.
  std::shared_ptr<Graph> clone() const;
  // Dependencies before dependents; empty when there is a cycle (and the graph is not empty).
  std::vector<GraphNode*> ordered() const;
  bool reaches(const std::vector<GraphNode*>& from, const GraphNode* target) const;
  bool hasMemoryNodes() const;

  const std::vector<std::unique_ptr<GraphNode>>& nodes() const { return nodes_; }
  GraphNode* findOrigin(unsigned origin_id) const;

  const unsigned id;
  bool is_child = false;          // belongs to a node of another graph
  std::shared_ptr<Graph> keeper;  // itself, while the program holds the handle
  const Graph* cloned_from = nullptr;
  std::map<UserObject*, unsigned> user_objects;

 private:
  Graph();
  std::vector<std::unique_ptr<GraphNode>> nodes_;
  unsigned next_id_ = 1;
};

using GraphHandles = HandleSet<Graph, CUgraph>;
using NodeHandles = HandleSet<GraphNode, CUgraphNode>;

// The handles as nodes, all of them of one graph (nullptr: of any). INVALID_VALUE otherwise.
CUresult findNodes(const CUgraphNode* handles, std::size_t count, const Graph* graph,
                   std::vector<GraphNode*>* out);

// Gives `to` the parameters of a graph of the same shape; all or nothing. *bad: a node of `from`
// that does not fit, if one is to blame.
CUgraphExecUpdateResult updateGraph(Graph& to, const Graph& from, const GraphNode** bad);

// Reference-counted objects of the program that live as long as graphs need them.
class UserObject {
 public:
  UserObject(void* object, CUhostFn destroy, unsigned count)
      : object_(object), destroy_(destroy), count_(count) {}
  void retain(unsigned count);
  // Destroys itself when the last reference goes; the program's destructor runs soon after, on the
  // thread of the host functions.
  void release(unsigned count);

 private:
  void* const object_;
  const CUhostFn destroy_;
  std::atomic<std::uint64_t> count_;
};

using UserObjectHandles = HandleSet<UserObject, CUuserObject>;

}  // namespace divvy::simgpu
