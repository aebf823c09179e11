// The tenant as NVML reports it: its devices, its memory, its processes.
#pragma once

#include "abi/nvml_ids.h"
#include "nvml/device_view.h"
#include "tenant/tenant.h"

namespace divvy::interposer {

// The share of one unit, in bytes.
struct UnitShare {
  std::uint64_t total;  // the ceiling
  std::uint64_t free;   // available to allocations, as cuMemGetInfo reports it; <= total
};

class NvmlTenant {
 public:
  // `account` may be detached, for a tenant with unusable pages: then there are no devices.
  constexpr explicit NvmlTenant(ledger::Account& account) : account_(account) {}

  ledger::Account& account() { return account_; }
  DeviceView& view() { return view_; }

  // Returns sums over the devices in `unit`. A device that is seen for its instances shows the
  // tenant's instances.
  UnitShare share(const Unit& unit) const;
  // Returns the use of all processes of the tenant. It is read at another moment than share().
  // Also, no allocation gets the headroom. So the two need not add up.
  std::uint64_t used(const Unit& unit) const;
  std::uint64_t processUsed(unsigned slot, const Unit& unit) const;

  // Counts a query of an unknown form that was passed to the driver unchanged.
  void passedUnknown(abi::Nv entry, std::uint64_t version) const;

 private:
  ledger::Account& account_;
  DeviceView view_;
};

// Returns the tenant of this process. Returns nullptr if there is none: then every hook is the
// driver's own function. Determined at the first call for the life of the process. Any thread.
NvmlTenant* nvmlTenant();

// Returns the path of the driver's library by the agent; nullptr or empty: the loader's choice.
const char* preferredNvmlPath();

}  // namespace divvy::interposer
