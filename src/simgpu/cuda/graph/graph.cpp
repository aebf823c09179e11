#include "cuda/graph/graph.h"

#include <algorithm>
#include <atomic>
#include <unordered_map>
#include <unordered_set>

#include "cuda/context/exec.h"

namespace divvy::simgpu {
namespace {

std::atomic<unsigned> next_graph_id{1};

void eraseNode(std::vector<GraphNode*>& list, const GraphNode* node) {
  list.erase(std::remove(list.begin(), list.end(), node), list.end());
}

}  // namespace

Graph::Graph() : id(next_graph_id.fetch_add(1)) {}

std::shared_ptr<Graph> Graph::make() {
  std::shared_ptr<Graph> graph(new Graph);
  GraphHandles::get().add(graph.get());
  return graph;
}

Graph::~Graph() {
  GraphHandles::get().remove(this);
  for (const auto& node : nodes_) NodeHandles::get().remove(node.get());
  for (const auto& [object, count] : user_objects) object->release(count);
}

GraphNode* Graph::add(CUgraphNodeType type, Operation operation,
                      const std::vector<GraphNode*>& deps) {
  auto node = std::make_unique<GraphNode>();
  node->graph = this;
  node->id = next_id_++;
  node->type = type;
  node->operation = std::move(operation);
  GraphNode* added = node.get();
  nodes_.push_back(std::move(node));
  NodeHandles::get().add(added);
  for (GraphNode* dep : deps) connect(dep, added);
  return added;
}

void Graph::remove(GraphNode* node) {
  while (!node->deps.empty()) disconnect(node->deps.back(), node);
  while (!node->dependents.empty()) disconnect(node, node->dependents.back());
  NodeHandles::get().remove(node);
  std::erase_if(nodes_, [node](const auto& owned) { return owned.get() == node; });
}

bool Graph::connect(GraphNode* from, GraphNode* to, const CUgraphEdgeData& data) {
  if (std::find(to->deps.begin(), to->deps.end(), from) != to->deps.end()) return false;
  to->deps.push_back(from);
  to->edges.push_back(data);
  from->dependents.push_back(to);
  return true;
}

bool Graph::disconnect(GraphNode* from, GraphNode* to) {
  const auto found = std::find(to->deps.begin(), to->deps.end(), from);
  if (found == to->deps.end()) return false;
  to->edges.erase(to->edges.begin() + (found - to->deps.begin()));
  to->deps.erase(found);
  eraseNode(from->dependents, to);
  return true;
}

std::shared_ptr<Graph> Graph::clone() const {
  std::shared_ptr<Graph> copy = make();
  copy->cloned_from = this;
  std::unordered_map<const GraphNode*, GraphNode*> twins;
  for (const auto& node : nodes_) {
    GraphNode* twin = copy->add(node->type, node->operation, {});
    if (auto* child = std::get_if<ChildOp>(&twin->operation)) {
      child->graph = child->graph->clone();
      child->graph->is_child = true;
    }
    twin->context = node->context;
    twin->copy = node->copy;
    twin->origin = node->id;
    twins.emplace(node.get(), twin);
  }
  for (const auto& node : nodes_) {
    for (std::size_t i = 0; i < node->deps.size(); ++i) {
      copy->connect(twins.at(node->deps[i]), twins.at(node.get()), node->edges[i]);
    }
  }
  for (const auto& [object, count] : user_objects) {
    object->retain(count);
    copy->user_objects[object] = count;
  }
  return copy;
}

std::vector<GraphNode*> Graph::ordered() const {
  std::vector<GraphNode*> order;
  std::unordered_map<const GraphNode*, std::size_t> waits;
  order.reserve(nodes_.size());
  for (const auto& node : nodes_) {
    if (node->deps.empty()) {
      order.push_back(node.get());
    } else {
      waits.emplace(node.get(), node->deps.size());
    }
  }
  for (std::size_t at = 0; at < order.size(); ++at) {
    for (GraphNode* dependent : order[at]->dependents) {
      if (--waits.at(dependent) == 0) order.push_back(dependent);
    }
  }
  if (order.size() != nodes_.size()) order.clear();
  return order;
}

bool Graph::reaches(const std::vector<GraphNode*>& from, const GraphNode* target) const {
  std::vector<GraphNode*> pending = from;
  std::unordered_set<const GraphNode*> seen(from.begin(), from.end());
  while (!pending.empty()) {
    GraphNode* node = pending.back();
    pending.pop_back();
    if (node == target) return true;
    for (GraphNode* dep : node->deps) {
      if (seen.insert(dep).second) pending.push_back(dep);
    }
  }
  return false;
}

bool Graph::hasMemoryNodes() const {
  return std::any_of(nodes_.begin(), nodes_.end(), [](const auto& node) {
    if (const auto* child = std::get_if<ChildOp>(&node->operation)) {
      return child->graph->hasMemoryNodes();
    }
    return std::holds_alternative<AllocOp>(node->operation) ||
           std::holds_alternative<FreeOp>(node->operation);
  });
}

GraphNode* Graph::findOrigin(unsigned origin_id) const {
  for (const auto& node : nodes_) {
    if (node->origin == origin_id) return node.get();
  }
  return nullptr;
}

CUresult findNodes(const CUgraphNode* handles, std::size_t count, const Graph* graph,
                   std::vector<GraphNode*>* out) {
  if (count != 0 && handles == nullptr) return CUDA_ERROR_INVALID_VALUE;
  for (std::size_t i = 0; i < count; ++i) {
    GraphNode* node = NodeHandles::get().find(handles[i]);
    if (node == nullptr || (graph != nullptr && node->graph != graph)) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    out->push_back(node);
  }
  return CUDA_SUCCESS;
}

void UserObject::retain(unsigned count) {
  count_.fetch_add(count);
}

void UserObject::release(unsigned count) {
  if (count_.fetch_sub(count) != count) return;
  // Not here: a lock may be held when the last reference is dropped, and the program's destructor
  // may wait.
  exec::callFromHostThread([destroy = destroy_, object = object_] { destroy(object); });
  UserObjectHandles::get().remove(this);
  delete this;
}

}  // namespace divvy::simgpu
