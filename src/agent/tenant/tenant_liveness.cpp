// Processes of tenants: found, watched through their pidfds, and what they held taken back.
#include <sys/resource.h>

#include <boost/asio/post.hpp>

#include "base/processes.h"
#include "os/log.h"
#include "tenant/tenant_manager.h"

namespace divvy::agent {
namespace {

// Slots that are kept free for processes to come.
constexpr unsigned kFreeSlots = 48;
// Of one tenant, between two turns of the loop.
constexpr unsigned kReapsPerTurn = 64;
constexpr unsigned kReapTries = 8;
constexpr unsigned kFoundPerSweep = 256;
// Descriptors that watches of tenants' processes never take.
constexpr std::size_t kReservedDescriptors = 256;
// Looks: a page that moves while it is copied can mislead once.
constexpr unsigned kLastingDoubt = 3;

}  // namespace

// Descriptors are left for the agent's own files and connections, however many processes tenants
// make.
std::size_t TenantManager::mostWatched() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return kReservedDescriptors;
  return limit.rlim_cur < 2 * kReservedDescriptors ? limit.rlim_cur / 2
                                                   : limit.rlim_cur - kReservedDescriptors;
}

void TenantManager::watch(WatchedProcess& watched, Fd pidfd, std::function<void()> on_exit) {
  watched.exit = std::make_unique<asio::posix::stream_descriptor>(loop_, pidfd.release());
  watched.exit->async_wait(asio::posix::stream_descriptor::wait_read,
                           [on_exit = std::move(on_exit)](const error_code& fault) {
                             if (!fault) on_exit();
                           });
}

void TenantManager::watchHolder(const TenantPtr& tenant) {
  Fd pidfd = openProcess(tenant->record.holder);
  if (!pidfd.valid()) return collectIfUnused(tenant);
  tenant->holder.emplace(WatchedProcess{tenant->record.holder, nullptr});
  watch(*tenant->holder, std::move(pidfd), [this, tenant] {
    tenant->holder.reset();
    collectIfUnused(tenant);
  });
}

bool TenantManager::mayWatch(Tenant& tenant) const {
  std::size_t all = 0;
  for (const auto& [id, one] : tenants_)
    all += one->processes.watched().size() + one->survivors.size();
  if (!tenant.processes.full() && all < most_watched_) return true;
  if (!std::exchange(tenant.told_full, true))
    warn("tenant " + tenant.record.id + ": no more than " +
         std::to_string(tenant.processes.watched().size()) +
         " of its processes are watched; the memory of others is taken back late when they end");
  return false;
}

bool TenantManager::watchProcess(const TenantPtr& tenant, const SlotKey& key, ProcessId id) {
  TenantProcesses& processes = tenant->processes;
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
      reapAll(tenant, tenant->processes.remove(id));
      collectIfUnused(tenant);
    });
    return watched;
  });
  if (before) arbiters_.left(tenant->record.id, before->slot, before->generation);
  arbiters_.arrived(tenant->record.id, key.slot, key.generation);
  return true;
}

// A slot names its process by the number of that process' own pid namespace, which may lie below
// ours.
void TenantManager::findAndWatch(const TenantPtr& tenant, const SlotKey& key,
                                 const ledger::Owner& owner, ledger::ProcessLookup& look) {
  const Result<std::uint32_t> found = look.find(owner);
  if (!found) return warn("tenant " + tenant->record.id + ": " + found.error().message());
  if (*found == 0) return reap(tenant, key);
  const int pid = static_cast<int>(*found);
  watchProcess(tenant, key, {pid, startTimeOf(pid)});
}

void TenantManager::reap(const TenantPtr& tenant, const SlotKey& key, unsigned tries) {
  if (!tenant->pages) return;
  arbiters_.left(tenant->record.id, key.slot, key.generation);
  Result<ledger::ReapResult> result = tenant->pages->reap(key.slot, key.generation);
  if (!result && result.error().code() == ErrorCode::kUnavailable) {
    // A tenant that changes its total all the time is tried again by the next sweep.
    if (tries < kReapTries)
      asio::post(loop_, [this, tenant, key, tries] { reap(tenant, key, tries + 1); });
    return;
  }
  if (!result) warn("tenant " + tenant->record.id + ": " + result.error().message());
  changed_();
}

void TenantManager::reapAll(const TenantPtr& tenant, std::vector<SlotKey> keys) {
  for (unsigned i = 0; i < kReapsPerTurn && !keys.empty(); ++i) {
    const SlotKey key = keys.back();
    keys.pop_back();
    reap(tenant, key);
  }
  if (keys.empty()) return;
  asio::post(loop_, [this, tenant, keys = std::move(keys)] { reapAll(tenant, keys); });
}

bool TenantManager::watchSurvivors(const TenantPtr& tenant) {
  if (tenant->record.ofPod()) return false;
  // Processes of containers have no word of ours in their environment, or one that they chose.
  const std::vector<ProcessId> found =
      tenant->record.contained ? processesWhere([&](int pid) { return isIn(*tenant, pid); })
                               : processesIn(tenant->dir, geteuid());
  for (const ProcessId& id : found) {
    if (id.pid == processes().self() || tenant->survivors.contains(id.pid)) continue;
    Fd pidfd = openProcess(id);
    if (!pidfd.valid()) continue;
    WatchedProcess& watched = tenant->survivors[id.pid];
    watched.id = id;
    watch(watched, std::move(pidfd), [this, tenant, pid = id.pid] {
      tenant->survivors.erase(pid);
      collectIfUnused(tenant);
    });
  }
  return !tenant->survivors.empty();
}

// Slots that are new to us, kFoundPerSweep at most: a tenant can make new ones faster than their
// processes can be looked for.
bool TenantManager::findLost(const TenantPtr& tenant, const ledger::ReportSnapshot& report,
                             ledger::ProcessLookup& look) {
  const std::size_t count = report.slots.size();
  unsigned found = 0;
  const std::size_t from = count == 0 ? 0 : tenant->sweep_from % count;
  for (std::size_t i = 0; i < count; ++i) {
    const ledger::SlotSnapshot& slot = report.slots[(from + i) % count];
    const SlotKey key{slot.slot, slot.generation};
    if (slot.phase == ledger::Phase::kRetired || tenant->processes.has(key)) continue;
    if (++found > kFoundPerSweep) {
      tenant->sweep_from = static_cast<unsigned>((from + i) % count);
      return false;
    }
    findAndWatch(tenant, key, slot.owner, look);
  }
  return true;
}

void TenantManager::makeSlots(Tenant& tenant) {
  const Result<unsigned> slots = tenant.pages->ensureFreeSlots(kFreeSlots);
  if (!slots) warn("tenant " + tenant.record.id + ": " + slots.error().message());
}

bool TenantManager::sweep() {
  bool all = true;
  const std::map<std::string, TenantPtr> snapshot = tenants_;
  for (const auto& [id, tenant] : snapshot) {
    if (!tenant->pages) continue;
    const ReportPtr report = reportOf(*tenant);
    if (!report) continue;
    noteReport(*tenant, *report, kLastingDoubt);
    // A container may write what it likes there: of others' processes nothing is its.
    ledger::Eligible eligible;
    if (tenant->record.inContainer())
      eligible = [tenant](std::uint32_t pid) { return isIn(*tenant, static_cast<int>(pid)); };
    // After the report: each owner in it was there before.
    ledger::ProcessLookup look(std::move(eligible));
    all = findLost(tenant, *report, look) && all;
    makeSlots(*tenant);
  }
  return all;
}

}  // namespace divvy::agent
