#include "meter/device_usage.h"

namespace divvy::interposer {
namespace {

constexpr unsigned kPatience = 20'000;

}  // namespace

std::uint64_t DeviceUsage::launch(std::uint64_t estimate, std::uint64_t now) {
  unsettled_.fetch_add(estimate, std::memory_order_relaxed);
  std::uint64_t until = until_.load(std::memory_order_relaxed);
  std::uint64_t next;
  do {
    next = (until > now ? until : now) + estimate;
  } while (!until_.compare_exchange_weak(until, next, std::memory_order_relaxed));
  return next;
}

void DeviceUsage::launchLoose(std::uint32_t launches, std::uint64_t sum, std::uint64_t now) {
  loose_sum_.fetch_add(sum, std::memory_order_relaxed);
  loose_launches_.fetch_add(launches, std::memory_order_relaxed);
  launch(sum, now);
}

std::uint64_t DeviceUsage::takeBackLoose(std::uint64_t estimate) {
  takeFrom(loose_launches_, 1u);
  return takeFrom(loose_sum_, estimate);
}

void DeviceUsage::takeBack(std::uint64_t sum) {
  unsettled_.fetch_sub(sum, std::memory_order_relaxed);
  until_.fetch_sub(sum, std::memory_order_relaxed);
}

DeviceUsage::Loose DeviceUsage::endLoose(std::uint64_t now, std::uint64_t* look_at) {
  if (loose_sum_.load(std::memory_order_relaxed) == 0) return {};
  const std::uint64_t until = until_.load(std::memory_order_relaxed);
  if (until > now) {
    if (until < *look_at) *look_at = until;
    return {};
  }
  Loose loose{.ended = true};
  loose.sum = loose_sum_.exchange(0, std::memory_order_relaxed);
  addBusy(loose.sum);
  loose.launches = loose_launches_.exchange(0, std::memory_order_relaxed);
  return loose;
}

std::uint64_t DeviceUsage::cover(std::uint64_t start, std::uint64_t end, std::uint64_t amount) {
  for (unsigned i = 0; uniting_.exchange(true, std::memory_order_acquire); ++i) {
    if (i < kPatience) continue;
    addBusy(amount);
    return amount;
  }
  const std::uint64_t covered = united_.add(start, end, amount);
  uniting_.store(false, std::memory_order_release);
  addBusy(covered);
  return covered;
}

// If the device was busy all through the window, its work there took that long in all.
void DeviceUsage::weigh(std::uint64_t start, std::uint64_t end, std::uint64_t sum,
                        std::uint64_t window) {
  if (uniting_.exchange(true, std::memory_order_acquire)) return;
  window_.certain += certain_.add(start, end, end - start);
  window_.sum += sum;
  const std::uint64_t wall = end > window_.start ? end - window_.start : 0;
  if (wall >= window) {
    const bool full = window_.certain >= wall - wall / 20 && wall < 4 * window;
    took_permille_ = full && window_.sum != 0 ? wall * 1000 / window_.sum : 0;
    window_ = {.start = end};
  }
  uniting_.store(false, std::memory_order_release);
}

void DeviceUsage::noteOverdue(std::uint64_t now, std::uint64_t more) {
  overdue_.store(true, std::memory_order_relaxed);
  std::uint64_t until = until_.load(std::memory_order_relaxed);
  if (until < now + more) {
    until_.compare_exchange_strong(until, now + more, std::memory_order_relaxed);
  }
}

void DeviceUsage::correct(std::uint64_t now) {
  if (overdue_.load(std::memory_order_relaxed)) return;
  const std::uint64_t left = unsettled_.load(std::memory_order_relaxed);
  std::uint64_t until = until_.load(std::memory_order_relaxed);
  if (until > now + left) {
    until_.compare_exchange_strong(until, now + left, std::memory_order_relaxed);
  }
}

void DeviceUsage::forgetAfterFork() {
  unsettled_.store(0, std::memory_order_relaxed);
  until_.store(0, std::memory_order_relaxed);
  overdue_.store(false, std::memory_order_relaxed);
  busy_.store(0, std::memory_order_relaxed);
  loose_sum_.store(0, std::memory_order_relaxed);
  loose_launches_.store(0, std::memory_order_relaxed);
  uniting_.store(false, std::memory_order_relaxed);
  united_.clear();
  certain_.clear();
  window_ = {};
  took_permille_ = 0;
}

}  // namespace divvy::interposer
