// The grant that limits this process's launches, and the word of it that launches read.
#pragma once

#include <atomic>
#include <cstdint>

#include "launch/active_grant_word.h"
#include "launch/work_report.h"
#include "ledger/layout.h"
#include "support/lease.h"
#include "threads/background_thread.h"
#include "threads/drain.h"

// The word by which work may be launched or not: the tenant's grant. It is a word that is always
// 0, which is open, without a tenant, before the first context, and while the agent is silent.
// After ActiveGrant::meterAlways() it is a word that is never open.
extern "C" {
extern __attribute__((visibility("hidden"))) std::atomic<const std::uint32_t*> divvy_gate;
}

namespace divvy::interposer {

// Returns whether other tenants yield to the grant's tenant.
inline bool servesFirst(const ledger::Grant& grant) {
  return ledger::loadRelaxed(grant.mode) == static_cast<std::uint32_t>(ledger::GrantMode::kLatency);
}

// One per process, in static storage. Any thread.
class ActiveGrant {
 public:
  constexpr ActiveGrant(WorkReport& report, BackgroundThread& background)
      : report_(report), background_(background) {}

  // Puts the tenant's grant in force, once. Returns false if there is none, or if this process had
  // one before.
  bool attach();
  // See LaunchGate::meterAlways().
  void meterAlways();

  // Returns the word of the grant in force; 0: open. To be called after attach() or meterAlways().
  __attribute__((always_inline)) std::uint32_t word() const {
    return ledger::loadAcquire(*word_at_.load(std::memory_order_relaxed));
  }
  // Returns the grant; nullptr until attach() has found one.
  const ledger::Grant* terms() const { return grant_; }
  // Returns the whole sequence that `word` has the low bits of.
  std::uint64_t sequenceOf(std::uint32_t word) const;
  // Returns how much work may be in flight, in ns; 0: any amount.
  std::uint64_t inflightBound() const {
    return std::uint64_t{ledger::loadRelaxed(grant_->inflight_us)} * 1'000;
  }

  // Marks the calling thread as inside under `word` by the drain protocol. Returns false, without a
  // mark, if that is the word no more.
  __attribute__((always_inline)) bool goInside(ThreadLine* line, std::uint32_t word) const {
    const auto fences = [&]() __attribute__((always_inline)) {
      return fences_;
    };
    const auto same = [&]() __attribute__((always_inline)) {
      return this->word() == word;
    };
    return markInside(line->admitted, word, fences, same);
  }
  // Returns whether launching threads fence themselves; see fenceAllThreads().
  bool fences() const { return fences_; }

  // Notes that launches follow under another word than before. Returns false if no arbiter limits
  // this process now.
  bool note(std::uint32_t word);
  const ActiveGrantWord& noted() const { return noted_; }

  // Sleeps until `until`, or until the grant's word is not `word`. wakeWaiting() ends such sleeps.
  void waitWhile(std::uint32_t word, std::uint64_t until) const;
  void wakeWaiting() const;

  // Returns false if the agent's beat has stood still for the length of a lease.
  bool alive(std::uint64_t now) { return lease_.alive(*grant_, now); }
  // Opens the gate because the agent is silent. standsOpen() closes it again once the agent has
  // moved, and returns whether it is still open.
  void ungate();
  bool standsOpen();
  // Opens the gate for good: the agent took our slot for that of a dead process, so another process
  // may have the line by now.
  void lose();
  // Opens the gate for good: the process ends.
  void openForExit();
  void forgetAfterFork();

  // Returns whether a grant may come into force in this process.
  bool attached() const {
    const Mode mode = mode_.load(std::memory_order_relaxed);
    return mode == Mode::kGated || mode == Mode::kUngated;
  }
  bool gated(std::memory_order order) const { return mode_.load(order) == Mode::kGated; }
  bool ungated() const { return mode_.load(std::memory_order_relaxed) == Mode::kUngated; }
  bool exiting() const { return mode_.load(std::memory_order_relaxed) == Mode::kExiting; }

 private:
  enum class Mode : std::uint32_t { kDetached, kGated, kUngated, kLost, kExiting };

  void pointAt(const std::uint32_t* word);
  // Returns whether this process has a line in the work report. Without one, no arbiter would ever
  // let the process go on.
  bool reported();

  WorkReport& report_;
  BackgroundThread& background_;
  const ledger::Grant* grant_ = nullptr;
  // Equals divvy_gate until meterAlways().
  std::atomic<const std::uint32_t*> word_at_{nullptr};
  std::atomic<Mode> mode_{Mode::kDetached};
  bool fences_ = false;  // no membarrier here: launching threads fence themselves
  ActiveGrantWord noted_;
  Lease lease_;
};

}  // namespace divvy::interposer
