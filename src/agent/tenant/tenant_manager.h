// Creates, recovers, resizes and removes tenants. Everything runs on the agent's one thread.
#pragma once

#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/placement.h"
#include "agent/protocol.h"
#include "arbiter/arbiter_manager.h"
#include "checkpoint/checkpoint_eligibility.h"
#include "device/device_health.h"
#include "device/ecc_error_tracker.h"
#include "device/inventory.h"
#include "idle/idle_shutdown.h"
#include "ledger/liveness.h"
#include "ledger/tenant_ledger.h"
#include "os/asio.h"
#include "os/mountinfo.h"
#include "tenant/report_reader.h"
#include "tenant/residency_reader.h"
#include "tenant/tenant_processes.h"
#include "tenant/tenant_record.h"
#include "tenant/usage_audit.h"

namespace divvy::agent {

struct Tenant {
  explicit Tenant(asio::io_context& loop) : recheck(loop), ended(loop) {
    ended.expires_at(asio::steady_timer::time_point::max());
  }

  TenantRecord record;
  std::string dir;
  std::optional<MountedFile> control;         // control page; only of tenants in containers
  std::optional<ledger::TenantLedger> pages;  // nothing: broken, see `broken`
  std::string broken;
  std::optional<ResidencyReader> swap;      // nothing: no memory is swapped
  std::optional<ActivityReader> work;       // without `swap`, with an idle shutdown
  mutable ReportReader report;              // reads `pages`
  TenantProcesses processes;                // registered processes: they use the device
  std::map<int, WatchedProcess> survivors;  // found by environment or mounts; by PID
  std::optional<WatchedProcess> holder;     // the `divvy run`, while it lives
  UsageAudit audit;
  CheckpointStatus checkpoint;
  LastActivity use;                           // valid where reportsActivity()
  std::optional<LastActivity> seen;           // as measured by the driver; nothing: no figures
  PendingShutdown stop;                       // idle shutdown
  std::string bypass;                         // how it bypasses its limits; empty: not at all
  bool throttled = false;                     // because of `bypass`
  unsigned doubtful = 0;                      // consecutive reports with inconsistencies
  bool doubted = false;                       // inconsistency was logged; it is logged once
  bool grew = false;                          // a grown file was logged; it is logged once
  std::map<std::string, std::string> labels;  // its pod's; none without a pod
  bool killed = false;
  bool said_ended = false;  // end() was called
  unsigned empty_scans = 0;
  unsigned sweep_from = 0;  // first slot of the next sweep
  bool told_full = false;   // unwatched processes were logged
  asio::steady_timer recheck;
  asio::steady_timer ended;  // cancelled when the tenant is removed
};

using TenantPtr = std::shared_ptr<Tenant>;

// Percent of a device's time that a tenant used, as the driver measured it.
struct DriverUsage {
  unsigned registered = 0;
  unsigned strange = 0;  // by processes that did not register
};
// By tenant's ID; the empty ID stands for unmanaged processes.
using DriverUsageByTenant = std::map<std::string, std::map<unsigned, DriverUsage>>;

struct UnmanagedProcess {
  std::uint64_t start_time = 0;
  std::string tenant;  // ID; empty: none
};

// Rules for the memory of this node's devices, and for tenants that do not use them.
struct MemoryPolicy {
  std::vector<DeviceTerms> devices;  // in the inventory's order
  Bytes host_reserve;
  Bytes chunk = kSwapChunk;
  bool host_map = false;  // requested, and the driver's version supports it
  IdleLimits reclaim, stop;
};

struct NewShare;

// Input of placement: the cards, and the allocations on them. The node has no name.
struct PlacementInput {
  std::vector<Card> cards;
  std::vector<engine::Allocation> held;
};

class TenantManager {
 public:
  // `changed` runs after a tenant ended or a share changed: queued requests may fit then.
  TenantManager(asio::io_context& loop, NodePaths paths, const Inventory& inventory,
                const arbiter::Settings& compute, MemoryPolicy memory,
                std::function<void()> changed);

  // Sets the receiver of events. Events before this call are dropped.
  using EventSink = std::function<void(EventView)>;
  void onEvent(EventSink hears) { event_sink_ = std::move(hears); }
  // Emits an event that belongs to no tenant, as of a request that was refused.
  void tell(EventView event) const;

  // Recovers the tenants that an earlier agent left in the runtime directory.
  // Empty and half-made directories are removed. A directory with no file of Divvy's stays
  // untouched. A tenant with unreadable pages is kept while a process lives in it, or while its pod
  // or reservation lasts. kIo: the directories cannot be listed; then nothing was touched.
  Result<void> recoverAll();

  // Creates the share's directory and registers the tenant with the arbiter. Watches the holder
  // from then on. Leaves nothing behind on error.
  Result<TenantPtr> create(const RunRequest& request, const Decision& decision, Backend backend,
                           ProcessId holder);

  // Does the same for a container. The tenant lives until end(). The caller chooses `id`.
  // kUnavailable: an earlier tenant with that ID still exists.
  Result<TenantPtr> createFor(const PodContainer& lodger, const std::string& id,
                              const RunRequest& request, const Decision& decision);

  // Whether a process lives in the tenant.
  bool inUse(const TenantPtr& tenant) {
    return !tenant->processes.empty() || watchSurvivors(tenant);
  }
  // Marks the tenant as ended: its holder's process tree or its pod ended, or the share was
  // released. The tenant is removed when its last process has ended.
  void end(const TenantPtr& tenant);
  // Watches the process that claimed this slot. Returns false if no more processes of this tenant,
  // or of all tenants, can be watched now; the next sweep tries again.
  bool watchProcess(const TenantPtr& tenant, const SlotKey& key, ProcessId id);
  // Finds processes that could not register, a bounded number for each tenant, and adds free slots.
  // Returns false if there may be more.
  bool sweep();
  // Adds free slots for more processes of this tenant. The tenant must have `pages`.
  static void makeSlots(Tenant& tenant);
  // Samples activity and swap rates of tenants, and updates the budgets of devices whose memory is
  // promised more than once. Memory that unmanaged processes use is left out of a budget.
  // First called when recovered tenants and their processes are known; then once a second.
  void updateResidency();
  // Reports stopped processes to the arbiter, so that it does not wait for them. Once a second.
  void skipStopped();
  // Compares the use that tenants report with the use that the driver measures. Once a second; does
  // not block.
  void auditUsage();
  // Reads device health without blocking. Returns true if a device became available for new
  // allocations, or unavailable.
  bool pollHealth();
  // Restores the faults that an earlier agent recorded, and finds those that occurred since. Call
  // once, when the devices are known and were queried once. Blocks for the driver, kDriverPatience
  // at most.
  void restoreFaults();
  const DeviceHealth& health() const { return health_; }
  // See DeviceHealth::held().
  bool holdDevices(std::map<unsigned, std::string> holders);
  // See DeviceHealth::used().
  bool setUnmanagedUse(std::map<unsigned, std::string> strangers);
  // The driver's figures at the last audit. Empty on simulated cards with a scaled clock.
  const DriverUsageByTenant& seen() const { return seen_; }
  // Queries the driver also while there is no tenant: metrics need the figures.
  void alwaysAudit() { always_audit_ = true; }

  // Changes limits; checks capacity on the cards. Returns notes for the caller, a line each. Errors
  // name what is accepted.
  // `by`, here and below: the requester, in words; empty: none, or unknown.
  Result<std::vector<std::string>> change(const TenantPtr& tenant, const SetRequest& request,
                                          const std::string& by);
  // Sets exactly these shares and this priority. `shares` are of the tenant's devices, in their
  // order. With `checked`, fails if capacity is missing. On an error nothing has changed.
  Result<void> reshape(const TenantPtr& tenant, const std::vector<ShareRecord>& shares,
                       Priority priority, bool checked, const std::string& by);
  // Saves the tenant's record for the next agent. A failure is logged.
  static void writeRecord(const Tenant& tenant);
  // Records the tenant's checkpoint phase and status. The record is saved before the arbiter is
  // notified.
  Result<void> noteCheckpoint(Tenant& tenant, CheckpointPhase phase,
                              const CheckpointStatus& status);
  // What a checkpoint needs to know about each of the tenant's devices.
  std::vector<DeviceFootprint> sites(const Tenant& tenant) const;
  // Sends `signal` (SIGTERM or SIGKILL) to the processes of a tenant, or of all tenants, and to the
  // holder.
  void signal(const TenantPtr& tenant, int signal);
  void signalAll(int signal);

  // Returns the tenant that this process holds and has not started a command in, or null. The reply
  // to its request was lost with an earlier agent.
  TenantPtr unstartedOf(const ProcessId& holder) const;
  // Whether the process is in the tenant's container, according to the kernel. Only for tenants in
  // containers. False also if the process has ended.
  static bool isIn(const Tenant& tenant, int pid);
  // Whether the tenant's control page is mounted in the process' container. False also if that is
  // unknown.
  static bool seesPages(const Tenant& tenant, int pid);
  // Returns the tenant of a process, registered or not. Null: the process is unmanaged.
  TenantPtr ownerOf(int pid) const;
  // Reduces the tenant's device time to almost nothing while it bypasses its limits; restores it
  // after.
  void throttle(Tenant& tenant, bool throttled);
  // Finds a tenant by ID or name. Null: none.
  TenantPtr find(const std::string& id_or_name) const;
  const std::map<std::string, TenantPtr>& all() const { return tenants_; }
  // Nothing for a tenant that is broken, or whose compute another backend enforces.
  std::optional<arbiter::TenantStats> compute(const Tenant& tenant) const {
    return arbiters_.figures(tenant.record.id);
  }
  // The cards as placement sees them for a request of priority `asker`. The tenant `except` is left
  // out.
  std::vector<Card> cards(const Tenant* except = nullptr, Priority asker = Priority::kLow) const {
    return placementInput(except, asker).cards;
  }
  PlacementInput placementInput(const Tenant* except = nullptr,
                                Priority asker = Priority::kLow) const;
  // The allocations of all tenants, for a request of priority `asker`.
  std::vector<AllocationOwner> holders(Priority asker) const;
  const MemoryPolicy& memory() const { return memory_; }
  // Null: the device is not in the inventory.
  const Device* deviceOf(const std::string& uuid) const;
  // Whether reportsActivity() holds and the tenant's gate reports all of its work.
  bool activityKnown(const Tenant& tenant) const;
  // Milliseconds of idleness after which the tenant is shut down; 0: never.
  std::uint64_t stopMs(const TenantRecord& record) const {
    return record.idle.stop_ms.value_or(memory_.stop.of(record.priority));
  }
  // Milliseconds of idleness after which its memory is swapped out; 0: never.
  std::uint64_t reclaimMs(const TenantRecord& record) const {
    return record.idle.reclaim_ms.value_or(memory_.reclaim.of(record.priority));
  }
  // Nothing for a device whose memory is promised once.
  std::optional<arbiter::ResidencyBudgetStats> residency(unsigned device) const {
    return arbiters_.device(device);
  }

 private:
  // Emits the event. Sets its device if the tenant has exactly one.
  void emitFor(const TenantRecord& record, EventView event) const;
  void recover(const std::string& id);
  Result<void> writeShares(Tenant& tenant, const std::vector<ShareRecord>& shares);
  void watch(WatchedProcess& watched, Fd pidfd, std::function<void()> on_exit);
  void watchHolder(const TenantPtr& tenant);
  bool watchSurvivors(const TenantPtr& tenant);
  void findAndWatch(const TenantPtr& tenant, const SlotKey& key, const ledger::Owner& owner,
                    ledger::ProcessLookup& look);
  bool findLost(const TenantPtr& tenant, const ledger::ReportSnapshot& report,
                ledger::ProcessLookup& look);
  static std::size_t mostWatched();
  bool mayWatch(Tenant& tenant) const;
  void reap(const TenantPtr& tenant, const SlotKey& key, unsigned tries = 0);
  // Frees the slots, a bounded number in each turn of the loop.
  void reapAll(const TenantPtr& tenant, std::vector<SlotKey> keys);
  // Removes the tenant if neither a holder nor a process keeps it alive.
  void collectIfUnused(const TenantPtr& tenant);
  void removeTenant(const TenantPtr& tenant);
  // Keeps a tenant whose record is lost until it is released. Where the pages leave a value open,
  // the choice frees nothing.
  void keepUnrecorded(const TenantPtr& tenant);
  std::string newId() const;
  ledger::TenantSpec specOf(const TenantRecord& record, const Decision& decision) const;
  // Creates all swap files of a pod's tenant: a container's mounts are chosen before it is known
  // whether its memory is ever swapped.
  Result<void> makeMountable(Tenant& tenant) const;
  // Removes what is left under this name, or moves foreign files aside. kIo: neither is possible.
  Result<void> clear(const std::string& dir) const;
  // Creates the tenant's directory. The record must be complete except for the shares.
  Result<void> make(const TenantPtr& tenant, const Decision& decision);
  // The use that the driver measured for all tenants, by tenant's ID and device.
  DriverUsageByTenant seenUse(const DriverTimes& times);
  void noteSeen(Tenant& tenant, const std::map<unsigned, int>& utilisation) const;
  // Compares the driver's figures with the tenants' reports, for all tenants.
  void compareUses();
  // True if the tenant became distrusted, or trusted again.
  bool compareUse(Tenant& tenant, const arbiter::TenantStats& figures,
                  const std::map<unsigned, DriverUsage>& seen);
  void reportHealth();
  void reportFaults(const DriverHealth& said) const;
  bool noteErrors(const DriverHealth& said);
  void keepFaults();
  // From then on the tenant shares compute and memory with its neighbours.
  void registerWithArbiter(Tenant& tenant);
  arbiter::Entitlement policyOf(const Tenant& tenant) const;
  // Opens the activity reader if the tenant has an idle shutdown. Sets the record's `counted`.
  void openActivity(Tenant& tenant);
  // Updates the arbiter's budgets of devices whose memory is promised more than once. `new_sample`:
  // a second has passed since the last one.
  void updateBudgets(bool new_sample);
  Result<void> checkMemory(const Tenant& tenant, const SetRequest& request,
                           const std::vector<NewShare>& plans, const std::vector<Card>& all) const;
  // Takes overcommit and budget of the tenant's devices from its pages, where no option sets them.
  void inheritSwapConfig(Tenant& tenant);
  // Logs the inconsistencies of the tenant's report after `enough` consecutive reports with some.
  static void noteReport(Tenant& tenant, const ledger::ReportSnapshot& report, unsigned enough);
  // The key by which the tenant's processes, and those of its pod's other containers, recognise
  // each other. Zero outside of containers: agent and tenants are one user there, and a block's
  // name suffices to use its memory. kUnavailable: no random key could be drawn.
  Result<ledger::SipKey> ipcKeyOf(const TenantRecord& record) const;
  // Writes the swap configuration into the tenant's pages, if any of its memory can be swapped.
  Result<void> writeSwapConfig(Tenant& tenant);
  // Sends the tenant's memory entitlement to the arbiter.
  void updateEntitlement(const Tenant& tenant);
  // Whether the arbiter accounts for the tenant's memory.
  bool booked(const Tenant& tenant) const;
  // Whether the device's memory is promised more than once, or was.
  bool shared(const Device& device) const;

  asio::io_context& loop_;
  NodePaths paths_;
  const Inventory& inventory_;
  std::function<void()> changed_;
  EventSink event_sink_;
  std::map<std::string, TenantPtr> tenants_;
  DriverUsageByTenant seen_;
  bool always_audit_ = false;
  std::map<int, UnmanagedProcess>
      strangers_;  // by PID: recent users of a device that did not register
  std::map<unsigned, std::vector<Bytes>> foreign_;  // the last few seconds, by device
  std::map<unsigned, arbiter::ResidencyBudget> told_;
  MemoryPolicy memory_;
  DeviceHealth health_;
  EccErrorTracker errors_;
  std::int64_t last_look_s_ = 0;  // last look of the agent before, seconds since 1970; 0: unknown
  PersistedDeviceState kept_;     // as last saved for the next agent
  const arbiter::Settings compute_;
  arbiter::ArbiterManager arbiters_;
  std::size_t
      most_watched_;  // processes of all tenants; leaves descriptors for the agent's own use
};

// A tenant's use of a device according to its ledger (validated). `outside`: contexts that do not
// count against the share.
struct TenantUse {
  Bytes inside;
  Bytes outside;
};
std::map<std::string, TenantUse> useOf(const Tenant& tenant);
// The report of a tenant that has `pages`; null: it cannot be read.
inline ReportPtr reportOf(const Tenant& tenant) {
  return tenant.report.look(*tenant.pages);
}
// The use in `report`, which was just read from the tenant's pages.
std::map<std::string, TenantUse> useOf(const Tenant& tenant, const ledger::ReportSnapshot& report);
// Whether the ledger's counts include contexts. If the share excludes contexts, one context on each
// device stays outside the share.
bool chargesContexts(const Tenant& tenant);
// Milliseconds of CLOCK_MONOTONIC.
std::uint64_t nowMs();
// Milliseconds since 1970.
std::int64_t wallMs();
// The residency that the tenant's processes report; no devices: nothing is swapped.
ResidencySummary swapOf(const Tenant& tenant);
// Whether the tenant reports its activity. An open gate counts nothing; it is closed for tenants
// that may be swapped or shut down when idle.
inline bool reportsActivity(const Tenant& tenant) {
  return tenant.pages && (tenant.swap || tenant.work);
}
// Whether any memory of the tenant may be swapped.
bool swaps(const TenantRecord& record);
// Whether the share's guarantee is below its limit.
bool swaps(const ShareRecord& share);

// The tenant's entitlement to the time of each of its devices.
arbiter::Entitlement termsOf(const TenantRecord& record);

// The largest percentage of a device's time that a share of `cores` percent gets.
unsigned coresCeiling(CoresPolicy policy, unsigned cores);

}  // namespace divvy::agent
