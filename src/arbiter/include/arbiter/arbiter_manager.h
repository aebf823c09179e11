// All group arbiters of a node: one thread for each group of devices that tenants share, started
// and stopped as tenants come and go. This is the agent's interface to the arbiters.
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

// All member functions are called from one thread. They return at once, except those that merge or
// split groups. These wait until the current step of a group's thread ends (well under a
// millisecond).
class ArbiterManager {
 public:
  explicit ArbiterManager(const Settings& settings);
  // Stops the threads. Grants stay as they are; running tenants notice by their leases.
  ~ArbiterManager();
  ArbiterManager(const ArbiterManager&) = delete;
  ArbiterManager& operator=(const ArbiterManager&) = delete;

  // Adds a tenant with its pages in `dir`. `devices` are the node's device numbers, in the order of
  // the tenant's pages. Entitlement::devices is ignored. Pages that cannot be used leave the tenant
  // ungated; its statistics state the reason.
  void add(const std::string& id, const std::filesystem::path& dir, const Entitlement& terms,
           const std::vector<unsigned>& devices);
  void change(const std::string& id, const Entitlement& terms);
  void remove(const std::string& id);

  // addProcess(): a process of the tenant uses the devices under this slot. removeProcess(): it no
  // longer does. Repeated calls have no effect.
  void addProcess(const std::string& id, unsigned slot, std::uint64_t generation);
  void removeProcess(const std::string& id, unsigned slot, std::uint64_t generation);

  // The process was seen unable to run (stopped, or held by a debugger). No tenant waits for it
  // until it acts again.
  void haltProcess(const std::string& id, unsigned slot, std::uint64_t generation);

  // `distrusted`: the tenant reports less use than the driver measures, and is charged for its
  // grants from now on. False: its reports are accepted again.
  void distrust(const std::string& id, bool distrusted);

  // Sets how much memory of a device, by the node's number, tenants may have at any instant.
  // Without a budget (never set, or 0) no tenant gets orders for memory on that device. `swap_cost`
  // holds the initial values of the measured bandwidth and costs. The budget must leave out
  // everything that uses the device and is not added here.
  //
  // After a restart, call this once the running tenants and their processes are known; memory that
  // they have is then not given to other tenants.
  void setDevice(unsigned device, const ResidencyBudget& terms);
  // Sets the entitlement of an added tenant, indexed by its own devices. Class and device mask
  // come from its Entitlement; the weight becomes its effective weight in compute within a second.
  // If `swappable` is true and its residency pages can be opened, its memory is swapped from now
  // on. Otherwise it counts with its ceiling.
  void setMemory(const std::string& id, const ResidencyEntitlement& terms);

  // Returns nothing for a tenant that was not added. At most a second old.
  std::optional<TenantStats> stats(const std::string& id) const;

  // Returns nothing for a device without a budget or without tenants. At most a second old.
  std::optional<ResidencyBudgetStats> device(unsigned device) const;

  unsigned groups() const { return static_cast<unsigned>(groups_.size()); }
  // Processor time used by all threads, including stopped ones. At most a second old.
  Nanos cpu() const;
  // Number of wake-ups of all threads.
  std::uint64_t wakeups() const;

 private:
  struct Tenant {
    std::filesystem::path dir;
    std::vector<unsigned> devices;
    GroupArbiter* arbiter = nullptr;  // null: ungated
    std::string ungated;              // the reason
  };

  // Returns the group that has all these devices, merging groups that each have some. Null if no
  // group has any.
  GroupArbiter* groupOf(const std::vector<unsigned>& devices);
  // Splits a group if its tenants no longer share devices; stops a group without tenants.
  void reconcile(GroupArbiter* arbiter);
  std::vector<std::shared_ptr<TenantChannel>> dissolve(GroupArbiter* arbiter);
  GroupArbiter* found(std::vector<std::shared_ptr<TenantChannel>> members);
  void post(const std::string& id, std::function<void(TenantChannel&)> change);

  const Settings settings_;
  std::map<std::string, Tenant> tenants_;
  std::vector<std::unique_ptr<GroupArbiter>> groups_;
  std::map<unsigned, ResidencyBudget> budgets_;
  Nanos past_cpu_ = 0;
  std::uint64_t past_wakeups_ = 0;
};

}  // namespace divvy::arbiter
