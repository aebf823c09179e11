// What tenants had of their devices over time, for whoever pays. Pure. Private.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "agent/protocol.h"

namespace divvy::agent {

// Only grow. Of this agent: a successor begins at 0, as counters may.
struct DeviceUsage {
  double device_seconds = 0;  // seconds of the device's time, as charged, or as the driver saw it
  double byte_seconds = 0;    // bytes in use, times seconds
};

// Of counts that are sums over living processes, and fall when one ends, all that there were; and
// what is counted here.
struct TenantCounters {
  std::uint64_t allocations_short = 0;
  std::uint64_t allocation_waits = 0;
  // Seconds that it wanted to run and its memory was not on its devices, or not all of it.
  double paused = 0;
};

class UsageAccounting {
 public:
  // By tenant's id and number of the device.
  using Bills = std::map<std::string, std::map<unsigned, DeviceUsage>>;
  // Part of a device's time that the driver saw the tenant use; for those behind an open gate, of
  // whom nothing is charged.
  using SeenPart = std::map<std::string, std::map<unsigned, double>>;

  // As everything is at `now_ms`, which only grows. Whoever is not there any more is forgotten.
  void add(const std::vector<TenantView>& tenants, const SeenPart& seen, std::uint64_t now_ms);
  const Bills& bills() const { return bills_; }
  const std::map<std::string, TenantCounters>& tallies() const { return tallies_; }

 private:
  void count(const std::vector<TenantView>& tenants, double seconds);

  Bills bills_;
  std::map<std::string, TenantCounters> tallies_, seen_;
  std::uint64_t last_ms_ = 0;
};

}  // namespace divvy::agent
