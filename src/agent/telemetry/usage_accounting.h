// Accounts the use of devices by tenants over time, for chargeback. Pure. Private.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "agent/protocol.h"
#include "events/event_detector.h"

namespace divvy::agent {

// Values only grow. They belong to this agent: a successor starts at 0, as counters may.
struct DeviceUsage {
  double device_seconds =
      0;  // seconds of the device's time, as charged, or as the driver measured it
  double byte_seconds = 0;  // bytes in use, times seconds
};

// Totals over all processes, where the tenant's counts are sums over living processes and fall when
// a process ends; and counts made here.
struct TenantCounters {
  std::uint64_t allocations_short = 0;
  std::uint64_t allocation_waits = 0;
  // Seconds in which it wanted to run while its memory was not all on its devices.
  double paused = 0;
};

class UsageAccounting {
 public:
  // By tenant's ID and device index.
  using Bills = std::map<std::string, std::map<unsigned, DeviceUsage>>;
  // Part of a device's time that the driver saw the tenant use; for tenants behind an open gate,
  // which are not charged.
  using SeenPart = std::map<std::string, std::map<unsigned, double>>;

  // Adds the state at `now_ms`, which only grows. Drops tenants that have ended.
  void add(const std::vector<TenantView>& tenants, const SeenPart& seen, std::uint64_t now_ms);
  // The allocations that were refused, of all tenants and of ended ones.
  void setRefused(const RefusedAllocations& refused) { refused_ = refused; }
  const RefusedAllocations& refused() const { return refused_; }
  const Bills& bills() const { return bills_; }
  const std::map<std::string, TenantCounters>& tallies() const { return tallies_; }

 private:
  void count(const std::vector<TenantView>& tenants, double seconds);

  Bills bills_;
  std::map<std::string, TenantCounters> tallies_, seen_;
  std::uint64_t last_ms_ = 0;
  RefusedAllocations refused_;
};

}  // namespace divvy::agent
