// Graphs ready to run: a private copy of the graph, flattened into a plan.
#pragma once

#include "abi/cuda_types.h"

#include <mutex>
#include <set>
#include <vector>

#include "cuda/graph/graph.h"
#include "cuda/stream/stream.h"

namespace divvy::simgpu {

class GraphExec {
 public:
  // Copies the graph. CUDA_ERROR_INVALID_VALUE for cycles (*bad is in one),
  // CUDA_ERROR_NOT_SUPPORTED for a graph with memory nodes that is instantiated already.
  static CUresult make(const Graph& graph, std::uint64_t flags, GraphExec** out, GraphNode** bad);
  ~GraphExec();
  GraphExec(const GraphExec&) = delete;
  GraphExec& operator=(const GraphExec&) = delete;

  CUgraphExec handle() { return reinterpret_cast<CUgraphExec>(this); }

  // Backs its memory nodes, then puts one run of it into the stream: after the stream's work and
  // after its own last run.
  CUresult launch(Stream& stream);
  CUresult upload();
  // The twin of a node of the graph that this was made from (child graphs included); nullptr.
  GraphNode* twinOf(const GraphNode& node) const;
  // Takes over the parameters of a graph of the same shape.
  CUgraphExecUpdateResult update(const Graph& graph, const GraphNode** bad);

  bool isEnabled(const GraphNode& twin) const;
  void setEnabled(const GraphNode& twin, bool enabled);

  const std::uint64_t flags;
  const unsigned id;
  std::shared_ptr<Graph> graph;
  std::mutex mutex;  // one launch or change at a time

 private:
  struct Step {
    GraphNode* node;
    std::vector<std::size_t> after;  // steps
    bool is_last;                    // nothing follows it
    ExecContext* exec = nullptr;     // resolved at launch
    std::vector<Work> works;
  };

  GraphExec(std::uint64_t f, std::shared_ptr<Graph> g, const Graph& source);
  bool flatten(const Graph& part, const std::vector<std::size_t>& entry,
               std::vector<std::size_t>* exits);
  CUresult prepare(Stream& stream);
  CUresult checkMemory(Stream& stream);

  std::vector<Step> plan_;
  std::set<const GraphNode*> disabled_;
  const Graph* const source_;
  OpRef last_ = 0;  // end of the last run; guarded by the card's lock
};

using GraphExecHandles = HandleSet<GraphExec, CUgraphExec>;

}  // namespace divvy::simgpu
