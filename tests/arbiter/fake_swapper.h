// What the movers of a fake tenant's processes do, by hand.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

#include "fake_tenant.h"
#include "ledger/swap_pages.h"

namespace divvy::arbiter::testing {

class FakeSwapper {
 public:
  // Turns swapping on for the tenant.
  explicit FakeSwapper(FakeTenant* tenant);
  ~FakeSwapper();
  FakeSwapper(const FakeSwapper&) = delete;
  FakeSwapper& operator=(const FakeSwapper&) = delete;

  FakeTenant& tenant() { return tenant_; }

  // Slot 0 and device 0 unless told otherwise.
  void claim(unsigned slot = 0, std::uint64_t generation = 0);
  ledger::SwapLine& line(unsigned slot = 0) { return pages_.swap().lines[slot]; }
  ledger::SwapDevice& at(unsigned slot = 0, unsigned device = 0) {
    return line(slot).device[device];
  }
  void setState(std::uint32_t bits, unsigned slot = 0);
  void allocate(std::uint64_t bytes, unsigned slot = 0);
  void pin(std::uint64_t bytes, unsigned slot = 0);

  // The order to the process of this generation; nothing without one.
  bool ordered(unsigned slot = 0, std::uint64_t generation = 0) const;
  const ledger::ResidencyLine& order(unsigned slot = 0) const;
  std::uint64_t allowed(unsigned slot = 0, unsigned device = 0) const;

  // Notices the order, and moves one chunk if it asks for that. True: it did something.
  bool obey(unsigned slot = 0);
  // On the device, of this process.
  std::uint64_t has(unsigned slot = 0);
  void truncateSwap();

 private:
  void showState(std::uint32_t bits, unsigned slot);

  FakeTenant& tenant_;
  ledger::SwapPages pages_;
  std::mutex changing_;  // what it has: by a test, and by who plays the movers
};

// One thread plays the movers of all: none has more than its order says, and all together never
// more than the budget. Slots 0 only.
class FakeMovers {
 public:
  FakeMovers(std::vector<FakeSwapper*> swappers, std::uint64_t budget);
  ~FakeMovers();

  // Times that the tenant's memory came back in whole.
  unsigned arrivals(std::size_t swapper) const { return arrivals_[swapper]; }
  // The most that all had at once.
  std::uint64_t peak() const { return peak_; }

 private:
  std::vector<FakeSwapper*> swappers_;
  std::vector<std::atomic<unsigned>> arrivals_;
  std::atomic<std::uint64_t> peak_{0};
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace divvy::arbiter::testing
