// Everything that can be put into a stream, and therefore into a graph.
#pragma once

#include "abi/cuda_types.h"

#include <memory>
#include <variant>
#include <vector>

#include "cuda/copy/copy.h"
#include "cuda/engine/engine.h"
#include "cuda/kernel/kernel_image.h"

namespace divvy::simgpu {

class Graph;
class Stream;

struct EmptyOp {};

struct KernelOp {
  CUfunction function = nullptr;             // as given; `code` is what runs
  std::shared_ptr<const KernelImage> image;  // keeps `code`
  const KernelCode* code = nullptr;
  KernelCall call;
  bool cooperative = false;
  int priority = 0;
  bool has_priority = false;
  std::vector<CUlaunchAttribute> attributes;  // of a graph node, only stored
};

struct HostOp {
  CUhostFn function = nullptr;
  void* data = nullptr;
};

struct EventRecordOp {
  CUevent event = nullptr;
};

struct EventWaitOp {
  CUevent event = nullptr;
};

struct MemOpsOp {
  std::vector<CUstreamBatchMemOpParams> list;
  unsigned flags = 0;
};

struct ChildOp {
  std::shared_ptr<Graph> graph;
};

// A memory node. The address is reserved as long as one of them holds it.
struct GraphMemory {
  GraphMemory(CUdeviceptr a, std::size_t b) : address(a), bytes(b) {}
  GraphMemory(const GraphMemory&) = delete;
  GraphMemory& operator=(const GraphMemory&) = delete;
  ~GraphMemory();

  const CUdeviceptr address;
  const std::size_t bytes;
};

// Reserves the address of an allocation node.
struct AllocOp;
CUresult reserveGraphMemory(Device& device, std::size_t bytes, AllocOp* out);

struct AllocOp {
  std::shared_ptr<GraphMemory> memory;
  CUmemPoolProps properties{};
  std::vector<CUmemAccessDesc> access;
};

struct FreeOp {
  CUdeviceptr address = 0;
};

using Operation = std::variant<EmptyOp, KernelOp, CopyPlan, MemsetPlan, HostOp, EventRecordOp,
                               EventWaitOp, MemOpsOp, ChildOp, AllocOp, FreeOp>;

// The card's work for it, in order: mostly one operation, but one for each of a batch of memory
// operations. Not for ChildOp. An event that no longer exists: CUDA_ERROR_INVALID_HANDLE.
CUresult worksOf(ExecContext& exec, const Operation& operation, std::vector<Work>* out);

// Puts an operation into a stream, or into the graph that the stream is capturing.
CUresult submit(Stream& stream, Operation operation);

// Checks one wait or write of a memory word.
CUresult checkMemOp(Context& context, const CUstreamBatchMemOpParams& operation);
Work workOfMemOp(Context& context, const CUstreamBatchMemOpParams& operation);

}  // namespace divvy::simgpu
