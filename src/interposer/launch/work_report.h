// What this process shows of its work: its line in the tenant's work page.
#pragma once

#include <atomic>
#include <cstdint>

#include "ledger/account.h"
#include "ledger/work.h"

namespace divvy::interposer {

// One per process, in static storage. All members may be called from any thread and signal handler
// once claim() was true.
class WorkReport {
 public:
  // Takes the line of the process' slot, with a slot where it has none yet. False: there is no page
  // or no slot, or the agent took ours away; then nobody sees that we wait.
  bool claim(ledger::Account& account);
  // A thread has begun to take the line, and nobody knows yet.
  bool claiming() const { return claiming_.load(std::memory_order_acquire); }
  // Cheap: claim() was true in this process.
  bool claimed() const { return line_.load(std::memory_order_acquire) != nullptr; }

  ledger::WorkLine& line() const { return *line_.load(std::memory_order_relaxed); }

  __attribute__((always_inline)) bool shows(std::uint32_t bits) const {
    return (ledger::loadRelaxed(line().state) & bits) == bits;
  }
  // Sets or clears bits of the state and tells the arbiter. True if that was a change.
  bool raise(std::uint32_t bits);
  bool lower(std::uint32_t bits);
  // Tells the arbiter that something changed; or only lets it see that when it looks.
  void ring();
  void note();
  // To be called before kWorkInFlight changes, and says when.
  void turn(std::uint64_t now) { ledger::storeRelaxed(line().turned, now); }

  // A thread begins or ends waiting at the gate. The last one to end shows work in flight instead,
  // which it is about to launch; true if that is new. `awake_soon`: the arbiter looks soon without
  // being woken.
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
