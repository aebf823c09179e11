#include "tenant.h"

#include <stdlib.h>
#include <sys/auxv.h>

#include "sys.h"

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
  TenantState found = TenantState::kUnknown;
  if (state_.compare_exchange_strong(found, TenantState::kOpening, std::memory_order_acq_rel)) {
    const char* dir = ledger::findTenantDir();
    found = dir == nullptr ? TenantState::kNone : openPages(dir);
    state_.store(found, std::memory_order_release);
    return found;
  }
  for (int round = 0; found == TenantState::kOpening && round < kWaitRounds; ++round) {
    sys::nap(kWaitNanoseconds);
    found = state_.load(std::memory_order_acquire);
  }
  return found == TenantState::kOpening ? TenantState::kBroken : found;
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
  if (limit != nullptr && ledger::parseByteLimit(limit, &bytes)) account_.lowerCeiling(bytes);
  return TenantState::kReady;
}

}  // namespace divvy::interposer
