// Memory that tenants have and may have on the devices. The sum of booked memory never exceeds a
// budget.
#pragma once

#include <memory>
#include <vector>

#include "policy/deadline_set.h"
#include "policy/resident.h"

namespace divvy::arbiter {

class ResidencyAccounts {
 public:
  struct Device {
    ResidencyBudget terms;
    Nanos quantum = 0;
    Nanos predicted = 0;
    Nanos actual = 0;
    double error = 0;
    double ratio = 0;
    bool thrash_risk = false;
  };
  using Residents = std::vector<std::unique_ptr<Resident>>;

  explicit ResidencyAccounts(const ResidencyConstants& constants) : constants_(constants) {}

  const ResidencyConstants& constants() const { return constants_; }
  const Residents& residents() const { return residents_; }
  Resident* find(TenantKey key) const;
  Resident& add(TenantKey key, const ResidencyEntitlement& terms, Nanos now);
  void remove(TenantKey key);
  Device& device(unsigned device) { return devices_[device]; }

  // Accepts a report. Returns true if anything changed.
  bool note(Resident* resident, const ResidencyReport& stay, Nanos now);
  // Adds time to resident tenants.
  void advance(Nanos now);

  // Computes floors and targets from the reports.
  void refresh();
  // Returns planned memory to tenants that refuse to give it, or give nothing for `patience`; asks
  // them again later.
  void postponeRefused(DeadlineSet* agenda);
  // Lowers plans until they are within the budget.
  void shed(DeadlineSet* agenda);
  // Takes the memory of tenants that were idle for `unused_after`, as far as the host reserve goes.
  void reclaim(DeadlineSet* agenda);
  // Allows tenants their planned memory, as far as the budget exceeds the booked memory.
  void raise();
  // Plans some memory beyond the need, for future allocations, while no tenant waits.
  void lendSlack();
  void reclaimSlack(unsigned device, std::uint64_t bytes);
  std::uint64_t slackLent(unsigned device) const;

  std::uint64_t booked(unsigned device) const;
  std::uint64_t planned(unsigned device) const;
  // Budget less planned memory; negative: overdrawn.
  std::int64_t unplanned(unsigned device) const;
  // Host memory left for memory that is swapped out for `resident`, which itself leaves the host.
  std::uint64_t hostLeftFor(const Resident& resident, unsigned device) const;
  // The most that the tenant can be given, including host memory if it may use that.
  std::uint64_t mostOf(const Resident& resident, unsigned device) const;
  // Returns whether memory that it has on some device may be taken, because the needs of all
  // tenants do not fit.
  bool contended(const Resident& resident) const;
  // The tenant's part of the host reserves.
  std::uint64_t hostFor(const Resident& resident) const;

 private:
  // Sets floors, and which requested pinned memory is admitted. Returns the sum of the floors.
  std::uint64_t admit(unsigned device);
  std::uint64_t slack(unsigned device) const;
  void bound(Resident* resident, ResidencyReport* stay) const;
  void adopt(Resident* resident, Nanos now);
  void restore(Resident* resident, Nanos now);

  const ResidencyConstants constants_;
  Nanos now_ = 0;
  std::array<Device, kMaxGroupDevices> devices_{};
  Residents residents_;
};

}  // namespace divvy::arbiter
