// Whether this process belongs to a tenant, and its account there. Used by both libraries.
#pragma once

#include <atomic>
#include <cstdint>

#include "ledger/account.h"

namespace divvy::interposer {

enum class TenantState : std::uint8_t {
  kUnknown,  // nobody has asked yet
  kOpening,  // one thread is finding out
  kNone,     // no tenant directory: Divvy does nothing in this process
  kReady,    // limits are known
  kBroken,   // a directory that cannot be used: device memory is refused, compute is not
};

// True if this process has been given a tenant directory, without opening it.
bool tenantNamed();

// One per library, in static storage. All members may be called from any thread and signal handler.
class Tenant {
 public:
  // Finds the tenant on first use. Naps a bounded number of times, about 0.1 s, for another
  // thread that is at it, and answers kBroken if that is not enough.
  TenantState state() {
    const TenantState now = known();
    return now > TenantState::kOpening ? now : open();
  }

  // The state without finding out.
  TenantState known() const {
    return static_cast<TenantState>(state_.load(std::memory_order_acquire) & 0xff);
  }

  bool ready() { return state() == TenantState::kReady; }

  // Valid when ready().
  ledger::Account& account() { return account_; }
  const ledger::ControlPage& control() const { return account_.pages().control(); }
  unsigned deviceCount() const { return account_.pages().deviceCount(); }

  // Why the state is kBroken; kOk otherwise.
  ledger::OpenStatus openStatus() const { return open_status_.load(std::memory_order_relaxed); }

 private:
  TenantState open();
  TenantState openPages(const char* dir);

  // A TenantState, and above its 8 bits, while kOpening, the process that is at it: a child that
  // was forked at that moment has nobody to wait for.
  std::atomic<std::uint64_t> state_{0};
  std::atomic<ledger::OpenStatus> open_status_{ledger::OpenStatus::kOk};
  ledger::Account account_;
};

}  // namespace divvy::interposer
