// The tenant as NVML tells it: its devices, its memory, its processes.
#pragma once

#include "abi/nvml_ids.h"
#include "nvml/device_view.h"
#include "tenant/tenant.h"

namespace divvy::interposer {

// The share of one unit in bytes.
struct UnitShare {
  std::uint64_t total;  // the ceiling
  std::uint64_t free;   // what an allocation could still get, as cuMemGetInfo says it; <= total
};

class NvmlTenant {
 public:
  // `account` may be detached (a tenant whose pages cannot be used): then there are no devices.
  constexpr explicit NvmlTenant(ledger::Account& account) : account_(account) {}

  ledger::Account& account() { return account_; }
  DeviceView& view() { return view_; }

  // Sums over the devices in `unit`: a card seen for its instances shows the tenant's ones.
  UnitShare share(const Unit& unit) const;
  // What all processes of the tenant use. At a moment of its own: with the headroom that no
  // allocation gets, it need not add up to share().
  std::uint64_t used(const Unit& unit) const;
  std::uint64_t processUsed(unsigned slot, const Unit& unit) const;

  // A question in a form that we do not know was passed to the driver as it is. Counted.
  void passedUnknown(abi::Nv entry, std::uint64_t version) const;

 private:
  ledger::Account& account_;
  DeviceView view_;
};

// The tenant that this process belongs to, or nullptr: then every hook is the driver's own
// function. Settled at the first call, for the life of the process. Any thread.
NvmlTenant* nvmlTenant();

// Where the agent says the driver's library is; nullptr or empty: where the loader would find it.
const char* preferredNvmlPath();

}  // namespace divvy::interposer
