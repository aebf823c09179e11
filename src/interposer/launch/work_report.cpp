#include "launch/work_report.h"

#include <string.h>

#include "support/syscalls.h"

namespace divvy::interposer {
namespace {

// Limit for another thread that claims the line: 0.1 s in all.
constexpr int kPatience = 1000;
constexpr long kNap = 100'000;

}  // namespace

using ledger::storeRelease;

bool WorkReport::claim(ledger::Account& account) {
  if (claimed()) return true;
  ledger::WorkPage* page = account.attached() ? account.pages().work() : nullptr;
  if (page == nullptr || account.claim() != ledger::Admission::kGranted) return false;
  const std::uint64_t owner = account.slotOwner();
  if (owner == 0) return false;
  bool expected = false;
  if (!claiming_.compare_exchange_strong(expected, true, std::memory_order_acq_rel)) {
    for (int i = 0; i < kPatience && !claimed(); ++i) sys::nap(kNap);
    return claimed();
  }
  ledger::WorkLine& line = page->lines[account.slot()];
  storeRelease(line.owner, std::uint64_t{0});
  ::memset(reinterpret_cast<char*>(&line) + sizeof line.owner, 0, sizeof line - sizeof line.owner);
  storeRelease(line.owner, owner);
  page_ = page;
  line_.store(&line, std::memory_order_release);
  return true;
}

bool WorkReport::raise(std::uint32_t bits) {
  const std::uint32_t before = __atomic_fetch_or(&line().state, bits, __ATOMIC_SEQ_CST);
  if ((before & bits) == bits) return false;
  ring();
  return true;
}

bool WorkReport::lower(std::uint32_t bits) {
  const std::uint32_t before = __atomic_fetch_and(&line().state, ~bits, __ATOMIC_SEQ_CST);
  if ((before & bits) == 0) return false;
  ring();
  return true;
}

void WorkReport::note() {
  ledger::bumpShared(line().changed, 1);
  __atomic_fetch_add(&page_->header.bell, 1, __ATOMIC_RELEASE);
}

void WorkReport::ring() {
  const ErrnoKeeper keeper;
  note();
  sys::wakeAll(&page_->header.bell, true);
}

void WorkReport::beginWait(std::uint64_t now) {
  ledger::bumpShared(line().waits, 1);
  if (__atomic_fetch_add(&line().waiting, 1, __ATOMIC_SEQ_CST) != 0) return;
  waiting_since_.store(now, std::memory_order_relaxed);
  show(ledger::kWorkWaiting);
}

// A tenant with work in flight wants its turn, waiting or not. The arbiter may read the other bits
// at any time.
void WorkReport::show(std::uint32_t bits) {
  const std::uint32_t before = __atomic_fetch_or(&line().state, bits, __ATOMIC_SEQ_CST);
  if ((before & bits) == bits) return;
  if ((before & ledger::kWorkInFlight) == 0) return ring();
  ledger::bumpShared(line().changed, 1);
}

// A single change, because a tenant that neither waits nor has work in flight would lose its turn.
bool WorkReport::endWait(std::uint64_t now, bool awake_soon) {
  if (__atomic_fetch_sub(&line().waiting, 1, __ATOMIC_SEQ_CST) != 1) return false;
  const std::uint64_t since = waiting_since_.load(std::memory_order_relaxed);
  if (now > since) ledger::bumpShared(line().throttled, now - since);
  std::uint32_t before = ledger::loadRelaxed(line().state);
  if ((before & ledger::kWorkInFlight) == 0) turn(now);
  while (!ledger::compareExchange(line().state, before,
                                  (before | ledger::kWorkInFlight) & ~ledger::kWorkWaiting)) {
  }
  // From here on the arbiter counts work that was not published before.
  if (awake_soon) {
    note();
  } else {
    ring();
  }
  // A thread that began meanwhile may have set the bit before it was cleared.
  if (__atomic_load_n(&line().waiting, __ATOMIC_SEQ_CST) != 0) show(ledger::kWorkWaiting);
  return (before & ledger::kWorkInFlight) == 0;
}

void WorkReport::forgetAfterFork() {
  line_.store(nullptr, std::memory_order_relaxed);
  claiming_.store(false, std::memory_order_relaxed);
}

}  // namespace divvy::interposer
