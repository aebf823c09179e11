// Which tenant gets the devices' memory next, and from which tenants it is taken. See README.md.
#pragma once

#include <vector>

#include "policy/residency_accounts.h"

namespace divvy::arbiter {

class ResidencyScheduler {
 public:
  explicit ResidencyScheduler(ResidencyAccounts* accounts) : accounts_(*accounts) {}

  // Notes which tenants have become ready, then plans for all that wait.
  void turn(DeadlineSet* agenda);
  // Estimated end of the tenant's turn; 0: it has none.
  Nanos turnEnd(const Resident& resident) const;

 private:
  struct Reclaim {
    Resident* from;
    unsigned device;
    std::uint64_t bytes;
    bool park = false;  // with all its memory, on all devices
  };
  // The cost of serving a tenant.
  struct ResidencyDemand {
    Resident* who;
    bool floor_only;  // only the guaranteed memory, from any tenant
    Nanos swap = 0;
    double loss = 0;
    std::uint64_t in = 0;   // bytes to copy to the devices
    std::uint64_t out = 0;  // bytes that other tenants must give
    std::vector<Reclaim> reclaims;
  };
  // Which tenants give first. kNotNow: the tenant does not give.
  enum class Rank { kIdle, kBelow, kTurnOver, kBehind, kGuaranteed, kNotNow };

  void noteReady();
  // Returns true if a tenant turned out to be stuck in its turn: the order of the line has changed.
  bool serveLine();
  bool serve(Resident* resident, bool past);
  bool collect(ResidencyDemand* demand);
  bool collectOn(ResidencyDemand* demand, unsigned device);
  // Collects memory that swapping does not free from tenants that can be parked.
  bool collectParked(ResidencyDemand* demand, unsigned device, std::int64_t missing,
                     std::int64_t host);
  // Bytes that other tenants could give without being parked.
  std::uint64_t sparesFor(const ResidencyDemand& demand, unsigned device) const;
  void estimate(ResidencyDemand* demand);
  void apply(const ResidencyDemand& demand, bool past);
  Rank rankOf(const Resident& from, const ResidencyDemand& demand);
  bool turnOver(const Resident& holder, const ResidencyDemand& demand);
  std::int64_t shortOf(const ResidencyDemand& demand, unsigned device) const;
  double ratio(unsigned device, bool* latency) const;
  double partOf(const Resident& holder) const;
  void noteThrash();

  ResidencyAccounts& accounts_;
  DeadlineSet* agenda_ = nullptr;
  std::uint64_t grants_ = 0;
  std::vector<Resident*> line_;
};

}  // namespace divvy::arbiter
