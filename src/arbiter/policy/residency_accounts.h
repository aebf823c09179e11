// What tenants have on the devices and may have: the book whose sum never exceeds a budget.
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
  Resident* find(Key key) const;
  Resident& add(Key key, const ResidencyEntitlement& terms, Nanos now);
  void remove(Key key);
  Device& device(unsigned device) { return devices_[device]; }

  // What somebody says; differences to what it said before. True: there are any.
  bool note(Resident* resident, const ResidencyReport& stay, Nanos now);
  // Time passes for who is resident.
  void advance(Nanos now);

  // Brings floors and targets to what follows from what was said.
  void refresh();
  // Gives back to those that do not go what was to be taken of them, and has nobody count on it.
  void excuse(DeadlineSet* agenda);
  // Plans below the budget, should they be above it.
  void shed(DeadlineSet* agenda);
  // Takes what those have that were idle for as long as they may be, as far as the host has room.
  void reclaim(DeadlineSet* agenda);
  // Lets tenants have what is planned, as far as the book has room for it.
  void raise();
  // Somewhat more than they need, for those that allocate, where nobody waits.
  void lendSlack();
  void takeSlack(unsigned device, std::uint64_t bytes);
  std::uint64_t slackGiven(unsigned device) const;

  std::uint64_t booked(unsigned device) const;
  std::uint64_t planned(unsigned device) const;
  // What nobody has or is planned to have; negative: overdrawn.
  std::int64_t unplanned(unsigned device) const;
  // Host memory that is left for what may be taken for somebody, who leaves it then.
  std::uint64_t hostLeftFor(const Resident& resident, unsigned device) const;
  // What somebody can be given, and what the host has room for beside that where it may use it.
  std::uint64_t mostOf(const Resident& resident, unsigned device) const;
  // Some of what it has on a device where not all can have what they need: it may be taken.
  bool contended(const Resident& resident) const;
  // Of all, what one may use.
  std::uint64_t hostFor(const Resident& resident) const;

 private:
  // Floors, and who may have what he asked for; the sum of the floors.
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
