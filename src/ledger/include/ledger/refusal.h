// Requests for memory that failed or waited, counted in the slot of their process. The agent reads
// the counts with the tenant's report, also after the process has ended.
#pragma once

#include <cstdint>

namespace divvy::ledger {

class Account;

// Each counts one request. No effect while the process has no slot. Any thread, never waits.
// `bytes`: the size of the request. Account::reserve() counts none: a request may try it several
// times before it fails.

// The request is beyond the limit.
void noteOverLimit(const Account& account, std::uint64_t bytes);
// It is within the limit, and the device has no memory for it.
void noteDeviceFull(const Account& account, std::uint64_t bytes);
// An allocation waits for the device's memory.
void notePressureWait(const Account& account);

}  // namespace divvy::ledger
