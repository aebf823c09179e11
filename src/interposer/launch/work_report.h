// The published work of this process: its line in the tenant's work page.
#pragma once

#include <atomic>
#include <cstdint>

#include "ledger/account.h"
#include "ledger/work.h"

namespace divvy::interposer {

// One per process, in static storage. Any thread and signal handler may call all members after
// claim() returned true.
class WorkReport {
 public:
  // Takes the line of the process's slot, and a slot if the process has none. Returns false if
  // there is no page or slot, or if the agent took the slot away. Then the waits of this process
  // are not published.
  bool claim(ledger::Account& account);
  // Returns whether a thread has started to take the line; the result is not known yet.
  bool claiming() const { return claiming_.load(std::memory_order_acquire); }
  // Returns whether claim() has succeeded in this process. Cheap.
  bool claimed() const { return line_.load(std::memory_order_acquire) != nullptr; }

  ledger::WorkLine& line() const { return *line_.load(std::memory_order_relaxed); }

  __attribute__((always_inline)) bool shows(std::uint32_t bits) const {
    return (ledger::loadRelaxed(line().state) & bits) == bits;
  }
  // Sets or clears bits of the state and notifies the arbiter. Returns true if that was a change.
  bool raise(std::uint32_t bits);
  bool lower(std::uint32_t bits);
  // ring() notifies the arbiter of a change. note() only makes the change visible to its next look.
  void ring();
  void note();
  // Publishes the time of a change of kWorkInFlight. To be called before that change.
  void turn(std::uint64_t now) { ledger::storeRelaxed(line().turned, now); }

  // Notes that a thread begins or ends a wait at the gate. The last thread to end publishes work in
  // flight instead, which it is about to launch; endWait() returns true if that is new.
  // `awake_soon`: the arbiter soon reads the report without a wake-up.
  void beginWait(std::uint64_t now);
  bool endWait(std::uint64_t now, bool awake_soon);

  void forgetAfterFork();

 private:
  void show(std::uint32_t bits);

  ledger::WorkPage* page_ = nullptr;
  std::atomic<bool> claiming_{false};
  std::atomic<ledger::WorkLine*> line_{nullptr};
  std::atomic<std::uint64_t> waiting_since_{0};
};

}  // namespace divvy::interposer
