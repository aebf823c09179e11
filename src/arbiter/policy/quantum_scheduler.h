// Which tenant runs. Within a class, tenants that share a device take turns in the order of their
// virtual times. A class below another one waits for its gaps. See README.md.
#pragma once

#include <array>
#include <tuple>
#include <vector>

#include "policy/deadline_set.h"
#include "policy/group.h"
#include "policy/tenant.h"

namespace divvy::arbiter {

class QuantumScheduler {
 public:
  explicit QuantumScheduler(Group* group) : group_(*group) {}

  // Updates each tenant's turn for the agenda's instant.
  void turn(DeadlineSet* agenda);

 private:
  void updateSolo(Tenant* tenant);
  void throttle(Tenant* tenant);
  bool blocked(const Tenant& tenant) const;
  bool contended(const Tenant& tenant) const;
  bool isExpectedBack(const Tenant& holder, const Tenant& other) const;
  bool isStarved(const Tenant& tenant) const;
  bool yields(const Tenant& holder, const Tenant& to) const;
  bool steady(const Tenant& tenant) const;
  Nanos lengthFor(const Tenant& tenant) const;
  Nanos endFor(const Tenant& holder, const Tenant& other) const;
  // The functions that return bool below return true if something changed.
  bool finishDraining();
  void noteDrain(Tenant* left);
  bool stopForbidden();
  bool serve();
  bool claim(Tenant* tenant);
  // When a turn on these devices must end, because of tenants that are earlier in line.
  Nanos promisedUntil(const Tenant& tenant) const;
  void run(Tenant* tenant, Nanos until);
  void stop(Tenant* tenant);
  void noteAlone();

  Group& group_;
  DeadlineSet* agenda_ = nullptr;
  // Valid during one call of turn().
  struct SlotPromise {
    const Tenant* to;
    Nanos until;
  };
  std::vector<SlotPromise> promises_;
  std::array<std::uint32_t, kClasses> taken_{};  // devices that have their next tenant
  struct QueuedTenant {
    std::tuple<PriorityClass, bool, bool, Virtual, TenantKey> rank;
    Tenant* tenant;
  };
  std::vector<QueuedTenant> line_;
};

}  // namespace divvy::arbiter
