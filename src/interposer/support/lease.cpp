#include "support/lease.h"

namespace divvy::interposer {
namespace {

constexpr std::uint64_t kDefaultLeaseMs = 2000;
constexpr std::uint64_t kMillisecond = 1'000'000;

}  // namespace

std::uint64_t Lease::stamp(const ledger::Grant& grant) {
  return ledger::loadAcquire(grant.beat) + ledger::loadAcquire(grant.seq);
}

bool Lease::alive(const ledger::Grant& grant, std::uint64_t now) {
  const std::uint64_t stamped = stamp(grant);
  const std::uint64_t since = since_.load(std::memory_order_relaxed);
  if (since == 0 || stamped != seen_.load(std::memory_order_relaxed)) {
    // `since_` first: a thread between the two stores must not measure the new stamp from the old
    // instant.
    since_.store(now, std::memory_order_release);
    seen_.store(stamped, std::memory_order_release);
    return true;
  }
  const std::uint32_t told = ledger::loadRelaxed(grant.lease_ms);
  const std::uint64_t lease = (told != 0 ? told : kDefaultLeaseMs) * kMillisecond;
  return now < since || now - since < lease;
}

}  // namespace divvy::interposer
