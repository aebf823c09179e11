#include "nvml/tenant.h"

#include <new>

#include "support/faults.h"
#include "support/syscalls.h"

namespace divvy::interposer {
namespace {

// The runtime object of libdivvy-nvml.so. `mine` is null until the first call, and kNobody without
// a tenant.
struct Runtime {
  Tenant tenant;
  std::atomic<NvmlTenant*> mine{nullptr};
  ledger::Account detached;
  NvmlTenant unready{detached};  // has no devices
};
constinit Runtime runtime;
NvmlTenant* const kNobody = reinterpret_cast<NvmlTenant*>(1);

// Several threads may run this: each makes its own object, one is kept. No thread waits, so a fork
// at any instant leaves the child nothing incomplete.
NvmlTenant* start() {
  const ErrnoKeeper keeper;
  const TenantState state = runtime.tenant.state();
  // Another thread has been opening the pages for too long; the next call checks again.
  const bool unready =
      state == TenantState::kBroken && runtime.tenant.openStatus() == ledger::OpenStatus::kOk;
  if (unready) return &runtime.unready;
  NvmlTenant* made = kNobody;
  if (state != TenantState::kNone) {
    void* room = sys::mapAnonymous(sizeof(NvmlTenant));
    if (room == nullptr) return &runtime.unready;
    made = new (room) NvmlTenant(runtime.tenant.account());
    if (state == TenantState::kReady) {
      made->view().build(runtime.tenant.control(), runtime.tenant.deviceCount());
    }
  }
  NvmlTenant* kept = nullptr;
  if (runtime.mine.compare_exchange_strong(kept, made, std::memory_order_acq_rel)) return made;
  if (made != kNobody) sys::unmap(made, sizeof(NvmlTenant));
  return kept;
}

}  // namespace

NvmlTenant* nvmlTenant() {
  NvmlTenant* tenant = runtime.mine.load(std::memory_order_acquire);
  if (__builtin_expect(tenant == nullptr, 0)) tenant = start();
  return tenant == kNobody ? nullptr : tenant;
}

const char* preferredNvmlPath() {
  return runtime.tenant.ready() ? runtime.tenant.control().header.nvml_path : nullptr;
}

UnitShare NvmlTenant::share(const Unit& unit) const {
  UnitShare sum{};
  for (unsigned left = unit.shares; left != 0; left &= left - 1) {
    const auto i = static_cast<unsigned>(__builtin_ctz(left));
    const std::uint64_t total = account_.ceiling(i);
    const std::uint64_t free = account_.free(i);
    sum.total += total;
    sum.free += free < total ? free : total;
  }
  return sum;
}

std::uint64_t NvmlTenant::used(const Unit& unit) const {
  std::uint64_t sum = 0;
  for (unsigned left = unit.shares; left != 0; left &= left - 1) {
    sum = ledger::saturatingAdd(sum, account_.total(static_cast<unsigned>(__builtin_ctz(left))));
  }
  return sum;
}

std::uint64_t NvmlTenant::processUsed(unsigned slot, const Unit& unit) const {
  std::uint64_t sum = 0;
  for (unsigned left = unit.shares; left != 0; left &= left - 1) {
    const auto i = static_cast<unsigned>(__builtin_ctz(left));
    sum = ledger::saturatingAdd(sum, account_.processUsed(slot, i));
  }
  return sum;
}

void NvmlTenant::passedUnknown(abi::Nv entry, std::uint64_t version) const {
  if (!account_.attached()) return;
  account_.fault(static_cast<ledger::FaultCode>(Fault::kUnknownVersion),
                 static_cast<std::uint32_t>(entry), version, 0);
}

}  // namespace divvy::interposer
