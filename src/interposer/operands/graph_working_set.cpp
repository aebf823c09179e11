#include "operands/graph_working_set.h"

#include "cuda/call_work.h"
#include "cuda/capture_scope.h"
#include "cuda/graph_nodes.h"
#include "operands/kernel_arguments.h"
#include "runtime.h"

namespace divvy::interposer {

using abi::Cu;

// Collects one address in each chunk that was found.
struct GraphWorkingSet::Collector {
  Record& record;

  void add(std::uint64_t address) {
    const ChunkTable& chunks = runtime().chunks;
    ChunkTable::Place place;
    if (!chunks.mayHold(address) || !chunks.find(address, &place)) return;
    const std::uint32_t count = record.count.load(std::memory_order_relaxed);
    for (std::uint32_t i = 0; i < count; ++i) {
      ChunkTable::Place known;
      const std::uint64_t other = record.addresses[i].load(std::memory_order_relaxed);
      if (chunks.find(other, &known) && known.chunk == place.chunk) return;
    }
    if (count == kMax) {
      runtime().last_use.noteUnknown();
      return;
    }
    record.addresses[count].store(address, std::memory_order_relaxed);
    record.count.store(count + 1, std::memory_order_release);
  }
};

void GraphWorkingSet::collectNode(CUgraphNode node, int depth, Collector& into) {
  CUgraphNodeType type;
  if (real<Cu::cuGraphNodeGetType>()(node, &type) != CUDA_SUCCESS) return;
  if (type == CU_GRAPH_NODE_TYPE_GRAPH) {
    CUgraph child = nullptr;
    if (real<Cu::cuGraphChildGraphNodeGetGraph>()(node, &child) == CUDA_SUCCESS) {
      collect(child, depth + 1, into);
    }
  } else if (type == CU_GRAPH_NODE_TYPE_KERNEL) {
    CUDA_KERNEL_NODE_PARAMS params{};
    if (real<Cu::cuGraphKernelNodeGetParams_v2>()(node, &params) != CUDA_SUCCESS) return;
    const CUfunction function =
        params.func != nullptr ? params.func : reinterpret_cast<CUfunction>(params.kern);
    const auto visit = [&](std::uint64_t value) { into.add(value); };
    AccessRecency& uses = runtime().last_use;
    if (!uses.visit(function, params.kernelParams, params.extra, visit)) uses.noteUnknown();
  } else if (type == CU_GRAPH_NODE_TYPE_MEMCPY) {
    CUDA_MEMCPY3D params{};
    if (real<Cu::cuGraphMemcpyNodeGetParams>()(node, &params) != CUDA_SUCCESS) return;
    if (params.srcMemoryType == CU_MEMORYTYPE_DEVICE) into.add(params.srcDevice);
    if (params.dstMemoryType == CU_MEMORYTYPE_DEVICE) into.add(params.dstDevice);
  } else if (type == CU_GRAPH_NODE_TYPE_MEMSET) {
    CUDA_MEMSET_NODE_PARAMS params{};
    if (real<Cu::cuGraphMemsetNodeGetParams>()(node, &params) == CUDA_SUCCESS) {
      into.add(params.dst);
    }
  }
}

void GraphWorkingSet::collect(CUgraph graph, int depth, Collector& into) {
  if (depth > kDeepestChild) return;
  const NodeList nodes(graph);
  for (const CUgraphNode node : nodes) collectNode(node, depth, into);
}

void GraphWorkingSet::remember(CUgraphExec exec, CUgraph graph) {
  forget(exec);  // a graph that ended with its context had the same handle
  if (!runtime().driver.saysParams()) {
    runtime().last_use.noteUnknown();
    return;
  }
  const std::uint32_t number = records_.take();
  if (number == Slab<Record>::kNone) return;
  Record& record = records_.at(number);
  record.period.store(0, std::memory_order_relaxed);
  record.count.store(0, std::memory_order_relaxed);
  {
    const RelaxedCapture relaxed;
    Collector collector{record};
    collect(graph, 0, collector);
  }
  if (record.count.load(std::memory_order_relaxed) == 0 ||
      !by_key_.insert(work_detail::keyOf(exec, 0), {number, 0, BlockKind::kOther})) {
    records_.give(number);
  }
}

void GraphWorkingSet::forget(CUgraphExec exec) {
  Block known;
  if (by_key_.take(work_detail::keyOf(exec, 0), &known)) {
    records_.give(static_cast<std::uint32_t>(known.bytes));
  }
}

// Once in a period is enough.
void GraphWorkingSet::use(std::uint64_t key) {
  Block known;
  if (!by_key_.find(key, &known)) return;
  Record& record = records_.at(static_cast<std::uint32_t>(known.bytes));
  AccessRecency& uses = runtime().last_use;
  const std::uint32_t period = uses.period();
  if (record.period.exchange(period, std::memory_order_relaxed) == period) return;
  const std::uint64_t now = uses.next();
  const std::uint32_t count = record.count.load(std::memory_order_acquire);
  for (std::uint32_t i = 0; i < count; ++i) {
    uses.noteAddress(record.addresses[i].load(std::memory_order_relaxed), now);
  }
}

void GraphWorkingSet::forgetAfterFork() {
  records_.forgetAfterFork();
  by_key_.forgetAfterFork();
}

}  // namespace divvy::interposer
