// The living tenants: made, watched, changed and buried here. Everything on the agent's one thread.
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
  std::optional<MountedFile> control;         // its control page; of `contained` ones
  std::optional<ledger::TenantLedger> pages;  // none: broken, see `broken`
  std::string broken;
  std::optional<ResidencyReader> swap;      // none: nothing of it is swapped
  std::optional<ActivityReader> work;       // of one without, that may not be idle for ever
  mutable ReportReader report;              // of its pages
  TenantProcesses processes;                // that registered: they use the device
  std::map<int, WatchedProcess> survivors;  // that carry the tenant's directory, by PID
  std::optional<WatchedProcess> holder;     // the `divvy run`, while it lives
  UsageAudit audit;
  CheckpointStatus checkpoint;
  LastActivity use;                           // where reportsActivity()
  std::optional<LastActivity> seen;           // by the driver's figures; none: it has none of it
  PendingShutdown stop;                       // for want of use
  std::string bypass;                         // what it does past what limits it; empty: nothing
  bool throttled = false;                     // for that
  unsigned doubtful = 0;                      // reports in a row that say what cannot be
  bool doubted = false;                       // that was said: once, or it would fill the log
  bool grew = false;                          // likewise, that a file of its was larger than made
  std::map<std::string, std::string> labels;  // its pod's; of no pod: none
  bool killed = false;
  bool said_ended = false;  // the holder saw its whole tree end
  unsigned empty_scans = 0;
  unsigned sweep_from = 0;  // the slot at which the next sweep begins
  bool told_full = false;   // that not all of its processes are watched
  asio::steady_timer recheck;
  asio::steady_timer ended;  // cancelled when the tenant is gone
};

using TenantPtr = std::shared_ptr<Tenant>;

// Percent of a device's time that the driver saw a tenant use.
struct DriverUsage {
  unsigned registered = 0;
  unsigned strange = 0;  // by processes without our libraries
};
// By tenant's id; empty: of processes that are nobody's.
using DriverUsageByTenant = std::map<std::string, std::map<unsigned, DriverUsage>>;

struct UnmanagedProcess {
  std::uint64_t start_time = 0;
  std::string tenant;  // empty: nobody's
};

// What holds for the memory of this node's devices, and for who does not use them.
struct MemoryPolicy {
  std::vector<DeviceTerms> devices;  // in the inventory's order
  Bytes host_reserve;
  Bytes chunk = kSwapChunk;
  bool host_map = false;  // asked for, and the driver is said to do it
  IdleLimits reclaim, stop;
};

struct NewShare;

// What placement goes by: the cards, and of what was taken of them who took it. Of no node.
struct PlacementInput {
  std::vector<Card> cards;
  std::vector<engine::Allocation> held;
};

class TenantManager {
 public:
  // `changed` runs after a tenant ended or a share changed: queued requests may fit now.
  TenantManager(asio::io_context& loop, NodePaths paths, const Inventory& inventory,
                const arbiter::Settings& compute, MemoryPolicy memory,
                std::function<void()> changed);

  // From now on whoever is given this hears what becomes of shares; before, nobody does.
  using EventSink = std::function<void(EventView)>;
  void onEvent(EventSink hears) { event_sink_ = std::move(hears); }
  // Of somebody who got nothing, say.
  void tell(EventView event) const;

  // Takes over what an earlier agent left in the runtime directory. Directories that cannot be
  // understood are kept as long as a process lives in them, then removed. An
  // error when the directories cannot be listed: nothing is known then, and nothing was touched.
  Result<void> recoverAll();

  // Makes the share's directory; the holder is watched from here on. Leaves nothing behind on
  // error. `by` of all of these: who asked for it, in words.
  Result<TenantPtr> create(const RunRequest& request, const Decision& decision, Backend backend,
                           ProcessId holder);

  // The same for a container, whose tenant lives until end(). `id` is the caller's to choose;
  // kUnavailable: an earlier tenant of that id has not gone yet.
  Result<TenantPtr> createFor(const PodContainer& lodger, const std::string& id,
                              const RunRequest& request, const Decision& decision);

  // Whether a process lives in it.
  bool inUse(const TenantPtr& tenant) {
    return !tenant->processes.empty() || watchSurvivors(tenant);
  }
  // The holder's tree, or the pod, has ended, or it is not kept any more.
  void end(const TenantPtr& tenant);
  // Keeps the process that claimed this slot in view. False: no more can be watched now, of this
  // tenant or of all; the next sweep tries again.
  bool watchProcess(const TenantPtr& tenant, const SlotKey& key, ProcessId id);
  // Finds processes that could not register, a bounded number of each tenant's, and makes room for
  // more. False: there may be others.
  bool sweep();
  // Makes room for more processes of this one.
  static void makeSlots(Tenant& tenant);
  // Lets tenants take turns on devices that are promised more than once, with what others leave of
  // them. First when those that live on and their processes are known; then once a second.
  void updateResidency();
  // Has nobody wait for processes that are stopped while it is their turn. Once a second.
  void skipStopped();
  // Holds against tenants what the driver says of their use. Once a second; does not wait.
  void auditUsage();
  // Whether cards can be given to somebody new: asks the driver without waiting. Whether another
  // one can, or cannot, than before.
  bool pollHealth();
  // Once, when devices are known and were asked for a first time: what an earlier agent heard of
  // them, and what happened since. Waits for the driver, kDriverPatience at most.
  void restoreFaults();
  const DeviceHealth& health() const { return health_; }
  // As DeviceHealth::held().
  bool holdDevices(std::map<unsigned, std::string> holders);
  // As DeviceHealth::used().
  bool setUnmanagedUse(std::map<unsigned, std::string> strangers);
  // What it saw when it last looked. Empty where the cards have a time of their own.
  const DriverUsageByTenant& seen() const { return seen_; }
  // From now on the driver is asked also while nobody could lie: somebody wants to know.
  void alwaysAudit() { always_audit_ = true; }

  // New limits; checks room on the cards. Errors say what is accepted; the result is what the asker
  // should know, a line each.
  Result<std::vector<std::string>> change(const TenantPtr& tenant, const SetRequest& request,
                                          const std::string& by);
  // Exactly these shares, of the devices that it has, in their order, and that priority.
  // `checked`: only where there is room. On an error all is as it was.
  Result<void> reshape(const TenantPtr& tenant, const std::vector<ShareRecord>& shares,
                       Priority priority, bool checked, const std::string& by);
  // Its note for the next agent, as its record is now.
  static void writeRecord(const Tenant& tenant);
  // How far the tenant is with its checkpoint: its note says so first, then the arbiter is told.
  Result<void> noteCheckpoint(Tenant& tenant, CheckpointPhase phase,
                              const CheckpointStatus& status);
  // What that takes on each of its devices.
  std::vector<DeviceFootprint> sites(const Tenant& tenant) const;
  // Ends the processes of a tenant, or of all: SIGTERM, or SIGKILL.
  void signal(const TenantPtr& tenant, int signal);
  void signalAll(int signal);

  // The share this process holds and has not started its command in: its answer got lost with an
  // earlier agent.
  TenantPtr unstartedOf(const ProcessId& holder) const;
  // Whether that process is in the tenant's container, by the kernel's word. Of tenants in
  // containers; false: it has gone, or is another's.
  static bool isIn(const Tenant& tenant, int pid);
  // Of a container, by what is mounted there. False: it cannot be told, too.
  static bool seesPages(const Tenant& tenant, int pid);
  // Whose process this is, registered or not; null: nobody's.
  TenantPtr ownerOf(int pid) const;
  // It gets next to nothing of its devices' time for as long as it goes around what limits it.
  void throttle(Tenant& tenant, bool throttled);
  // By id or name.
  TenantPtr find(const std::string& id_or_name) const;
  const std::map<std::string, TenantPtr>& all() const { return tenants_; }
  // Nothing for a tenant that is broken, or whose compute is enforced by another backend.
  std::optional<arbiter::TenantStats> compute(const Tenant& tenant) const {
    return arbiters_.figures(tenant.record.id);
  }
  // The cards as placement sees them now for somebody of this priority; `except` has nothing there.
  std::vector<Card> cards(const Tenant* except = nullptr, Priority asker = Priority::kLow) const {
    return placementInput(except, asker).cards;
  }
  PlacementInput placementInput(const Tenant* except = nullptr,
                                Priority asker = Priority::kLow) const;
  // The same, tenant by tenant.
  std::vector<AllocationOwner> holders(Priority asker) const;
  const MemoryPolicy& memory() const { return memory_; }
  // Null: it has gone.
  const Device* deviceOf(const std::string& uuid) const;
  // reportsActivity(), and nothing of it goes unseen now.
  bool activityKnown(const Tenant& tenant) const;
  // Milliseconds of idleness after which it is ended; 0: never.
  std::uint64_t stopMs(const TenantRecord& record) const {
    return record.idle.stop_ms.value_or(memory_.stop.of(record.priority));
  }
  // And gives its memory back; likewise.
  std::uint64_t reclaimMs(const TenantRecord& record) const {
    return record.idle.reclaim_ms.value_or(memory_.reclaim.of(record.priority));
  }
  // Nothing for a device whose memory is promised once.
  std::optional<arbiter::ResidencyBudgetStats> residency(unsigned device) const {
    return arbiters_.device(device);
  }

 private:
  // With the device, where it is one.
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
  // A part of them in each turn of the loop.
  void reapAll(const TenantPtr& tenant, std::vector<SlotKey> keys);
  // Buries the tenant if nothing keeps it alive.
  void collectIfUnused(const TenantPtr& tenant);
  void removeTenant(const TenantPtr& tenant);
  // Of one whose note is lost: what the pages do not say is taken for what gives nothing away.
  void keepUnrecorded(const TenantPtr& tenant);
  std::string newId() const;
  ledger::TenantSpec specOf(const TenantRecord& record, const Decision& decision) const;
  // A pod's container is given all files before it is known whether its memory is ever swapped.
  Result<void> makeMountable(Tenant& tenant) const;
  // What an agent that was killed left under that name, or somebody put there, is not in the way.
  Result<void> clear(const std::string& dir) const;
  // Makes the directory of `tenant`, whose record says all but the shares.
  Result<void> make(const TenantPtr& tenant, const Decision& decision);
  // What the driver sees of all tenants, by tenant's id and device.
  DriverUsageByTenant seenUse(const DriverTimes& times);
  void noteSeen(Tenant& tenant, const std::map<unsigned, int>& utilisation) const;
  // The driver's word on their use against theirs.
  void compareUses();
  // True when the verdict on the tenant's word changed.
  bool compareUse(Tenant& tenant, const arbiter::TenantStats& figures,
                  const std::map<unsigned, DriverUsage>& seen);
  // From here on its compute, and its memory, is shared with its neighbours'.
  void reportHealth();
  void reportFaults(const DriverHealth& said) const;
  bool noteErrors(const DriverHealth& said);
  void keepFaults();
  void registerWithArbiter(Tenant& tenant);
  arbiter::Entitlement policyOf(const Tenant& tenant) const;
  // From when on it is known when it works, if that is asked for; its record says it then.
  void openActivity(Tenant& tenant);
  // What tenants may have on each of those devices; `new_sample`: a second has passed.
  void updateBudgets(bool new_sample);
  Result<void> checkMemory(const Tenant& tenant, const SetRequest& request,
                           const std::vector<NewShare>& plans, const std::vector<Card>& all) const;
  // Where nobody told us otherwise, what its pages say that an agent before us was told.
  void inheritSwapConfig(Tenant& tenant);
  // Says what cannot be in its report, when that was so `enough` times in a row.
  static void noteReport(Tenant& tenant, const ledger::ReportSnapshot& report, unsigned enough);
  // By which its processes, and those of its pod's other containers, know each other. Zero where
  // whoever has a block's name may have its memory: outside of containers agent and tenants are
  // one.
  Result<ledger::SipKey> ipcKeyOf(const TenantRecord& record) const;
  // Tells it by what terms its memory is swapped, if any of it can be.
  Result<void> writeSwapConfig(Tenant& tenant);
  // Tells the arbiter what it is entitled to.
  void updateEntitlement(const Tenant& tenant);
  // Whether its memory counts in the arbiter's book.
  bool booked(const Tenant& tenant) const;
  // Memory there is promised more than once, or has been.
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
      strangers_;  // by PID: that used a device lately without registering
  std::map<unsigned, std::vector<Bytes>> foreign_;  // the last few seconds, by device
  std::map<unsigned, arbiter::ResidencyBudget> told_;
  MemoryPolicy memory_;
  DeviceHealth health_;
  EccErrorTracker errors_;
  std::int64_t last_look_s_ = 0;  // of an agent before this one, since 1970; 0: not known
  PersistedDeviceState kept_;     // as the next agent would recall them
  const arbiter::Settings compute_;
  arbiter::ArbiterManager arbiters_;
  std::size_t most_watched_;  // of all tenants, so that descriptors are left for the agent's own
};

// What the tenant uses of a device, as its ledger says (validated); contexts that are counted
// outside the share are told apart.
struct TenantUse {
  Bytes inside;
  Bytes outside;
};
std::map<std::string, TenantUse> useOf(const Tenant& tenant);
// Of one that has pages; null: its report cannot be read.
inline ReportPtr reportOf(const Tenant& tenant) {
  return tenant.report.look(*tenant.pages);
}
// Likewise, of one that has pages, as they were just read.
std::map<std::string, TenantUse> useOf(const Tenant& tenant, const ledger::ReportSnapshot& report);
// Its contexts are in what its ledger counts; of a share that is meant without them all but one.
bool chargesContexts(const Tenant& tenant);
// Milliseconds of CLOCK_MONOTONIC.
std::uint64_t nowMs();
// Milliseconds since 1970.
std::int64_t wallMs();
// What its processes say of their memory; no devices: nothing of it is swapped.
ResidencySummary swapOf(const Tenant& tenant);
// Whether it is seen to use its devices, or not to: behind an open gate nothing is counted, and it
// is closed for those who may be swapped, or may not be idle for ever.
inline bool reportsActivity(const Tenant& tenant) {
  return tenant.pages && (tenant.swap || tenant.work);
}
// Some of its memory may be swapped.
bool swaps(const TenantRecord& record);
// It is guaranteed less than its limit there.
bool swaps(const ShareRecord& share);

// What a tenant is entitled to of each of its devices' time.
arbiter::Entitlement termsOf(const TenantRecord& record);

// Percent of a device's time that a share of `cores` percent never exceeds.
unsigned coresCeiling(CoresPolicy policy, unsigned cores);

}  // namespace divvy::agent
