// What this process has on the devices, shown to the agent: our line in the tenant's swap page.
#pragma once

#include <atomic>
#include <cstdint>

#include "ledger/account.h"
#include "ledger/pins.h"
#include "ledger/swap_pages.h"

namespace divvy::interposer {

using ledger::PinReason;

// One per process, in static storage. All members may be called from any thread and signal handler.
class SwapReport {
 public:
  // Maps the pages and takes the line of the process' slot. False: there are none, or they cannot
  // be used (a fault is counted, once); then nothing of this process can be swapped. Cheap once
  // that is known.
  bool claim();
  bool claimed() const { return line_.load(std::memory_order_acquire) != nullptr; }

  // Before claim() and after letGo() one that nobody else sees.
  ledger::SwapLine& line() {
    ledger::SwapLine* line = line_.load(std::memory_order_acquire);
    return line == nullptr ? own_ : *line;
  }
  const ledger::SwapPages& pages() const { return pages_; }
  // The agent took our slot for that of a dead process; then letGo() before more is written.
  bool lost() const;
  void letGo();

  // Figures of a device, changed by any thread.
  ledger::SwapDevice& device(unsigned dev) { return line().device[dev]; }
  void addSwappable(unsigned dev, std::int64_t bytes) { add(device(dev).swappable, bytes); }
  void addWant(unsigned dev, std::int64_t bytes) { add(device(dev).want, bytes); }
  // Of what is charged to this process, all that is neither swappable nor only wanted. Whoever
  // allocates swappable memory charges it first and counts it then, and gives it back in the
  // reverse order: for a moment too much is pinned, never too little.
  std::uint64_t pinned(unsigned dev);
  // Shows that to the agent.
  void showPinned(unsigned dev);

  // Something of this process cannot leave the devices, for this reason.
  void notePin(PinReason reason) {
    __atomic_fetch_or(&line().pin_reasons, std::uint64_t{ledger::bitOf(reason)}, __ATOMIC_SEQ_CST);
  }

  // Counts `bytes` as mapped, if what the agent allows has room for them: to be called before they
  // are taken from the card. False: no room, or no orders yet.
  bool takeRoom(unsigned dev, std::uint64_t bytes);
  // The same whatever is allowed: the agent is silent.
  void takeBeyond(unsigned dev, std::uint64_t bytes);
  // After they went back to the card.
  void giveRoom(unsigned dev, std::uint64_t bytes);
  // Counts `bytes` as mapped host memory, if the order has room for them beside what is in the
  // store; `staged`: as much of that is about to go. False: it has none.
  bool takeHost(std::uint64_t bytes, bool staged);
  void giveHost(std::uint64_t bytes);
  // What the order leaves of host memory to the store.
  std::uint64_t storeLimit() const;
  // What is missing is to be used where it is, with the host.
  bool mayMapHost() const;
  void showHostBytes();

  // The agent's order for this process; null: there is none.
  const ledger::ResidencyLine* order() const;
  std::uint64_t have(unsigned dev);  // mapped and pinned

  // Sets or clears kSwap* bits and tells the agent. True if that was a change.
  bool raise(std::uint32_t bits);
  bool lower(std::uint32_t bits);
  bool shows(std::uint32_t bits) { return (ledger::loadRelaxed(line().state) & bits) == bits; }
  // Tells the agent that something changed.
  void ring();

  // A thread begins or ends waiting for memory.
  void beginWait(std::uint64_t now);
  void endWait();
  std::uint32_t waiting() const { return waiting_.load(std::memory_order_seq_cst); }

  void forgetAfterFork();

 private:
  static void add(std::uint64_t& figure, std::int64_t bytes) {
    __atomic_fetch_add(&figure, static_cast<std::uint64_t>(bytes), __ATOMIC_SEQ_CST);
  }
  bool take();

  ledger::SwapPages pages_;
  unsigned slot_ = 0;
  std::uint64_t owner_ = 0;
  std::atomic<std::uint32_t> claiming_{0};  // 1: a thread is at it, 2: it cannot be had
  std::atomic<ledger::SwapLine*> line_{nullptr};
  std::atomic<std::uint32_t> waiting_{0};
  std::atomic<std::uint64_t> hosted_{0};  // mapped host memory, bytes
  ledger::SwapLine own_ = {};
};

}  // namespace divvy::interposer
