// Whether this process belongs to a tenant, and its account there. Used by both libraries.
#pragma once

#include <atomic>
#include <cstdint>

#include "ledger/account.h"

namespace divvy::interposer {

enum class TenantState : std::uint8_t {
  kUnknown,  // not determined yet
  kOpening,  // a thread is determining it
  kNone,     // no tenant directory: Divvy does nothing in this process
  kReady,    // limits are known
  kBroken,   // an unusable directory: device memory is refused, compute is not
};

// Returns whether this process was given a tenant directory, without opening it.
bool tenantNamed();

// One per library, in static storage. Any thread and signal handler may call all members.
class Tenant {
 public:
  // Finds the tenant on first use. Waits about 0.1 s at most for another thread that is doing so;
  // returns kBroken if that is too short.
  TenantState state() {
    const TenantState now = known();
    return now > TenantState::kOpening ? now : open();
  }

  // Returns the state without determining it.
  TenantState known() const {
    return static_cast<TenantState>(state_.load(std::memory_order_acquire) & 0xff);
  }

  bool ready() { return state() == TenantState::kReady; }

  // Valid when ready().
  ledger::Account& account() { return account_; }
  const ledger::ControlPage& control() const { return account_.pages().control(); }
  unsigned deviceCount() const { return account_.pages().deviceCount(); }

  // Returns why the state is kBroken; kOk otherwise.
  ledger::OpenStatus openStatus() const { return open_status_.load(std::memory_order_relaxed); }

 private:
  TenantState open();
  TenantState openPages(const char* dir);

  // A TenantState in the low 8 bits. While kOpening, the bits above hold the process that is
  // opening. A child that was forked at that moment does not wait for that process's thread.
  std::atomic<std::uint64_t> state_{0};
  std::atomic<ledger::OpenStatus> open_status_{ledger::OpenStatus::kOk};
  ledger::Account account_;
};

}  // namespace divvy::interposer
