// All arbiters of a node: one thread per group of devices that tenants share, made and ended as
// tenants come and go. This is what the agent talks to.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "arbiter/policy.h"
#include "arbiter/residency.h"
#include "arbiter/settings.h"
#include "arbiter/stats.h"

namespace divvy::arbiter {

class GroupArbiter;
class TenantChannel;

// Member functions are called from one thread and return at once, but for those that merge or split
// groups, which wait for a thread's present step to end (well under a millisecond).
class ArbiterManager {
 public:
  explicit ArbiterManager(const Settings& settings);
  // Ends the threads. Grants stay as they are: tenants that live on notice by their leases.
  ~ArbiterManager();
  ArbiterManager(const ArbiterManager&) = delete;
  ArbiterManager& operator=(const ArbiterManager&) = delete;

  // A tenant whose pages are in `dir`, with `devices` of the node in the order of its pages.
  // Terms::devices is ignored. Pages that cannot be used leave the tenant ungated: its figures say
  // why.
  void add(const std::string& id, const std::filesystem::path& dir, const Entitlement& terms,
           const std::vector<unsigned>& devices);
  void change(const std::string& id, const Entitlement& terms);
  void remove(const std::string& id);

  // A process of the tenant uses the devices under this slot, or does no more. Said twice counts
  // once.
  void arrived(const std::string& id, unsigned slot, std::uint64_t generation);
  void left(const std::string& id, unsigned slot, std::uint64_t generation);

  // The process was seen unable to run (stopped, or held by a debugger). Until it does anything
  // again nobody waits for it.
  void halted(const std::string& id, unsigned slot, std::uint64_t generation);

  // The tenant says less of its use than the driver sees: from now on it is charged for what it is
  // granted, or is believed again.
  void distrust(const std::string& id, bool distrusted);

  // How much of a device's memory, of the node's number, tenants may have at any instant; without a
  // budget (from the start on, or 0) nobody is told of memory there. `link` is where measuring
  // starts. Whatever uses the device and is not added here has to be left out of the budget. After
  // a restart: to be set once the tenants that live on, and their processes, are known; what they
  // have is not given to others then.
  void setDevice(unsigned device, const ResidencyBudget& terms);
  // What a tenant that was added is entitled to, by its own devices; class, weight and the mask of
  // devices come from its Terms. Where its pages can be swapped by, and `swappable` is true, its
  // memory is swapped from now on; else it counts with its ceiling.
  void setMemory(const std::string& id, const ResidencyEntitlement& terms);

  // Nothing for a tenant that was not added. At most a second old.
  std::optional<TenantStats> figures(const std::string& id) const;

  // Nothing for a device without a budget, or without tenants. At most a second old.
  std::optional<ResidencyBudgetStats> device(unsigned device) const;

  unsigned groups() const { return static_cast<unsigned>(groups_.size()); }
  // Processor time that the threads have used, those that ended included; at most a second old.
  Nanos cpu() const;
  // How often they woke up.
  std::uint64_t wakes() const;

 private:
  struct Tenant {
    std::filesystem::path dir;
    std::vector<unsigned> devices;
    GroupArbiter* arbiter = nullptr;  // null: ungated
    std::string ungated;              // why
  };

  // The group that has all these devices; merges those that each have some.
  GroupArbiter* groupOf(const std::vector<unsigned>& devices);
  // Takes apart a group whose tenants have come to share no device, ends one without tenants.
  void settle(GroupArbiter* arbiter);
  std::vector<std::shared_ptr<TenantChannel>> dissolve(GroupArbiter* arbiter);
  GroupArbiter* found(std::vector<std::shared_ptr<TenantChannel>> members);
  void ask(const std::string& id, std::function<void(TenantChannel&)> change);

  const Settings settings_;
  std::map<std::string, Tenant> tenants_;
  std::vector<std::unique_ptr<GroupArbiter>> groups_;
  std::map<unsigned, ResidencyBudget> stay_devices_;
  Nanos past_cpu_ = 0;
  std::uint64_t past_wakes_ = 0;
};

}  // namespace divvy::arbiter
