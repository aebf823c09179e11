#include "fake_swapper.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>

namespace divvy::arbiter::testing {

using ledger::loadAcquire;
using ledger::storeRelease;

namespace {

constexpr std::uint64_t kChunk = std::uint64_t{32} << 20;

}  // namespace

FakeSwapper::FakeSwapper(FakeTenant* tenant) : tenant_(*tenant) {
  ledger::SwapSpec spec;
  const unsigned devices = tenant->control().device_count;
  spec.devices.assign(devices, {.swappable = true, .overcommit_permille = 2000, .budget = {}});
  const Result<void> set = tenant->ledger().setSwap(spec);
  EXPECT_TRUE(set) << set.error().message();
  EXPECT_EQ(ledger::SwapPages::open(tenant->dir().c_str(), tenant->control(), &pages_),
            ledger::OpenStatus::kOk);
}

FakeSwapper::~FakeSwapper() {
  pages_.close();
}

void FakeSwapper::claim(unsigned slot, std::uint64_t generation) {
  storeRelease(line(slot).owner, generation + 1);
  tenant_.ring();
}

void FakeSwapper::setState(std::uint32_t bits, unsigned slot) {
  const std::lock_guard lock(changing_);
  showState(bits, slot);
}

void FakeSwapper::showState(std::uint32_t bits, unsigned slot) {
  storeRelease(line(slot).state, bits);
  tenant_.ring();
}

void FakeSwapper::allocate(std::uint64_t bytes, unsigned slot) {
  const std::lock_guard lock(changing_);
  storeRelease(at(slot).swappable, at(slot).swappable + bytes);
  showState(line(slot).state & ~ledger::kSwapReady, slot);
}

void FakeSwapper::pin(std::uint64_t bytes, unsigned slot) {
  const std::lock_guard lock(changing_);
  storeRelease(at(slot).want, at(slot).want + bytes);
  tenant_.ring();
}

bool FakeSwapper::ordered(unsigned slot, std::uint64_t generation) const {
  return loadAcquire(order(slot).owner) == generation + 1;
}

const ledger::ResidencyLine& FakeSwapper::order(unsigned slot) const {
  return pages_.residency().lines[slot];
}

std::uint64_t FakeSwapper::allowed(unsigned slot, unsigned device) const {
  return loadAcquire(order(slot).allowed[device]);
}

std::uint64_t FakeSwapper::has(unsigned slot) {
  return loadAcquire(at(slot).mapped) + loadAcquire(at(slot).pinned);
}

bool FakeSwapper::obey(unsigned slot) {
  const std::lock_guard lock(changing_);
  if (!ordered(slot)) return false;
  bool moved = false;
  const std::uint64_t seq = loadAcquire(order(slot).seq);
  if (line(slot).seen_seq != seq) {
    storeRelease(line(slot).seen_seq, seq);
    moved = true;
  }
  const std::uint64_t most = allowed(slot);
  ledger::SwapDevice& device = at(slot);
  const bool ready = (line(slot).state & ledger::kSwapReady) != 0;
  if (device.want != 0 && has(slot) + device.want <= most) {
    storeRelease(device.pinned, device.pinned + device.want);
    storeRelease(device.want, std::uint64_t{0});
    moved = true;
  }
  if (has(slot) > most && device.mapped > 0) {
    if (ready) showState(line(slot).state & ~ledger::kSwapReady, slot);
    const std::uint64_t chunk = std::min(kChunk, device.mapped);
    storeRelease(device.mapped, device.mapped - chunk);
    moved = true;
  } else if (device.mapped < device.swappable) {
    const std::uint64_t chunk = std::min(kChunk, device.swappable - device.mapped);
    if (has(slot) + chunk <= most) {
      storeRelease(device.mapped, device.mapped + chunk);
      moved = true;
    }
  }
  if (!ready && device.mapped == device.swappable && has(slot) <= most) {
    showState(line(slot).state | ledger::kSwapReady, slot);
    moved = true;
  }
  if (moved) tenant_.ring();
  return moved;
}

void FakeSwapper::truncateSwap() {
  EXPECT_EQ(::truncate((tenant_.dir() / "swap").c_str(), 0), 0);
}

FakeMovers::FakeMovers(std::vector<FakeSwapper*> swappers, std::uint64_t budget)
    : swappers_(std::move(swappers)), arrivals_(swappers_.size()) {
  thread_ = std::thread([this, budget] {
    while (!stop_) {
      for (std::size_t i = 0; i < swappers_.size(); ++i) {
        const auto ready = [&] {
          return (loadAcquire(swappers_[i]->line().state) & ledger::kSwapReady) != 0;
        };
        const bool before = ready();
        swappers_[i]->obey();
        if (!before && ready()) ++arrivals_[i];
        std::uint64_t all = 0;
        for (FakeSwapper* swapper : swappers_) all += swapper->has();
        peak_ = std::max(peak_.load(), all);
        EXPECT_LE(all, budget);
      }
      pause();
    }
  });
}

FakeMovers::~FakeMovers() {
  stop_ = true;
  thread_.join();
}

}  // namespace divvy::arbiter::testing
