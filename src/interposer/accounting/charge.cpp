#include "accounting/charge.h"

#include "cuda/capture_scope.h"
#include "runtime.h"

namespace divvy::interposer {
namespace {

using abi::Cu;

constexpr ChargeTarget kPassing{ChargeVerdict::kPass, kNoDevice};

ChargeTarget seatWithoutTenant(TenantState state, Cu site) {
  if (state == TenantState::kNone) return kPassing;
  noteFault(Fault::kPagesUnusable, static_cast<std::uint32_t>(site),
            static_cast<std::uint64_t>(runtime().tenant.openStatus()));
  return {ChargeVerdict::kUnknownLimit, kNoDevice};
}

ChargeTarget seatFor(const DeviceTable& table, CUdevice device, Cu site) {
  const unsigned index = table.ledgerIndex(device);
  if (index != kNoDevice) return {ChargeVerdict::kAccount, index};
  noteFault(Fault::kForeignDevice, static_cast<std::uint32_t>(site),
            static_cast<std::uint64_t>(device));
  return {ChargeVerdict::kForeign, kNoDevice};
}

}  // namespace

ChargeTarget chargeTargetOfContext(Cu site) {
  const TenantState state = runtime().tenant.state();
  if (state != TenantState::kReady) return seatWithoutTenant(state, site);
  const DeviceTable* table = runtime().devices.get();
  if (table == nullptr) return kPassing;
  if (table->only != kNoDevice) return {ChargeVerdict::kAccount, table->only};
  CUdevice device = -1;
  const RelaxedCapture relaxed;
  if (real<Cu::cuCtxGetDevice>()(&device) != CUDA_SUCCESS) return kPassing;
  return seatFor(*table, device, site);
}

ChargeTarget seatOfDevice(CUdevice device, Cu site) {
  const TenantState state = runtime().tenant.state();
  if (state != TenantState::kReady) return seatWithoutTenant(state, site);
  const DeviceTable* table = runtime().devices.get();
  return table == nullptr ? kPassing : seatFor(*table, device, site);
}

std::uint64_t roundToGranule(unsigned device, std::uint64_t bytes) {
  const std::uint64_t granule = runtime().tenant.control().devices[device].alloc_granule;
  // A granule of a driver is a power of two.
  if (granule == 0 || (granule & (granule - 1)) != 0) return bytes;
  const std::uint64_t rounded = (bytes + granule - 1) & ~(granule - 1);
  return rounded < bytes ? UINT64_MAX : rounded;
}

bool reserveAfterReclaim(unsigned device, std::uint64_t bytes) {
  MempoolTracker& pools = runtime().pools;
  GraphMemory& graphs = runtime().graphs;
  ledger::Account& account = runtime().tenant.account();
  if (runtime().stream_memory.any()) {
    runtime().stream_memory.reclaim();
    if (account.reserve(device, bytes) == ledger::Admission::kGranted) return true;
  }
  if (runtime().swappable.awaitFrees() &&
      account.reserve(device, bytes) == ledger::Admission::kGranted) {
    return true;
  }
  if (!pools.any() && !graphs.any()) return false;
  pools.settleAll(device);
  graphs.settle(device);
  if (account.reserve(device, bytes) == ledger::Admission::kGranted) return true;
  pools.trimAll(device);
  graphs.trim(device);
  return account.reserve(device, bytes) == ledger::Admission::kGranted;
}

void giveBack(const Block& block) {
  switch (block.kind) {
    case BlockKind::kPooled:
      runtime().pools.blockFreed(block.bytes);
      break;
    case BlockKind::kOther:  // does not count bytes
      break;
    default:
      runtime().tenant.account().release(block.device, block.bytes);
      if (__builtin_expect(runtime().swap_board.claimed(), 0)) {
        runtime().swap_board.showPinned(block.device);
      }
  }
}

CUresult refuse(RefusalCause cause, std::uint64_t bytes) {
  runtime().refusals.fetch_add(1, std::memory_order_relaxed);
  if (cause == RefusalCause::kOverLimit) ledger::noteOverLimit(runtime().tenant.account(), bytes);
  if (cause == RefusalCause::kDeviceFull) {
    ledger::noteDeviceFull(runtime().tenant.account(), bytes);
    // For agents that do not read the ledger's counter.
    if (runtime().swap_board.claimed())
      ledger::bumpShared(runtime().swap_board.line().pressure_refusals, 1);
  }
  return CUDA_ERROR_OUT_OF_MEMORY;
}

}  // namespace divvy::interposer
