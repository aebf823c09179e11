// This process's memory on the devices, published to the agent: its line in the tenant's swap page.
#pragma once

#include <atomic>
#include <cstdint>

#include "ledger/account.h"
#include "ledger/pins.h"
#include "ledger/swap_pages.h"

namespace divvy::interposer {

using ledger::PinReason;

// One per process, in static storage. Any thread and signal handler may call all members.
class SwapReport {
 public:
  // Maps the pages and takes the line of the process's slot. Returns false if there are no pages or
  // they are unusable, which counts a fault once. No memory of this process can be swapped then.
  // Cheap once the result is known.
  bool claim();
  bool claimed() const { return line_.load(std::memory_order_acquire) != nullptr; }

  // Returns the line; before claim() and after letGo(), a private line that no other process sees.
  ledger::SwapLine& line() {
    ledger::SwapLine* line = line_.load(std::memory_order_acquire);
    return line == nullptr ? own_ : *line;
  }
  const ledger::SwapPages& pages() const { return pages_; }
  // Returns whether the agent took our slot for that of a dead process. If so, letGo() must come
  // before the next write.
  bool lost() const;
  void letGo();

  // Values of one device. Any thread may change them.
  ledger::SwapDevice& device(unsigned dev) { return line().device[dev]; }
  void addSwappable(unsigned dev, std::int64_t bytes) { add(device(dev).swappable, bytes); }
  void addWant(unsigned dev, std::int64_t bytes) { add(device(dev).want, bytes); }
  // Returns the bytes charged to this process that are neither swappable nor only wanted. An
  // allocation of swappable memory is charged first and counted as swappable second; a free
  // reverses that order. So the result may briefly be too large, never too small.
  std::uint64_t pinned(unsigned dev);
  // Publishes pinned() to the agent.
  void showPinned(unsigned dev);

  // Publishes that some memory of this process cannot leave the devices, and the reason.
  void notePin(PinReason reason) {
    __atomic_fetch_or(&line().pin_reasons, std::uint64_t{ledger::bitOf(reason)}, __ATOMIC_SEQ_CST);
  }

  // Counts `bytes` as mapped if the agent's order has room for them. To be called before device
  // memory is allocated. Returns false if there is no room or no order.
  bool takeRoom(unsigned dev, std::uint64_t bytes);
  // Counts `bytes` as mapped without regard to the order, for when the agent is silent.
  void takeBeyond(unsigned dev, std::uint64_t bytes);
  // Reverses takeRoom() after the memory went back to the device.
  void giveRoom(unsigned dev, std::uint64_t bytes);
  // Counts `bytes` as mapped host memory if the order has room for them beside the swap store.
  // `staged`: the store is about to give up as many bytes. Returns false if there is no room or no
  // order.
  bool takeHost(std::uint64_t bytes, bool staged);
  void giveHost(std::uint64_t bytes);
  // Returns the bytes of host memory that the order leaves to the swap store.
  std::uint64_t storeLimit() const;
  // Returns whether missing memory may be mapped from host memory and used in place.
  bool mayMapHost() const;
  void showHostBytes();

  // Returns the agent's order for this process; null if there is none.
  const ledger::ResidencyLine* order() const;
  std::uint64_t have(unsigned dev);  // mapped plus pinned

  // Sets or clears kSwap* bits and notifies the agent. Returns true if that was a change.
  bool raise(std::uint32_t bits);
  bool lower(std::uint32_t bits);
  bool shows(std::uint32_t bits) { return (ledger::loadRelaxed(line().state) & bits) == bits; }
  // Notifies the agent that the line changed.
  void ring();

  // Notes that a thread begins or ends a wait for memory.
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
  std::atomic<std::uint32_t> claiming_{0};  // 1: a thread is claiming; 2: unavailable
  std::atomic<ledger::SwapLine*> line_{nullptr};
  std::atomic<std::uint32_t> waiting_{0};
  std::atomic<std::uint64_t> hosted_{0};  // mapped host memory, bytes
  ledger::SwapLine own_ = {};
};

}  // namespace divvy::interposer
