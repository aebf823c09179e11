#include "accounting/contexts.h"

#include "accounting/charge.h"
#include "cuda/capture_scope.h"
#include "runtime.h"

namespace divvy::interposer {
namespace {

using abi::Cu;

struct Sweep {
  unsigned device;
  CUcontext context;
  bool device_is_empty;  // no context is left on it, so no block of one is alive
};

// Returns true if no context of this process is left on the device, among those that the library
// made or saw.
bool deviceIsEmpty(unsigned device) {
  if (runtime().primaries.charged(device)) return false;
  struct Search {
    unsigned device;
    bool found;
  } search{device, false};
  runtime().contexts.forEach(
      [](void* context, std::uint64_t, Block block) {
        auto* wanted = static_cast<Search*>(context);
        wanted->found = wanted->found || block.device == wanted->device;
      },
      &search);
  return !search.found;
}

void takeAndGiveBack(AddressMap& map, std::uint64_t key) {
  Block block;
  if (map.take(key, &block)) giveBack(block);
}

// Pools belong to the device and may outlive its contexts, so their blocks are always queried.
void sweepBlock(void* argument, std::uint64_t address, Block block) {
  const auto* sweep = static_cast<const Sweep*>(argument);
  if (block.device != sweep->device) return;
  if (!sweep->device_is_empty || block.kind == BlockKind::kPooled) {
    CUcontext owner = nullptr;
    const CUresult result =
        real<Cu::cuPointerGetAttribute>()(&owner, CU_POINTER_ATTRIBUTE_CONTEXT, address);
    if (result != CUDA_ERROR_INVALID_VALUE) return;
  }
  takeAndGiveBack(runtime().blocks, address);
}

// An array's handle is memory of the driver, so the driver cannot be asked about one that may be
// dead.
void sweepArray(void* argument, std::uint64_t handle, Block owner) {
  const auto* sweep = static_cast<const Sweep*>(argument);
  const bool dead = owner.bytes == reinterpret_cast<std::uint64_t>(sweep->context);
  if (!dead || owner.device != sweep->device) return;
  Block gone;
  runtime().array_owners.take(handle, &gone);
  takeAndGiveBack(runtime().arrays, handle);
  runtime().vmm.endArray(handle);
}

}  // namespace

std::uint64_t contextBytes(unsigned device) {
  const ledger::ControlPage& control = runtime().tenant.control();
  const std::uint32_t flags = control.header.flags;
  const bool free =
      (flags & ledger::kContextOverheadOutside) != 0 && (flags & ledger::kOneContextOutside) == 0;
  if (free) return 0;
  return control.devices[device].context_bytes;
}

void noteContext(std::int64_t bytes) {
  Runtime& state = runtime();
  const std::uint64_t change = static_cast<std::uint64_t>(bytes);
  const std::uint64_t before = state.context_bytes.fetch_add(change, std::memory_order_relaxed);
  state.tenant.account().setContextBytes(before + change);
}

bool PrimaryContexts::admit(unsigned device) {
  std::atomic<std::uint64_t>& word = words_[device];
  const std::uint64_t before = word.fetch_add(kStep, std::memory_order_acq_rel);
  if ((before & kCharged) != 0) return true;
  const std::uint64_t bytes = contextBytes(device);
  if (!reserveOrReclaim(device, bytes)) return charged(device);
  // If several threads charged at once, one of them keeps its charge.
  if ((word.fetch_or(kCharged, std::memory_order_acq_rel) & kCharged) != 0) {
    runtime().tenant.account().release(device, bytes);
  } else {
    noteContext(static_cast<std::int64_t>(bytes));
  }
  return true;
}

bool PrimaryContexts::settle(unsigned device, CUdevice driver_device) {
  std::atomic<std::uint64_t>& word = words_[device];
  for (std::uint64_t seen = word.load(std::memory_order_acquire); (seen & kCharged) != 0;) {
    unsigned flags = 0;
    int active = 1;
    {
      const RelaxedCapture relaxed;
      if (real<Cu::cuDevicePrimaryCtxGetState>()(driver_device, &flags, &active) != CUDA_SUCCESS ||
          active != 0) {
        return false;
      }
    }
    if (!word.compare_exchange_strong(seen, seen & ~kCharged, std::memory_order_acq_rel)) continue;
    runtime().tenant.account().release(device, contextBytes(device));
    noteContext(-static_cast<std::int64_t>(contextBytes(device)));
    if (runtime().swap_board.claimed()) runtime().swap_board.showPinned(device);
    return true;
  }
  return false;
}

void PrimaryContexts::forgetAfterFork() {
  for (auto& word : words_) word.store(0, std::memory_order_relaxed);
  for (auto& handle : handles_) handle.store(nullptr, std::memory_order_relaxed);
}

void sweepAfterContext(unsigned device, CUcontext context) {
  Sweep sweep{device, context, deviceIsEmpty(device)};
  runtime().blocks.forEach(sweepBlock, &sweep);
  runtime().swappable.sweep(device, context, sweep.device_is_empty);
  runtime().ipc_imports.sweep(device, context, sweep.device_is_empty);
  if (context != nullptr) runtime().array_owners.forEach(sweepArray, &sweep);
  runtime().pools.settleAll(device);
}

}  // namespace divvy::interposer
