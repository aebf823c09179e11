#include "launch/active_grant.h"

#include "runtime.h"
#include "support/syscalls.h"

namespace {
const std::uint32_t kOpenWord = 0;
// No grant's word: this one stands for good where memory can be swapped.
const std::uint32_t kMeteredWord = ~std::uint32_t{0};
}  // namespace

extern "C" {
constinit std::atomic<const std::uint32_t*> divvy_gate{&kOpenWord};
}

namespace divvy::interposer {

using ledger::GateState;
using ledger::gateState;
using ledger::loadRelaxed;

bool ActiveGrant::attach() {
  if (mode_.load(std::memory_order_acquire) != Mode::kDetached) return false;
  Tenant& tenant = runtime().tenant;
  if (!tenant.ready() || tenant.account().pages().work() == nullptr) return false;
  fences_ = !registerDrainFence();
  grant_ = &tenant.control().header.grant;
  Mode detached = Mode::kDetached;
  if (mode_.compare_exchange_strong(detached, Mode::kGated, std::memory_order_acq_rel)) {
    pointAt(&grant_->word);
  }
  return true;
}

void ActiveGrant::pointAt(const std::uint32_t* word) {
  word_at_.store(word, std::memory_order_release);
  const std::uint32_t* seen = divvy_gate.load(std::memory_order_relaxed);
  while (seen != &kMeteredWord &&
         !divvy_gate.compare_exchange_weak(seen, word, std::memory_order_release)) {
  }
}

void ActiveGrant::meterAlways() {
  const std::uint32_t* none = nullptr;
  word_at_.compare_exchange_strong(none, &kOpenWord, std::memory_order_acq_rel);
  divvy_gate.store(&kMeteredWord, std::memory_order_seq_cst);
  noted_.closeUnmarked();
}

std::uint64_t ActiveGrant::sequenceOf(std::uint32_t word) const {
  const std::uint64_t seq = ledger::loadAcquire(grant_->seq);
  // The writer changes seq first: going back from it finds the one that the word belongs to.
  const std::uint64_t ahead = (seq - (word >> 3)) & (~std::uint32_t{0} >> 3);
  return seq - ahead;
}

__attribute__((noinline)) bool ActiveGrant::note(std::uint32_t word) {
  const ErrnoKeeper keeper;
  if (!report_.claimed() && !reported()) return false;
  if (ungated() && standsOpen()) return false;
  ledger::raiseTo(report_.line().seen_seq, sequenceOf(word));
  // The meter does not know the launches through an open gate.
  if (noted_.freeChanged(countedFree())) runtime().meter.resume();
  noted_.note(word, gateState(word) == GateState::kRun && !fences_);
  // Launches that may touch swappable memory are marked, which the quick way does not do.
  if (runtime().memory_gate.active()) noted_.closeUnmarked();
  return true;
}

bool ActiveGrant::reported() {
  if (report_.claim(runtime().tenant.account())) return true;
  if (report_.claiming()) return false;
  Mode gated = Mode::kGated;
  if (mode_.compare_exchange_strong(gated, Mode::kDetached, std::memory_order_acq_rel)) {
    pointAt(&kOpenWord);
    noteFault(Fault::kNoWorkLine, 0);
  }
  return false;
}

void ActiveGrant::waitWhile(std::uint32_t word, std::uint64_t until) const {
  sys::waitOn(&grant_->word, word, until, true);
}

void ActiveGrant::wakeWaiting() const {
  if (grant_ != nullptr) sys::wakeAll(&grant_->word, true);
}

// A thread that waits finds the word changed, or looks again within its bounded sleep. Where there
// is no thread that would see the agent return, launches go on looking for themselves.
void ActiveGrant::ungate() {
  Mode gated = Mode::kGated;
  if (!mode_.compare_exchange_strong(gated, Mode::kUngated, std::memory_order_acq_rel)) return;
  if (!background_.missing()) pointAt(&kOpenWord);
  noted_.forget();
  report_.raise(ledger::kWorkUngated);
  noteFault(Fault::kAgentSilent, 0, loadRelaxed(grant_->seq), loadRelaxed(grant_->beat));
  wakeWaiting();
  background_.wake();
}

bool ActiveGrant::standsOpen() {
  Mode ungated = Mode::kUngated;
  if (this->ungated() && lease_.moved(*grant_) &&
      mode_.compare_exchange_strong(ungated, Mode::kGated, std::memory_order_acq_rel)) {
    report_.lower(ledger::kWorkUngated);
    pointAt(&grant_->word);
  }
  return this->ungated();
}

void ActiveGrant::lose() {
  mode_.store(Mode::kLost, std::memory_order_release);
  pointAt(&kOpenWord);
  noteFault(Fault::kNoWorkLine, 0);
}

void ActiveGrant::openForExit() {
  mode_.store(Mode::kExiting, std::memory_order_release);
  pointAt(&kOpenWord);
}

void ActiveGrant::forgetAfterFork() {
  mode_.store(Mode::kDetached, std::memory_order_relaxed);
  word_at_.store(&kOpenWord, std::memory_order_relaxed);
  divvy_gate.store(&kOpenWord, std::memory_order_relaxed);
  lease_.forgetAfterFork();
  noted_.forgetAfterFork();
}

}  // namespace divvy::interposer
