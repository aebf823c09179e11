// A running tenant in memory: its record, its pages, and groups of state. Each group is written by
// its owner only. Everything runs on the agent's one thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "checkpoint/checkpoint_eligibility.h"
#include "checkpoint/checkpoint_state_machine.h"
#include "ledger/tenant_ledger.h"
#include "os/asio.h"
#include "os/clock.h"
#include "os/mountinfo.h"
#include "reports/report_reader.h"
#include "reports/residency_reader.h"
#include "reports/usage_audit.h"
#include "tenant/tenant_processes.h"
#include "tenant/tenant_record.h"
#include "tenant_shutdown/shutdown_state_machine.h"

namespace divvy::agent {

// The processes that keep a tenant alive. LivenessMonitor writes it.
class TenantLiveness {
 public:
  explicit TenantLiveness(asio::io_context& loop) : recheck_(loop), removed_(loop) {
    removed_.expires_at(asio::steady_timer::time_point::max());
  }

  // Registered processes: they use the devices.
  const TenantProcesses& processes() const { return processes_; }
  // Whether its `divvy run` is known to live.
  bool held() const { return holder_.has_value(); }
  // Whether its process tree or its pod ended, or its share was released.
  bool saidEnded() const { return said_ended_; }
  // Never expires. A wait for it ends when the tenant is removed.
  asio::steady_timer& removed() { return removed_; }

 private:
  friend class LivenessMonitor;

  TenantProcesses processes_;
  std::map<int, WatchedProcess> survivors_;  // found by environment or mounts; by PID
  std::optional<WatchedProcess> holder_;     // the `divvy run`, while it lives
  bool said_ended_ = false;
  unsigned empty_scans_ = 0;
  unsigned sweep_from_ = 0;  // first slot of the next sweep
  bool told_full_ = false;   // unwatched processes were logged
  asio::steady_timer recheck_;
  asio::steady_timer removed_;
};

// When a tenant used its devices, as its processes report it and as the driver measures it. Pure
// apart from open() and sample(). Instants are milliseconds of CLOCK_MONOTONIC.
class TenantActivity {
 public:
  // Starts with that instant as the last use.
  void begin(std::uint64_t at_ms) { use_ = LastActivity(at_ms); }
  // Opens the activity pages in the tenant's directory. On an error nothing has changed.
  Result<void> open(const std::string& dir);
  bool isOpen() const { return reader_.has_value(); }
  // Takes the reports of the tenant's processes in these slots. Requires isOpen().
  void sample(const ActivityReader::Slots& slots);
  // Takes a sample from elsewhere. `last_launch_ms`: see LastActivity.
  void note(bool at_work, std::uint64_t last_launch_ms, std::uint64_t now_ms) {
    use_.note(at_work, last_launch_ms, now_ms);
  }
  // Takes the driver's figure: whether it sees the tenant use a device. Nothing: it has no figures.
  void noteDriver(std::optional<bool> works, std::uint64_t now_ms);

  // The last use as reported. Valid where reportsActivity() holds.
  const LastActivity& use() const { return use_; }
  // The last use as measured by the driver. Nothing: the driver has no figures.
  const std::optional<LastActivity>& seen() const { return seen_; }

 private:
  std::optional<ActivityReader> reader_;  // only without swapping, with an idle shutdown
  LastActivity use_;
  std::optional<LastActivity> seen_;
};

// Where the tenant's memory is. MemoryOvercommit writes it.
class TenantMemory {
 public:
  // Nothing: no memory is swapped.
  const std::optional<ResidencyReader>& swap() const { return swap_; }
  const CheckpointStatus& checkpoint() const { return checkpoint_; }

 private:
  friend class MemoryOvercommit;

  std::optional<ResidencyReader> swap_;
  CheckpointStatus checkpoint_;
};

// Its end by signals. IdleReaper writes the idle shutdown.
class TenantShutdown {
 public:
  const PendingShutdown& pending() const { return pending_; }
  // Records that SIGKILL is sent. Returns true the first time.
  bool noteKilled() { return !std::exchange(killed_, true); }

 private:
  friend class IdleReaper;

  PendingShutdown pending_;
  bool killed_ = false;
};

// How the tenant bypasses its limits. LimitBypassMonitor writes it.
class TenantBypass {
 public:
  // Empty: not at all.
  const std::string& how() const { return how_; }

 private:
  friend class LimitBypassMonitor;

  std::string how_;
  bool files_grew_ = false;  // a grown file was logged; it is logged once
};

struct Tenant {
  explicit Tenant(asio::io_context& loop) : liveness(loop) {}

  TenantRecord record;
  std::string dir;
  std::optional<MountedFile> control;         // control page; only of tenants in containers
  std::optional<ledger::TenantLedger> pages;  // nothing: broken, see `broken`
  std::string broken;
  std::map<std::string, std::string> labels;  // its pod's; none without a pod

  TenantLiveness liveness;
  TenantActivity activity;
  TenantMemory memory;
  TenantShutdown shutdown;
  TenantBypass bypass;
  UsageAudit audit;             // UsageAuditMonitor writes it
  bool throttled = false;       // TenantCompute writes it
  mutable ReportReader report;  // reads `pages`
};

using TenantPtr = std::shared_ptr<Tenant>;

// A tenant's use of a device according to its ledger (validated). `outside`: contexts that do not
// count against the share.
struct TenantUse {
  Bytes inside;
  Bytes outside;
};
std::map<std::string, TenantUse> useOf(const Tenant& tenant);
// The report of a tenant that has `pages`; null: it cannot be read.
inline ReportPtr reportOf(const Tenant& tenant) {
  return tenant.report.read(*tenant.pages);
}
// The use in `report`, which was just read from the tenant's pages.
std::map<std::string, TenantUse> useOf(const Tenant& tenant, const ledger::ReportSnapshot& report);
// Whether the ledger's counts include contexts. If the share excludes contexts, one context on each
// device stays outside the share.
bool chargesContexts(const Tenant& tenant);
// Slots and generations of the tenant's registered processes.
ResidencyReader::Slots slotsOf(const Tenant& tenant);
// The residency that the tenant's processes report; no devices: nothing is swapped.
ResidencySummary swapOf(const Tenant& tenant);
// Whether the tenant reports its activity. An open gate counts nothing; it is closed for tenants
// that may be swapped or shut down when idle.
inline bool reportsActivity(const Tenant& tenant) {
  return tenant.pages && (tenant.memory.swap() || tenant.activity.isOpen());
}
// The largest percentage of a device's time that a share of `cores` percent gets.
unsigned coresCeiling(CoresPolicy policy, unsigned cores);

// Whether the process is in the tenant's container, according to the kernel. Only for tenants in
// containers. False also if the process has ended.
bool isIn(const Tenant& tenant, int pid);
// Whether the tenant's control page is mounted in the process' container. False also if that is
// unknown.
bool seesPages(const Tenant& tenant, int pid);

// Saves the tenant's record for the next agent. A failure is logged.
void writeRecord(const Tenant& tenant);

}  // namespace divvy::agent
