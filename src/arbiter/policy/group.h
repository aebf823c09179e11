// The tenants of a group of devices: which of them share devices, and the accounts of their use and
// waiting time. policy/quantum_scheduler.h decides which tenant runs.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "policy/tenant.h"
#include "policy/tenant_handoff.h"
#include "policy/token_bucket.h"

namespace divvy::arbiter {

inline constexpr unsigned kClasses = 3;

class Group {
 public:
  explicit Group(const Constants& constants);

  const Constants& constants() const { return constants_; }
  const std::vector<std::unique_ptr<Tenant>>& tenants() const { return tenants_; }
  Tenant* find(TenantKey key) const;

  Tenant& add(const Entitlement& terms);
  void change(Tenant* tenant, const Entitlement& terms);
  void setProcesses(Tenant* tenant, unsigned processes);
  void remove(TenantKey key);

  // handoff() returns the tenant's state, and resume() continues from a state of another group, in
  // which the tenant's devices had other numbers.
  TenantHandoff handoff(const Tenant& tenant) const;
  void resume(Tenant* tenant, const TenantHandoff& handoff, const DeviceNumbers& device_of);

  // Lets time pass: buckets fill, waiting time adds up. Must precede any call that belongs to
  // `now`.
  void advance(Nanos now);
  // Accounts a report. Returns true if something changed that the policy depends on.
  bool account(Tenant* tenant, const Report& report);

  // raiseFloors() keeps the floors of virtual time rising with the tenants that want to run.
  // limitLag() limits how far a returning tenant may be behind the floor. The limit is the time
  // that it was owed when it paused, or a quantum if that is more; after a short pause, four
  // quanta.
  void raiseFloors();
  void limitLag(Tenant* tenant);
  // `tenant` (of several devices) runs. Its narrow rivals' lead from the time when other devices
  // kept it from running is reduced to four quanta.
  void forgive(const Tenant& tenant);

  // Returns whether the tenant's class, below another one, has waited long enough on all the
  // tenant's devices to get some of its minimum share. Stays true until that part is used.
  bool starvation_reserve(const Tenant& tenant, DeadlineSet* agenda);

 private:
  struct Device {
    std::array<Virtual, kClasses> floor{};
    std::array<TokenBucket, kClasses> starvation_reserve;
    std::array<bool, kClasses> giving{};
    unsigned present = 0;  // tenants with work on the device
    // A tenant of the class, below another class, wants to run.
    std::array<bool, kClasses> kept_out{};
  };

  // Zero point of the class's virtual times in a handoff: its lowest floor.
  Virtual baseOf(PriorityClass cls) const;
  // How far the tenant is behind its rivals as it pauses.
  Virtual lagOf(const Tenant& tenant) const;
  void relate();
  void count();
  bool accountTimes(Tenant* tenant, const Report& report);
  void charge(Tenant* tenant, const std::array<double, kMaxGroupDevices>& used, double most);
  void chargeTime(Tenant* tenant, double time);
  Nanos reserveUnit() const { return constants_.quantum / 5; }

  Constants constants_;
  Nanos now_ = 0;
  TenantKey next_key_ = 1;
  unsigned used_devices_ = 0;  // one above the highest number
  std::vector<std::unique_ptr<Tenant>> tenants_;
  std::array<Device, kMaxGroupDevices> devices_;
};

}  // namespace divvy::arbiter
