#include "graph_memory.h"

#include "capture.h"
#include "charge.h"
#include "runtime.h"
#include "sys.h"

namespace divvy::interposer {
namespace {

using abi::Cu;

// Graph memory comes in steps of this size.
constexpr std::uint64_t kGraphStep = std::uint64_t{2} << 20;
constexpr int kDeepestChild = 16;

// The nodes of a graph, in memory of their own.
class NodeList {
 public:
  explicit NodeList(CUgraph graph) {
    if (real<Cu::cuGraphGetNodes>()(graph, nullptr, &count_) != CUDA_SUCCESS || count_ == 0) return;
    room_ = count_ * sizeof(CUgraphNode);
    nodes_ = static_cast<CUgraphNode*>(sys::mapAnonymous(room_));
    if (nodes_ == nullptr || real<Cu::cuGraphGetNodes>()(graph, nodes_, &count_) != CUDA_SUCCESS) {
      count_ = 0;
    }
  }
  ~NodeList() {
    if (nodes_ != nullptr) sys::unmap(nodes_, room_);
  }
  NodeList(const NodeList&) = delete;
  NodeList& operator=(const NodeList&) = delete;

  const CUgraphNode* begin() const { return nodes_; }
  const CUgraphNode* end() const { return nodes_ == nullptr ? nullptr : nodes_ + count_; }

 private:
  CUgraphNode* nodes_ = nullptr;
  std::size_t count_ = 0;
  std::size_t room_ = 0;
};

void addNeed(CUgraph graph, int depth, GraphMemory::Need* need);

// False for host memory. A node made by capture need not name its device: it is the current one.
bool deviceOf(const CUmemLocation& location, CUdevice* device) {
  *device = location.id;
  if (location.type == CU_MEM_LOCATION_TYPE_DEVICE) return true;
  return location.type == CU_MEM_LOCATION_TYPE_INVALID &&
         real<Cu::cuCtxGetDevice>()(device) == CUDA_SUCCESS;
}

void addNodeNeed(CUgraphNode node, int depth, GraphMemory::Need* need) {
  CUgraphNodeType type;
  if (real<Cu::cuGraphNodeGetType>()(node, &type) != CUDA_SUCCESS) return;
  if (type == CU_GRAPH_NODE_TYPE_GRAPH) {
    CUgraph child = nullptr;
    if (real<Cu::cuGraphChildGraphNodeGetGraph>()(node, &child) == CUDA_SUCCESS) {
      addNeed(child, depth + 1, need);
    }
    return;
  }
  CUDA_MEM_ALLOC_NODE_PARAMS params{};
  CUdevice device = 0;
  const DeviceTable* table = runtime().devices.get();
  if (type != CU_GRAPH_NODE_TYPE_MEM_ALLOC || table == nullptr ||
      real<Cu::cuGraphMemAllocNodeGetParams>()(node, &params) != CUDA_SUCCESS ||
      !deviceOf(params.poolProps.location, &device)) {
    return;
  }
  need->device = table->ledgerIndex(device);
  need->bytes += (params.bytesize + kGraphStep - 1) & ~(kGraphStep - 1);
}

void addNeed(CUgraph graph, int depth, GraphMemory::Need* need) {
  if (depth > kDeepestChild) return;
  const NodeList nodes(graph);
  for (const CUgraphNode node : nodes) addNodeNeed(node, depth, need);
}

// A device of the tenant by its ledger index; false if the driver shows none.
bool driverDevice(unsigned device, CUdevice* out) {
  const DeviceTable* table = runtime().devices.get();
  for (CUdevice dev = 0; table != nullptr && dev < DeviceTable::kMostDevices; ++dev) {
    if (table->ledgerIndex(dev) != device) continue;
    *out = dev;
    return true;
  }
  return false;
}

}  // namespace

GraphMemory::Need GraphMemory::needOf(CUgraph graph) const {
  Need need;
  if (!any() || !runtime().tenant.ready()) return need;
  const RelaxedCapture relaxed;
  addNeed(graph, 0, &need);
  if (need.device == kNoDevice) need.bytes = 0;
  return need;
}

void GraphMemory::remember(CUgraphExec exec, Need need) {
  if (need.bytes == 0) return;
  execs_.insert(blockKey(exec),
                {need.bytes, static_cast<std::uint8_t>(need.device), BlockKind::kOther});
}

GraphMemory::Need GraphMemory::needOf(CUgraphExec exec) const {
  Block block;
  if (!any() || !execs_.find(blockKey(exec), &block)) return {};
  return {block.bytes, block.device};
}

void GraphMemory::forget(CUgraphExec exec) {
  Block block;
  if (!any()) return;
  execs_.take(blockKey(exec), &block);
  backed_.take(blockKey(exec), &block);
}

bool GraphMemory::isBacked(CUgraphExec exec) const {
  Block block;
  return backed_.find(blockKey(exec), &block) && block.bytes == backing();
}

void GraphMemory::noteBacked(CUgraphExec exec, std::uint64_t backing) {
  const Block block{backing, 0, BlockKind::kOther};
  if (!backed_.update(blockKey(exec), block)) backed_.insert(blockKey(exec), block);
}

bool GraphMemory::begin(const Need& need) {
  if (need.bytes == 0) return true;
  if (!reserveOrReclaim(need.device, need.bytes)) return false;
  charges_[need.device].begin(need.bytes);
  return true;
}

void GraphMemory::end(const Need& need) {
  if (need.bytes == 0) return;
  charges_[need.device].end(need.bytes);
  settle(need.device);
}

void GraphMemory::settle(unsigned device) {
  ledger::Account& account = runtime().tenant.account();
  for (unsigned i = 0; i < ledger::kMaxDevices; ++i) {
    CUdevice driver_device = 0;
    if ((device != kNoDevice && device != i) || charges_[i].charged() == 0 ||
        !driverDevice(i, &driver_device)) {
      continue;
    }
    const std::uint64_t finished = charges_[i].finished();
    cuuint64_t reserved = 0;
    const RelaxedCapture relaxed;
    if (real<Cu::cuDeviceGetGraphMemAttribute>()(
            driver_device, CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT, &reserved) != CUDA_SUCCESS) {
      continue;
    }
    if (reserved < last_reserved_[i].exchange(reserved, std::memory_order_acq_rel)) {
      backing_.fetch_add(1, std::memory_order_acq_rel);
    }
    const std::uint64_t excess = charges_[i].settle(account, i, finished, reserved);
    if (excess == 0) continue;
    noteFault(Fault::kGraphOutgrew, static_cast<std::uint32_t>(Cu::cuGraphLaunch), excess);
    charges_[i].admitMore(account, i, excess);
  }
}

void GraphMemory::trim(unsigned device) {
  CUdevice driver_device = 0;
  if (!any() || !driverDevice(device, &driver_device)) return;
  {
    const RelaxedCapture relaxed;
    real<Cu::cuDeviceGraphMemTrim>()(driver_device);
  }
  settle(device);
}

void GraphMemory::forgetAfterFork() {
  any_.store(false, std::memory_order_relaxed);
  execs_.forgetAfterFork();
  backed_.forgetAfterFork();
  for (GrowthCharge& charge : charges_) charge.forget();
}

}  // namespace divvy::interposer
