#include "ledger/refusal.h"

#include "ledger/account.h"
#include "ledger/atomic_word.h"

namespace divvy::ledger {
namespace {

Slot* slotOf(const Account& account) {
  if (!account.attached() || account.slotOwner() == 0) return nullptr;
  return &account.pages().report().slots[account.slot()];
}

void bump(Slot& slot, SlotCounter counter) {
  bumpShared(slot.counters[static_cast<unsigned>(counter)], 1);
}

}  // namespace

void noteOverLimit(const Account& account, std::uint64_t bytes) {
  Slot* const slot = slotOf(account);
  if (slot == nullptr) return;
  storeRelaxed(slot->over_limit_bytes, bytes);
  bumpShared(slot->lanes[0].refusals, 1);
}

void noteDeviceFull(const Account& account, std::uint64_t bytes) {
  Slot* const slot = slotOf(account);
  if (slot == nullptr) return;
  storeRelaxed(slot->device_full_bytes, bytes);
  bump(*slot, SlotCounter::kDeviceFull);
}

void notePressureWait(const Account& account) {
  if (Slot* const slot = slotOf(account)) bump(*slot, SlotCounter::kPressureWaits);
}

}  // namespace divvy::ledger
