// The tenants of a group of devices: who stands beside whom, and the account of what each used and
// how long each waited. Whose turn it is, is decided in policy/quantum_scheduler.h.
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
  Tenant* find(Key key) const;

  Tenant& add(const Entitlement& terms);
  void change(Tenant* tenant, const Entitlement& terms);
  void setProcesses(Tenant* tenant, unsigned processes);
  void remove(Key key);

  // `tenant` goes on here as it stood elsewhere, where its devices had other numbers.
  TenantHandoff handoff(const Tenant& tenant) const;
  void resume(Tenant* tenant, const TenantHandoff& handoff, const DeviceNumbers& device_of);

  // Time passes: buckets fill, waiting adds up. Before anything else that has an instant.
  void advance(Nanos now);
  // Accounts what a tenant says. True: something that the law looks at is different.
  bool settle(Tenant* tenant, const Report& report);

  // Virtual times of those that want to run only rise; who did not, is owed what it was owed when
  // it paused, or else at most a quantum.
  void raiseFloors();
  void wake(Tenant* tenant);
  // `tenant` (of several devices) runs: what its narrow rivals got while other devices kept it from
  // running is not held against them for longer than a few quanta.
  void forgive(const Tenant& tenant);

  // Whether a class below another has waited long enough on all the tenant's devices to be given
  // some of its minimum. Once given, until that is used.
  bool starvation_reserve(const Tenant& tenant, DeadlineSet* agenda);

 private:
  struct Device {
    std::array<Virtual, kClasses> floor{};
    std::array<TokenBucket, kClasses> starvation_reserve;
    std::array<bool, kClasses> giving{};
    unsigned present = 0;                   // tenants whose work is on it
    std::array<bool, kClasses> kept_out{};  // some tenant of the class wants to run, below another
  };

  // From where virtual times of a class are counted: the lowest floor.
  Virtual baseOf(Class cls) const;
  // How far the tenant is behind its rivals, as it pauses.
  Virtual owedTo(const Tenant& tenant) const;
  void relate();
  void count();
  bool settleTimes(Tenant* tenant, const Report& report);
  void charge(Tenant* tenant, const std::array<double, kMaxGroupDevices>& used, double most);
  void chargeTime(Tenant* tenant, double time);
  Nanos almsUnit() const { return constants_.quantum / 5; }

  Constants constants_;
  Nanos now_ = 0;
  Key next_key_ = 1;
  unsigned used_devices_ = 0;  // one above the highest
  std::vector<std::unique_ptr<Tenant>> tenants_;
  std::array<Device, kMaxGroupDevices> devices_;
};

}  // namespace divvy::arbiter
