#include "growth.h"

namespace divvy::interposer {

void GrowthCharge::lowerTo(ledger::Account& account, unsigned device, std::int64_t base) {
  std::int64_t now = base_.load(std::memory_order_acquire);
  while (base < now) {
    if (!base_.compare_exchange_weak(now, base, std::memory_order_acq_rel)) continue;
    account.release(device, static_cast<std::uint64_t>(now - base));
    return;
  }
}

std::uint64_t GrowthCharge::settle(ledger::Account& account, unsigned device,
                                   std::uint64_t finished_before, std::uint64_t sample) {
  lowerTo(account, device, static_cast<std::int64_t>(sample - finished_before));
  const std::uint64_t charge = charged();
  return sample > charge ? sample - charge : 0;
}

bool GrowthCharge::admitMore(ledger::Account& account, unsigned device, std::uint64_t bytes) {
  if (account.reserve(device, bytes) != ledger::Admission::kGranted) return false;
  base_.fetch_add(static_cast<std::int64_t>(bytes), std::memory_order_acq_rel);
  return true;
}

void GrowthCharge::drop(ledger::Account& account, unsigned device) {
  const std::uint64_t finished_before = finished();
  lowerTo(account, device, -static_cast<std::int64_t>(finished_before));
}

}  // namespace divvy::interposer
