#include "tenant/tenant.h"

#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "support/syscalls.h"

namespace divvy::interposer {
namespace {

constexpr int kWaitRounds = 1000;
constexpr long kWaitNanoseconds = 100'000;

}  // namespace

bool tenantNamed() {
  return ledger::findTenantDir() != nullptr;
}

TenantState Tenant::open() {
  const ErrnoKeeper keeper;
  const std::uint64_t opening = static_cast<std::uint64_t>(TenantState::kOpening) |
                                static_cast<std::uint64_t>(::syscall(SYS_getpid)) << 8;
  for (int round = 0; round < kWaitRounds; ++round) {
    std::uint64_t seen = state_.load(std::memory_order_acquire);
    const auto state = static_cast<TenantState>(seen & 0xff);
    if (state > TenantState::kOpening) return state;
    if (seen == opening) {
      sys::nap(kWaitNanoseconds);
    } else if (state_.compare_exchange_strong(seen, opening, std::memory_order_acq_rel)) {
      const char* dir = ledger::findTenantDir();
      const TenantState found = dir == nullptr ? TenantState::kNone : openPages(dir);
      state_.store(static_cast<std::uint64_t>(found), std::memory_order_release);
      return found;
    }
  }
  return TenantState::kBroken;
}

TenantState Tenant::openPages(const char* dir) {
  ledger::TenantPages pages;
  const ledger::OpenStatus status = ledger::TenantPages::open(dir, &pages);
  open_status_.store(status, std::memory_order_relaxed);
  if (status != ledger::OpenStatus::kOk) return TenantState::kBroken;
  if (!account_.attach(pages)) {
    open_status_.store(ledger::OpenStatus::kNoMemory, std::memory_order_relaxed);
    pages.close();
    return TenantState::kBroken;
  }
  const char* limit = ::getauxval(AT_SECURE) != 0 ? nullptr : ::getenv("DIVVY_MEMORY_LIMIT");
  std::uint64_t bytes = 0;
  if (limit == nullptr || limit[0] == 0) return TenantState::kReady;
  if (ledger::parseByteLimit(limit, &bytes)) {
    account_.lowerCeiling(bytes);
  } else {
    std::uint64_t begins = 0;
    __builtin_memcpy(&begins, limit, ::strnlen(limit, sizeof begins));
    account_.fault(ledger::FaultCode::kBadLimit, 0, begins, 0);
  }
  return TenantState::kReady;
}

}  // namespace divvy::interposer
