#include "accounting/reserved_growth.h"

namespace divvy::interposer {

void GrowthCharge::lowerTo(ledger::Account& account, unsigned device, std::int64_t base) {
  std::int64_t now = base_.load(std::memory_order_acquire);
  while (base < now) {
    if (!base_.compare_exchange_weak(now, base, std::memory_order_acq_rel)) continue;
    account.release(device, static_cast<std::uint64_t>(now - base));
    return;
  }
}

std::uint64_t GrowthCharge::settle(ledger::Account& account, unsigned device, Mark before,
                                   std::uint64_t sample) {
  lowerTo(account, device, static_cast<std::int64_t>(sample - before.finished));
  // The base only falls and `started` only rises, so this is the largest charge during the sample.
  // The present charge would be wrong: other threads may have given memory back since.
  const std::uint64_t most =
      static_cast<std::uint64_t>(before.base) + started_.load(std::memory_order_acquire);
  return sample > most ? sample - most : 0;
}

bool GrowthCharge::admitMore(ledger::Account& account, unsigned device, std::uint64_t bytes) {
  if (account.reserve(device, bytes) != ledger::Admission::kGranted) return false;
  base_.fetch_add(static_cast<std::int64_t>(bytes), std::memory_order_acq_rel);
  return true;
}

void GrowthCharge::drop(ledger::Account& account, unsigned device) {
  lowerTo(account, device, -static_cast<std::int64_t>(mark().finished));
}

}  // namespace divvy::interposer
