#include "tenant/liveness_monitor.h"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <boost/asio/post.hpp>
#include <chrono>
#include <set>
#include <utility>

#include "base/processes.h"
#include "log/log.h"
#include "tenant/usage_audit_monitor.h"

namespace divvy::agent {
namespace {

// Between two scans for survivors: an execve hides a process from a scan for far less.
constexpr std::chrono::milliseconds kRecheck{100};
// Empty scans before a tenant is removed that did not report its end.
constexpr unsigned kEmptyScans = 2;
// Slots that are kept free for processes to come.
constexpr unsigned kFreeSlots = 48;
// For one tenant, between two turns of the loop.
constexpr unsigned kReapsPerTurn = 64;
constexpr unsigned kReapTries = 8;
constexpr unsigned kFoundPerSweep = 256;
// Descriptors that watches of tenants' processes never take.
constexpr std::size_t kReservedDescriptors = 256;
// Reports: a page that changes while it is copied can mislead once.
constexpr unsigned kLastingDoubt = 3;

}  // namespace

LivenessMonitor::LivenessMonitor(Context context)
    : context_(std::move(context)), most_watched_(mostWatched()) {}

// Leaves descriptors for the agent's own files and connections, however many processes tenants
// make.
std::size_t LivenessMonitor::mostWatched() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return kReservedDescriptors;
  return limit.rlim_cur < 2 * kReservedDescriptors ? limit.rlim_cur / 2
                                                   : limit.rlim_cur - kReservedDescriptors;
}

void LivenessMonitor::watch(WatchedProcess& watched, Fd pidfd, std::function<void()> on_exit) {
  watched.exit = std::make_unique<asio::posix::stream_descriptor>(context_.loop, pidfd.release());
  watched.exit->async_wait(asio::posix::stream_descriptor::wait_read,
                           [on_exit = std::move(on_exit)](const error_code& fault) {
                             if (!fault) on_exit();
                           });
}

void LivenessMonitor::watchHolder(const TenantPtr& tenant) {
  Fd pidfd = openProcess(tenant->record.holder);
  if (!pidfd.valid()) return collectIfUnused(tenant);
  tenant->liveness.holder_.emplace(WatchedProcess{tenant->record.holder, nullptr});
  watch(*tenant->liveness.holder_, std::move(pidfd), [this, tenant] {
    tenant->liveness.holder_.reset();
    collectIfUnused(tenant);
  });
}

bool LivenessMonitor::mayWatch(Tenant& tenant) const {
  std::size_t all = 0;
  for (const auto& [id, one] : context_.table.all())
    all += one->liveness.processes_.watched().size() + one->liveness.survivors_.size();
  if (!tenant.liveness.processes_.full() && all < most_watched_) return true;
  if (!std::exchange(tenant.liveness.told_full_, true))
    log::warn("a tenant has too many processes to watch; memory of the others is freed late",
              {{"tenant", tenant.record.id},
               {"watched", std::to_string(tenant.liveness.processes_.watched().size())}});
  return false;
}

bool LivenessMonitor::watchProcess(const TenantPtr& tenant, const SlotKey& key, ProcessId id) {
  TenantProcesses& processes = tenant->liveness.processes_;
  if (!tenant->pages || processes.has(key)) return true;
  Fd pidfd;
  if (!processes.watches(id)) {
    if (!mayWatch(*tenant)) return false;
    pidfd = openProcess(id);
    if (!pidfd.valid() && mayLive(id.pid)) return false;  // out of descriptors is no death
    if (!pidfd.valid()) return reap(tenant, key), true;
  }
  static_cast<void>(
      tenant->pages->adoptSlot(key.slot, key.generation, static_cast<std::uint32_t>(id.pid)));
  const std::optional<SlotKey> before = processes.claim(key, id, [&] {
    WatchedProcess watched{id, nullptr};
    watch(watched, std::move(pidfd), [this, tenant, id] {
      reapAll(tenant, tenant->liveness.processes_.remove(id));
      collectIfUnused(tenant);
    });
    return watched;
  });
  if (before) context_.arbiters.removeProcess(tenant->record.id, before->slot, before->generation);
  context_.arbiters.addProcess(tenant->record.id, key.slot, key.generation);
  return true;
}

// A slot names its process by the PID of that process' own PID namespace.
void LivenessMonitor::findAndWatch(const TenantPtr& tenant, const SlotKey& key,
                                   const ledger::Owner& owner, ledger::ProcessLookup& look) {
  const Result<std::uint32_t> found = look.find(owner);
  if (!found)
    return log::warn("cannot find the process of a slot",
                     {{"tenant", tenant->record.id}, {"error", found.error().message()}});
  if (*found == 0) return reap(tenant, key);
  const int pid = static_cast<int>(*found);
  watchProcess(tenant, key, {pid, startTimeOf(pid)});
}

void LivenessMonitor::reap(const TenantPtr& tenant, const SlotKey& key, unsigned tries) {
  if (!tenant->pages) return;
  context_.arbiters.removeProcess(tenant->record.id, key.slot, key.generation);
  Result<ledger::ReapResult> result = tenant->pages->reap(key.slot, key.generation);
  if (!result && result.error().code() == ErrorCode::kUnavailable) {
    // A tenant that changes its total all the time is tried again by the next sweep.
    if (tries < kReapTries)
      asio::post(context_.loop, [this, tenant, key, tries] { reap(tenant, key, tries + 1); });
    return;
  }
  if (!result)
    log::warn("cannot free the memory of an ended process",
              {{"tenant", tenant->record.id}, {"error", result.error().message()}});
  context_.notifier.changed();
}

void LivenessMonitor::reapAll(const TenantPtr& tenant, std::vector<SlotKey> keys) {
  for (unsigned i = 0; i < kReapsPerTurn && !keys.empty(); ++i) {
    const SlotKey key = keys.back();
    keys.pop_back();
    reap(tenant, key);
  }
  if (keys.empty()) return;
  asio::post(context_.loop, [this, tenant, keys = std::move(keys)] { reapAll(tenant, keys); });
}

bool LivenessMonitor::watchSurvivors(const TenantPtr& tenant) {
  if (tenant->record.ofPod()) return false;
  // The environment of a container's processes is the container's choice.
  const std::vector<ProcessId> found =
      tenant->record.contained ? processesWhere([&](int pid) { return isIn(*tenant, pid); })
                               : processesIn(tenant->dir, geteuid());
  for (const ProcessId& id : found) {
    if (id.pid == processes().self() || tenant->liveness.survivors_.contains(id.pid)) continue;
    Fd pidfd = openProcess(id);
    if (!pidfd.valid()) continue;
    WatchedProcess& watched = tenant->liveness.survivors_[id.pid];
    watched.id = id;
    watch(watched, std::move(pidfd), [this, tenant, pid = id.pid] {
      tenant->liveness.survivors_.erase(pid);
      collectIfUnused(tenant);
    });
  }
  return !tenant->liveness.survivors_.empty();
}

// A tenant can make slots faster than the agent finds their processes: hence kFoundPerSweep.
bool LivenessMonitor::findLost(const TenantPtr& tenant, const ledger::ReportSnapshot& report,
                               ledger::ProcessLookup& look) {
  const std::size_t count = report.slots.size();
  unsigned found = 0;
  const std::size_t from = count == 0 ? 0 : tenant->liveness.sweep_from_ % count;
  for (std::size_t i = 0; i < count; ++i) {
    const ledger::SlotSnapshot& slot = report.slots[(from + i) % count];
    const SlotKey key{slot.slot, slot.generation};
    if (slot.phase == ledger::Phase::kRetired || tenant->liveness.processes_.has(key)) continue;
    if (++found > kFoundPerSweep) {
      tenant->liveness.sweep_from_ = static_cast<unsigned>((from + i) % count);
      return false;
    }
    findAndWatch(tenant, key, slot.owner, look);
  }
  return true;
}

void LivenessMonitor::makeSlots(Tenant& tenant) {
  const Result<unsigned> slots = tenant.pages->ensureFreeSlots(kFreeSlots);
  if (!slots)
    log::warn("cannot add slots for processes",
              {{"tenant", tenant.record.id}, {"error", slots.error().message()}});
}

bool LivenessMonitor::sweep() {
  bool all = true;
  const std::map<std::string, TenantPtr> snapshot = context_.table.all();
  for (const auto& [id, tenant] : snapshot) {
    if (!tenant->pages) continue;
    const ReportPtr report = reportOf(*tenant);
    if (!report) continue;
    UsageAuditMonitor::noteReport(*tenant, *report, kLastingDoubt);
    // A container may write any PID into its report.
    ledger::Eligible eligible;
    if (tenant->record.inContainer())
      eligible = [tenant](std::uint32_t pid) { return isIn(*tenant, static_cast<int>(pid)); };
    // Created after the report: each owner in the report existed before.
    ledger::ProcessLookup look(std::move(eligible));
    all = findLost(tenant, *report, look) && all;
    makeSlots(*tenant);
  }
  return all;
}

void LivenessMonitor::collectIfUnused(const TenantPtr& tenant) {
  if (!context_.table.contains(tenant->record.id)) return;
  const bool held = tenant->liveness.holder_ || tenant->record.ofPod() || tenant->record.kept;
  if (held && !tenant->liveness.said_ended_) return;
  // The loop may not have seen the exit of a process that has ended.
  for (const auto& [id, watched] : tenant->liveness.processes_.watched()) {
    if (!hasEnded(watched.exit->native_handle())) return;
  }
  if (watchSurvivors(tenant)) {
    tenant->liveness.empty_scans_ = 0;
    return;
  }
  if (tenant->liveness.said_ended_ || ++tenant->liveness.empty_scans_ >= kEmptyScans)
    return context_.remove(tenant);
  tenant->liveness.recheck_.expires_after(kRecheck);
  tenant->liveness.recheck_.async_wait([this, tenant](const error_code& fault) {
    if (!fault) collectIfUnused(tenant);
  });
}

void LivenessMonitor::end(const TenantPtr& tenant) {
  tenant->liveness.said_ended_ = true;
  collectIfUnused(tenant);
}

// Other tenants wait only for work that outlasts its time slice.
void LivenessMonitor::skipStopped() {
  for (const auto& [id, tenant] : context_.table.all()) {
    const std::optional<arbiter::TenantStats> figures = context_.arbiters.stats(id);
    if (!figures || !figures->unpreemptible) continue;
    std::set<ProcessId> stopped;
    for (const auto& [process, watch] : tenant->liveness.processes_.watched())
      if (isStopped(process.pid)) stopped.insert(process);
    for (const auto& [key, process] : tenant->liveness.processes_.slots())
      if (stopped.contains(process)) context_.arbiters.haltProcess(id, key.slot, key.generation);
  }
}

void LivenessMonitor::signal(const TenantPtr& tenant, int signal) {
  watchSurvivors(tenant);
  const auto send = [signal](const WatchedProcess& watched) {
    if (watched.exit)
      syscall(SYS_pidfd_send_signal, watched.exit->native_handle(), signal, nullptr, 0);
  };
  for (const auto& [id, watched] : tenant->liveness.processes_.watched()) send(watched);
  for (const auto& [pid, watched] : tenant->liveness.survivors_) send(watched);
  if (tenant->liveness.holder_) send(*tenant->liveness.holder_);
}

void LivenessMonitor::forget(Tenant& tenant) {
  TenantLiveness& liveness = tenant.liveness;
  liveness.holder_.reset();
  liveness.processes_.clear();
  liveness.survivors_.clear();
  liveness.recheck_.cancel();
}

void LivenessMonitor::signalAll(int signal) {
  for (const auto& [id, tenant] : context_.table.all()) this->signal(tenant, signal);
}

}  // namespace divvy::agent
