// The thread that gates the tenants of one group of devices.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "arbiter/policy.h"
#include "arbiter/settings.h"
#include "arbiter/stats.h"
#include "doorbell.h"
#include "residency_controller.h"
#include "tenant_channel.h"

namespace divvy::arbiter {

// The agent's main thread calls the public member functions. Changes are carried out by the
// arbiter's own thread, in order.
class GroupArbiter {
 public:
  GroupArbiter(const Settings& settings, std::vector<std::shared_ptr<TenantChannel>> members,
               const ResidencyBudgets& devices = {});
  ~GroupArbiter() { stop(); }
  GroupArbiter(const GroupArbiter&) = delete;
  GroupArbiter& operator=(const GroupArbiter&) = delete;

  void add(std::shared_ptr<TenantChannel> member);
  void remove(const std::string& id);
  // Runs `change` on the tenant's channel, if the tenant still exists, and passes the result to the
  // policies.
  void with(const std::string& id, std::function<void(TenantChannel&)> change);
  // Sets the memory budget of a device that the group has or may get.
  void setDevice(unsigned device, const ResidencyBudget& terms);
  // Stops the thread. Grants stay as they are. Returns the channels, with the state to hand over.
  std::vector<std::shared_ptr<TenantChannel>> stop();

  std::map<std::string, TenantStats> stats() const;
  std::optional<TenantStats> stats(const std::string& id) const;
  std::optional<ResidencyBudgetStats> device(unsigned device) const;
  // Processor time of the thread. At most a second old.
  Nanos cpu() const { return cpu_.load(std::memory_order_relaxed); }
  // Number of wake-ups of the thread.
  std::uint64_t wakeups() const { return wakeups_.load(std::memory_order_relaxed); }

 private:
  using Command = std::function<void()>;

  // Called on the arbiter's thread, or while it does not run.
  void admit(std::shared_ptr<TenantChannel> member, Nanos now);
  void dismiss(TenantChannel& member, Nanos now);

  void run();
  void runCommands();
  void step(Nanos now);
  void observe(TenantChannel* member, Nanos now);
  void report(Nanos now);
  void arrange(Nanos now);
  void restart(Nanos now);
  void issue(const std::vector<Order>& orders, Nanos now);
  void releaseWithoutOrder(Nanos now);
  void dropBroken(Nanos now);
  void publishHeartbeat(Nanos now);
  void publish(Nanos now, bool new_window);
  Nanos nextStep(Nanos now) const;
  void post(Command command);
  TenantChannel* find(TenantKey key);

  const Settings settings_;
  SchedulingPolicy policy_;
  ResidencyController residency_;
  std::vector<std::shared_ptr<TenantChannel>> members_;
  std::map<std::string, std::string> dropped_;  // id -> reason why it is ungated
  // A report that a step has read and not yet passed to the policy.
  struct ObservedReport {
    TenantChannel* member;
    Report report;
  };
  // An earlier change within such a report, at its instant.
  struct PreviousSample {
    Nanos at;
    const ObservedReport* observed;
    bool at_work;
  };
  std::vector<ObservedReport> observed_;
  std::vector<PreviousSample> earlier_samples_;
  std::vector<unsigned> devices_;  // the node's numbers, by place in the group
  Nanos next_beat_ = 0;
  Nanos stepped_at_ = 0;
  Nanos next_window_ = 0;
  bool stale_ = true;  // published statistics are out of date

  Doorbell doorbell_;
  std::mutex mailbox_;
  std::vector<Command> commands_;
  std::atomic<bool> stopping_{false};
  std::atomic<Nanos> cpu_{0};
  std::atomic<std::uint64_t> wakeups_{0};

  mutable std::mutex shown_;
  std::map<std::string, TenantStats> published_;
  std::map<unsigned, ResidencyBudgetStats> published_devices_;

  std::thread thread_;  // last: it uses all other members
};

}  // namespace divvy::arbiter
