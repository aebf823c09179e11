// Compares the use that tenants report with the use that the driver measures. Private.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "arbiter/arbiter_manager.h"
#include "device/inventory.h"
#include "tenant/tenant_table.h"

namespace divvy::agent {

// Percent of a device's time that a tenant used, as the driver measured it.
struct DriverUsage {
  unsigned registered = 0;
  unsigned strange = 0;  // by processes that did not register
};
// By tenant's ID; the empty ID stands for unmanaged processes.
using DriverUsageByTenant = std::map<std::string, std::map<unsigned, DriverUsage>>;

// Whether the driver sees the tenant use one of `devices`. Nothing: `utilisation` lacks one of
// them, or there is none. Where the driver names no process, use may be the tenant's. Pure.
std::optional<bool> worksByDriver(const std::string& tenant, const std::vector<unsigned>& devices,
                                  const DriverUsageByTenant& seen,
                                  const std::map<unsigned, int>& utilisation);

// Only on the agent's one thread. The arguments must outlive the monitor. Writes `audit` of
// tenants, and adds the driver's measurements to `activity`.
class UsageAuditMonitor {
 public:
  // The meaning of the driver's samples for the present second.
  enum class Clock : std::uint8_t {
    kReal,
    kScaled,  // simulated cards with a time of their own: samples are of other seconds
  };
  UsageAuditMonitor(const TenantTable& table, const Inventory& inventory,
                    arbiter::ArbiterManager& arbiters, Clock clock)
      : table_(table), inventory_(inventory), arbiters_(arbiters), clock_(clock) {}

  // Compares the use that tenants report with the use that the driver measures. Once a second; does
  // not block.
  void auditUsage();
  // The driver's figures at the last audit. Empty with Clock::kScaled.
  const DriverUsageByTenant& seen() const { return seen_; }
  // Queries the driver also while there is no tenant: metrics need the figures.
  void alwaysAudit() { always_ = true; }
  // Logs the inconsistencies of the tenant's report, once: after `enough` consecutive reports with
  // some.
  static void noteReport(Tenant& tenant, const ledger::ReportSnapshot& report, unsigned enough);

 private:
  struct UnmanagedProcess {
    std::uint64_t start_time = 0;
    std::string tenant;  // ID; empty: none
  };

  // The use that the driver measured for all tenants, by tenant's ID and device.
  DriverUsageByTenant seenUse(const DriverTimes& times);
  void noteSeen(Tenant& tenant, const std::map<unsigned, int>& utilisation) const;
  // Compares the driver's figures with the tenants' reports, for all tenants.
  void compareUses();
  // True if the tenant became distrusted, or trusted again.
  bool compareUse(Tenant& tenant, const arbiter::TenantStats& figures,
                  const std::map<unsigned, DriverUsage>& seen) const;

  const TenantTable& table_;
  const Inventory& inventory_;
  arbiter::ArbiterManager& arbiters_;
  const Clock clock_;
  DriverUsageByTenant seen_;
  bool always_ = false;
  // By PID: recent users of a device that did not register.
  std::map<int, UnmanagedProcess> unregistered_;
};

}  // namespace divvy::agent
