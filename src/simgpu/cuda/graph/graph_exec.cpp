#include "cuda/graph/graph_exec.h"

#include <algorithm>
#include <atomic>
#include <unordered_map>

#include "cuda/memory/memory.h"
#include "cuda/pool/pool_exec.h"

namespace divvy::simgpu {
namespace {

std::atomic<unsigned> next_exec_id{1};

// Instantiated graphs with memory nodes: their addresses can serve one run at a time.
struct BusyGraphs {
  std::mutex mutex;
  std::set<const Graph*> graphs;
};
BusyGraphs& busy() {
  static BusyGraphs* const all = new BusyGraphs;
  return *all;
}

// One operation of a run: after given ones, optionally after a stream's work, optionally its new
// end.
class StepPlacement final : public Placement {
 public:
  explicit StepPlacement(std::vector<OpRef> after) : after_(std::move(after)) {}
  void begins(Stream& stream) { begins_ = &stream; }
  void ends(Stream& stream, OpRef* last) {
    ends_ = &stream;
    last_ = last;
  }
  void collect(Timeline& line, std::vector<OpRef>* deps) override {
    deps->insert(deps->end(), after_.begin(), after_.end());
    if (begins_ != nullptr) begins_->collect(line, deps);
  }
  void placed(OpRef ref) override {
    if (ends_ != nullptr) ends_->placed(ref);
    if (last_ != nullptr) *last_ = ref;
  }

 private:
  std::vector<OpRef> after_;
  Stream* begins_ = nullptr;
  Stream* ends_ = nullptr;
  OpRef* last_ = nullptr;
};

bool isOpen(Context& context, CUdeviceptr address) {
  return checkAccess(context, address, 1, Access::kRead, true) == CUDA_SUCCESS;
}

}  // namespace

GraphExec::GraphExec(std::uint64_t f, std::shared_ptr<Graph> g, const Graph& source)
    : flags(f), id(next_exec_id.fetch_add(1)), graph(std::move(g)), source_(&source) {}

GraphExec::~GraphExec() {
  GraphExecHandles::get().remove(this);
  const std::lock_guard guard(busy().mutex);
  busy().graphs.erase(source_);
}

CUresult GraphExec::make(const Graph& graph, std::uint64_t flags, GraphExec** out,
                         GraphNode** bad) {
  *bad = nullptr;
  const bool holds_memory = graph.hasMemoryNodes();
  std::unique_ptr<GraphExec> exec(new GraphExec(flags, graph.clone(), graph));
  std::vector<std::size_t> exits;
  if (!exec->flatten(*exec->graph, {}, &exits)) {
    if (!graph.nodes().empty()) *bad = graph.nodes().front().get();
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (holds_memory) {
    const std::lock_guard guard(busy().mutex);
    if (!busy().graphs.insert(&graph).second) return CUDA_ERROR_NOT_SUPPORTED;
  }
  *out = exec.release();
  GraphExecHandles::get().add(*out);
  return CUDA_SUCCESS;
}

// Child graphs replace their nodes. False: there is a cycle.
bool GraphExec::flatten(const Graph& part, const std::vector<std::size_t>& entry,
                        std::vector<std::size_t>* exits) {
  const std::vector<GraphNode*> order = part.ordered();
  if (order.empty() && !part.nodes().empty()) return false;
  std::unordered_map<const GraphNode*, std::vector<std::size_t>> ends;
  for (GraphNode* node : order) {
    std::vector<std::size_t> after = node->deps.empty() ? entry : std::vector<std::size_t>{};
    for (const GraphNode* dep : node->deps) {
      const auto& of_dep = ends.at(dep);
      after.insert(after.end(), of_dep.begin(), of_dep.end());
    }
    std::vector<std::size_t>& own = ends[node];
    if (const auto* child = std::get_if<ChildOp>(&node->operation)) {
      if (!flatten(*child->graph, after, &own)) return false;
      if (child->graph->nodes().empty()) own = after;
    } else {
      for (const std::size_t before : after) plan_[before].is_last = false;
      own = {plan_.size()};
      plan_.push_back({.node = node, .after = std::move(after), .is_last = true, .works = {}});
    }
    if (node->dependents.empty()) exits->insert(exits->end(), own.begin(), own.end());
  }
  return true;
}

bool GraphExec::isEnabled(const GraphNode& twin) const {
  return disabled_.count(&twin) == 0;
}

void GraphExec::setEnabled(const GraphNode& twin, bool enabled) {
  if (enabled) {
    disabled_.erase(&twin);
  } else {
    disabled_.insert(&twin);
  }
}

GraphNode* GraphExec::twinOf(const GraphNode& node) const {
  std::vector<const Graph*> pending{graph.get()};
  while (!pending.empty()) {
    const Graph* part = pending.back();
    pending.pop_back();
    if (part->cloned_from == node.graph) return part->findOrigin(node.id);
    for (const auto& own : part->nodes()) {
      if (const auto* child = std::get_if<ChildOp>(&own->operation)) {
        pending.push_back(child->graph.get());
      }
    }
  }
  return nullptr;
}

CUresult GraphExec::upload() {
  for (const Step& step : plan_) {
    const auto* alloc = std::get_if<AllocOp>(&step.node->operation);
    if (alloc == nullptr) continue;
    const CUresult backed = graphBack(alloc->memory->address);
    if (backed != CUDA_SUCCESS) return backed;
  }
  return CUDA_SUCCESS;
}

// An allocation that its last run left must have been freed, or is freed now if the graph was
// instantiated so.
CUresult GraphExec::checkMemory(Stream& stream) {
  for (const Step& step : plan_) {
    const auto* alloc = std::get_if<AllocOp>(&step.node->operation);
    if (alloc == nullptr || !isOpen(stream.exec.context, alloc->memory->address)) continue;
    const bool freed_within = std::any_of(plan_.begin(), plan_.end(), [&](const Step& other) {
      const auto* free = std::get_if<FreeOp>(&other.node->operation);
      return free != nullptr && free->address == alloc->memory->address;
    });
    if (freed_within) continue;
    if ((flags & CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH) == 0) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    const CUresult freed = submit(stream, FreeOp{alloc->memory->address});
    if (freed != CUDA_SUCCESS) return freed;
  }
  return upload();
}

// Does everything that can fail before anything is put onto the card.
CUresult GraphExec::prepare(Stream& stream) {
  for (Step& step : plan_) {
    step.exec = &stream.exec;
    if (step.node->context != nullptr) {
      Context* context = findContext(step.node->context);
      if (context == nullptr) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
      if (&execOf(*context).device != &stream.exec.device) return CUDA_ERROR_NOT_SUPPORTED;
      step.exec = &execOf(*context);
    }
    step.works.clear();
    const bool runs = isEnabled(*step.node);
    const CUresult made =
        worksOf(*step.exec, runs ? step.node->operation : Operation{EmptyOp{}}, &step.works);
    if (made != CUDA_SUCCESS) return made;
    const bool own_priorities = (flags & CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY) != 0;
    for (Work& work : step.works) {
      if (!own_priorities) work.spec.priority = static_cast<std::int8_t>(stream.priority);
    }
  }
  return checkMemory(stream);
}

CUresult GraphExec::launch(Stream& stream) {
  const std::lock_guard guard(mutex);
  const CUresult prepared = prepare(stream);
  if (prepared != CUDA_SUCCESS) return prepared;
  const auto roots = std::count_if(plan_.begin(), plan_.end(),
                                   [](const Step& step) { return step.after.empty(); });
  const auto leaves =
      std::count_if(plan_.begin(), plan_.end(), [](const Step& step) { return step.is_last; });
  OpRef head = 0;
  if (roots != 1) {
    StepPlacement where({last_});
    where.begins(stream);
    head = place(stream.exec, Work{}, where);
  }
  std::vector<OpRef> refs;
  std::vector<OpRef> ends;
  for (Step& step : plan_) {
    std::vector<OpRef> after;
    for (const std::size_t before : step.after) after.push_back(refs[before]);
    if (step.after.empty()) after.push_back(roots == 1 ? last_ : head);
    for (std::size_t i = 0; i < step.works.size(); ++i) {
      StepPlacement where(std::move(after));
      if (i == 0 && step.after.empty() && roots == 1) where.begins(stream);
      const bool final_one = step.is_last && leaves == 1 && i + 1 == step.works.size();
      if (final_one) where.ends(stream, &last_);
      if (final_one) step.works[i].task.keeps = graph;
      after = {place(*step.exec, std::move(step.works[i]), where)};
    }
    refs.push_back(after.front());
    if (step.is_last) ends.push_back(refs.back());
  }
  if (leaves != 1) {
    ends.push_back(head);
    StepPlacement where(std::move(ends));
    where.ends(stream, &last_);
    Work end;
    end.task.keeps = graph;
    place(stream.exec, std::move(end), where);
  }
  return CUDA_SUCCESS;
}

CUgraphExecUpdateResult GraphExec::update(const Graph& from, const GraphNode** bad) {
  const std::lock_guard guard(mutex);
  *bad = nullptr;
  return updateGraph(*graph, from, bad);
}

}  // namespace divvy::simgpu
