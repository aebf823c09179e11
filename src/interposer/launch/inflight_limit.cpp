#include "launch/inflight_limit.h"

#include "runtime.h"

namespace divvy::interposer {
namespace {

using ledger::loadRelaxed;

constexpr std::uint64_t kMicrosecond = 1'000;
constexpr std::uint64_t kMillisecond = 1'000'000;
constexpr std::uint64_t kMaxSlack = 500 * kMicrosecond;
// A machine that is later than that is short of processors. A tenant that others wait for must not
// have more in flight because of that.
constexpr std::uint64_t kMaxLate = 200 * kMicrosecond;
constexpr std::uint64_t kDefaultEscapeMs = 100;

std::uint64_t smaller(std::uint64_t a, std::uint64_t b) {
  return a < b ? a : b;
}

std::uint64_t larger(std::uint64_t a, std::uint64_t b) {
  return a > b ? a : b;
}

}  // namespace

std::uint64_t InflightLimit::end() {
  const ProcessUsage& usage = runtime().meter.usage();
  return usage.idle() ? 0 : larger(usage.inflightUntil(), 1);
}

bool InflightLimit::fitsSoon(const LaunchNeed& need, std::uint64_t now) const {
  const ProcessUsage& usage = runtime().meter.usage();
  return usage.unsettledOn(need.device) == 0 || usage.untilOn(need.device) <= now + lead();
}

// A part of the bound on work in flight, but at least the usual wake-up delay of a sleeping thread.
// Otherwise the device would be idle each time until the thread runs.
std::uint64_t InflightLimit::lead() const {
  const std::uint64_t late = late_.load(std::memory_order_relaxed);
  return larger(smaller(grant_.inflightBound() / 4, kMaxSlack), late);
}

bool InflightLimit::saturated() const {
  return waits_.load(std::memory_order_relaxed) != 0 && !servesFirst(*grant_.terms());
}

// Follows about the 90th percentile: it rises eight times as fast as it falls.
void InflightLimit::noteLate(std::uint64_t by) {
  by = smaller(by, kMaxLate);
  const std::uint64_t usual = late_.load(std::memory_order_relaxed);
  const std::uint64_t next = by > usual ? usual + (by - usual) / 4 : usual - (usual - by) / 32;
  late_.store(next, std::memory_order_relaxed);
}

bool InflightLimit::stalled(std::uint64_t since, std::uint64_t now) const {
  if (end() == 0) return false;
  const ledger::Grant* terms = grant_.terms();
  const std::uint32_t told = terms != nullptr ? loadRelaxed(terms->escape_ms) : 0;
  const std::uint64_t escape = (told != 0 ? told : kDefaultEscapeMs) * kMillisecond;
  return now - larger(since, smaller(now, progress_.load(std::memory_order_relaxed))) >= escape;
}

void InflightLimit::forgetAfterFork() {
  progress_.store(0, std::memory_order_relaxed);
  waits_.store(0, std::memory_order_relaxed);
}

}  // namespace divvy::interposer
