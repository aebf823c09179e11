#include "accounting/graph_memory.h"

#include "accounting/allocation.h"
#include "cuda/capture_scope.h"
#include "cuda/graph_nodes.h"
#include "runtime.h"

namespace divvy::interposer {
namespace {

using abi::Cu;

// Graph memory comes in steps of this size.
constexpr std::uint64_t kGraphStep = std::uint64_t{2} << 20;

void addNeed(CUgraph graph, int depth, GraphMemory::Need* need);

// Returns false for host memory. A captured node may lack its device, which then is the current
// one.
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
  const unsigned index = table->ledgerIndex(device);
  if (index == kNoDevice) return;
  need->bytes[index] += (params.bytesize + kGraphStep - 1) & ~(kGraphStep - 1);
  need->any = true;
}

void addNeed(CUgraph graph, int depth, GraphMemory::Need* need) {
  if (depth > kDeepestChild) return;
  const NodeList nodes(graph);
  for (const CUgraphNode node : nodes) addNodeNeed(node, depth, need);
}

// A device of the tenant by its ledger index; false if the driver shows none.
bool driverDevice(unsigned device, CUdevice* out) {
  const DeviceTable* table = runtime().devices.get();
  for (CUdevice dev = 0; table != nullptr && dev < DeviceTable::kMaxDriverDevices; ++dev) {
    if (table->ledgerIndex(dev) != device) continue;
    *out = dev;
    return true;
  }
  return false;
}

// Handles are addresses of objects larger than kMaxDevices bytes: one key for each device.
std::uint64_t keyOf(CUgraphExec exec, unsigned device) {
  return blockKey(exec) + device;
}

}  // namespace

GraphMemory::Need GraphMemory::needOf(CUgraph graph) const {
  Need need;
  if (!any() || !runtime().tenant.ready()) return need;
  const RelaxedCapture relaxed;
  addNeed(graph, 0, &need);
  return need;
}

void GraphMemory::remember(CUgraphExec exec, const Need& need) {
  for (unsigned i = 0; need.any && i < ledger::kMaxDevices; ++i) {
    if (need.bytes[i] == 0) continue;
    execs_.insert(keyOf(exec, i), {need.bytes[i], static_cast<std::uint8_t>(i), BlockKind::kOther});
  }
}

GraphMemory::Need GraphMemory::needOf(CUgraphExec exec) const {
  Need need;
  if (!any() || !runtime().tenant.ready()) return need;
  for (unsigned i = 0; i < runtime().tenant.deviceCount(); ++i) {
    Block block;
    if (!execs_.find(keyOf(exec, i), &block)) continue;
    need.bytes[i] = block.bytes;
    need.any = true;
  }
  return need;
}

void GraphMemory::forget(CUgraphExec exec) {
  Block block;
  for (unsigned i = 0; i < ledger::kMaxDevices; ++i) execs_.take(keyOf(exec, i), &block);
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
  if (!need.any) return true;
  for (unsigned i = 0; i < ledger::kMaxDevices; ++i) {
    if (need.bytes[i] == 0) continue;
    if (!reserveOrReclaim(i, need.bytes[i])) {
      // Takes back the growth that started on earlier devices.
      while (i-- > 0) {
        if (need.bytes[i] != 0) charges_[i].end(need.bytes[i]);
      }
      settle(kNoDevice);
      return false;
    }
    charges_[i].begin(need.bytes[i]);
    notePinned({ChargeVerdict::kAccount, i}, PinReason::kGraph);
  }
  return true;
}

void GraphMemory::end(const Need& need) {
  if (!need.any) return;
  for (unsigned i = 0; i < ledger::kMaxDevices; ++i) {
    if (need.bytes[i] != 0) charges_[i].end(need.bytes[i]);
  }
  settle(kNoDevice);
}

void GraphMemory::settle(unsigned device) {
  ledger::Account& account = runtime().tenant.account();
  for (unsigned i = 0; i < ledger::kMaxDevices; ++i) {
    CUdevice driver_device = 0;
    if ((device != kNoDevice && device != i) || charges_[i].charged() == 0 ||
        !driverDevice(i, &driver_device)) {
      continue;
    }
    const GrowthCharge::Mark before = charges_[i].mark();
    cuuint64_t reserved = 0;
    const RelaxedCapture relaxed;
    if (real<Cu::cuDeviceGetGraphMemAttribute>()(
            driver_device, CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT, &reserved) != CUDA_SUCCESS) {
      continue;
    }
    if (reserved < last_reserved_[i].exchange(reserved, std::memory_order_acq_rel)) {
      backing_.fetch_add(1, std::memory_order_acq_rel);
    }
    const std::uint64_t excess = charges_[i].settle(account, i, before, reserved);
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
