// Whose a process is; what tenants say of their use against what the driver sees, once a second.
#include "tenant/usage_audit.h"

#include <algorithm>
#include <chrono>
#include <set>

#include "agent/process.h"
#include "container/injection.h"
#include "os/log.h"
#include "os/mountinfo.h"
#include "os/pod_cgroup.h"
#include "tenant/tenant_manager.h"

namespace divvy::agent {
namespace {

// Older samples tell of other times.
constexpr std::chrono::seconds kRecent{2};

// Host PID -> percent of one device's time.
using Times = std::map<int, unsigned>;

// On average, where a driver tells of several times.
Times recent(const std::vector<driver::ProcessTime>& samples) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto oldest = std::chrono::duration_cast<std::chrono::microseconds>(now - kRecent).count();
  std::map<int, std::pair<unsigned, unsigned>> sums;
  for (const driver::ProcessTime& sample : samples) {
    if (sample.time_us < static_cast<std::uint64_t>(oldest)) continue;
    auto& [sum, count] = sums[sample.pid];
    sum += sample.percent;
    ++count;
  }
  Times times;
  for (const auto& [pid, one] : sums) times[pid] = one.first / one.second;
  return times;
}

// A tenant's processes are its command and what that started.
constexpr int kMaxAncestors = 64;

}  // namespace

bool UsageAudit::compare(int charged, int seen) {
  std::copy_backward(charged_.begin(), charged_.end() - 1, charged_.end());
  charged_[0] = charged;
  int most = charged;
  for (unsigned i = 0; i + 1 < kAges; ++i)
    most = std::max(most, (charged_[i] + charged_[i + 1]) / 2);
  const bool bad = seen >= most + kTooMuch;
  bad_ = bad ? bad_ + 1 : 0;
  good_ = bad ? 0 : good_ + 1;
  const bool before = distrusted_;
  if (bad_ >= kSamples) distrusted_ = true;
  if (good_ >= kGoodSamples) distrusted_ = false;
  return before != distrusted_;
}

bool TenantManager::seesPages(const Tenant& tenant, int pid) {
  static const std::string point = std::string(kTenantInside) + "/control";
  return tenant.control && hasMounted(pid, point, *tenant.control);
}

bool TenantManager::isIn(const Tenant& tenant, int pid) {
  if (tenant.record.ofPod()) return processIsOfPod(pid, tenant.record.lodger.uid);
  return seesPages(tenant, pid);
}

TenantPtr TenantManager::ownerOf(int pid) const {
  for (int depth = 0; pid > 1 && depth < kMaxAncestors; ++depth, pid = parentOf(pid)) {
    const std::string dir = tenantDirOf(pid);
    TenantPtr of_pod;  // which of its containers' may not be seen
    for (const auto& [id, tenant] : tenants_) {
      const bool its = tenant->record.inContainer()
                           ? isIn(*tenant, pid)
                           : dir == tenant->dir || pid == tenant->record.command_pid;
      if (!its) continue;
      if (!tenant->record.ofPod() || seesPages(*tenant, pid)) return tenant;
      if (of_pod == nullptr) of_pod = tenant;
    }
    if (of_pod != nullptr) return of_pod;
  }
  return nullptr;
}

DriverUsageByTenant TenantManager::seenUse(const DriverTimes& times) {
  std::map<int, std::string> registered;
  for (const auto& [id, tenant] : tenants_) {
    for (const auto& [process, watch] : tenant->processes.watched()) registered[process.pid] = id;
  }
  DriverUsageByTenant seen;
  std::map<int, UnmanagedProcess> strangers;
  for (const auto& [device, samples] : times) {
    for (const auto& [pid, percent] : recent(samples)) {
      const auto known = registered.find(pid);
      if (known != registered.end()) {
        seen[known->second][device].registered += percent;
        continue;
      }
      const std::uint64_t start_time = startTimeOf(pid);
      UnmanagedProcess stranger = strangers_[pid];
      if (stranger.start_time != start_time) {
        const TenantPtr owner = ownerOf(pid);
        stranger = {start_time, owner == nullptr ? std::string() : owner->record.id};
      }
      seen[stranger.tenant][device].strange += percent;
      strangers[pid] = std::move(stranger);
    }
  }
  strangers_ = std::move(strangers);
  return seen;
}

// On the device on which the tenant's word and the driver's differ most.
bool TenantManager::compareUse(Tenant& tenant, const arbiter::TenantStats& figures,
                               const std::map<unsigned, DriverUsage>& seen) {
  // Behind an open gate nothing is counted, and only those count who never come to a gate.
  const bool counted = figures.gate != arbiter::Gate::kOpen;
  int charged = 0;
  int used = -1;
  for (std::size_t i = 0; i < tenant.record.shares.size(); ++i) {
    const int got = counted ? figures.got_permille.at(i) / 10 : 0;
    if (counted && figures.got_permille[i] < 0) continue;
    for (const Device& device : inventory_.devices()) {
      if (device.info.uuid != tenant.record.shares[i].uuid) continue;
      const auto found = seen.find(device.info.index);
      const DriverUsage here = found == seen.end() ? DriverUsage{} : found->second;
      const unsigned sum = here.strange + (counted ? here.registered : 0);
      const int on_device = static_cast<int>(std::min(sum, 100u));
      if (used >= 0 && on_device - got <= used - charged) continue;
      charged = got;
      used = on_device;
    }
  }
  if (used < 0 || !tenant.audit.compare(charged, used)) return false;
  if (tenant.audit.distrusted()) {
    warn("tenant " + tenant.record.id +
         " is charged for what it is granted from now on: " + std::to_string(charged) +
         "% of a card counted, the driver sees " + std::to_string(used) + "%");
  } else {
    info("tenant " + tenant.record.id + " is believed again");
  }
  return true;
}

void TenantManager::noteReport(Tenant& tenant, const ledger::ReportSnapshot& report,
                               unsigned enough) {
  if (tenant.doubted) return;
  tenant.doubtful = report.suspect() ? tenant.doubtful + 1 : 0;
  tenant.doubted = tenant.doubtful >= enough;
  if (tenant.doubted)
    warn("tenant " + tenant.record.id + ": its report is not to be trusted: " +
         ledger::suspicionNames(report.suspicions) + " (" + tenant.dir + "/report)");
}

// Work that outlasts its turns is all that others wait for.
void TenantManager::skipStopped() {
  for (const auto& [id, tenant] : tenants_) {
    const std::optional<arbiter::TenantStats> figures = compute(*tenant);
    if (!figures || !figures->unpreemptible) continue;
    std::set<ProcessId> stopped;
    for (const auto& [process, watch] : tenant->processes.watched())
      if (isStopped(process.pid)) stopped.insert(process);
    for (const auto& [key, process] : tenant->processes.slots())
      if (stopped.contains(process)) arbiters_.halted(id, key.slot, key.generation);
  }
}

void TenantManager::auditUsage() {
  if (tenants_.empty() && !always_audit_) return;
  // Samples of cards with a time of their own are of other seconds than ours.
  if (compute_.card_permille == 1000) compareUses();
  std::vector<unsigned> indexes;
  for (const Device& device : inventory_.devices()) indexes.push_back(device.info.index);
  inventory_.driver().refreshUse(indexes);
}

// Behind an open gate nothing is counted: that somebody is idle only the driver can tell.
void TenantManager::noteSeen(Tenant& tenant, const std::map<unsigned, int>& utilisation) const {
  const auto on = [&](const std::string& id, unsigned index) {
    const auto all = seen_.find(id);
    if (all == seen_.end() || !all->second.contains(index)) return 0u;
    const DriverUsage& here = all->second.at(index);
    return here.registered + here.strange;
  };
  bool told = !tenant.record.shares.empty();
  bool works = false;
  for (const ShareRecord& share : tenant.record.shares) {
    const Device* device = deviceOf(share.uuid);
    const unsigned index = device == nullptr ? 0 : device->info.index;
    const auto use = utilisation.find(index);
    told = told && device != nullptr && use != utilisation.end() && use->second >= 0;
    if (!told) break;
    const bool by_somebody = std::any_of(seen_.begin(), seen_.end(),
                                         [&](const auto& one) { return on(one.first, index) > 0; });
    // Where the driver does not say who works it may be anybody.
    works = works || on(tenant.record.id, index) > 0 || (use->second > 0 && !by_somebody);
  }
  if (!told) return tenant.seen.reset();
  if (!tenant.seen) tenant.seen.emplace(nowMs());
  tenant.seen->note(works, 0, nowMs());
}

void TenantManager::compareUses() {
  seen_ = seenUse(inventory_.driver().latestTimes());
  const std::map<unsigned, int> utilisation = inventory_.driver().latestUtilisation();
  for (const auto& [id, tenant] : tenants_) noteSeen(*tenant, utilisation);
  // Who has none of our libraries in it says nothing of its work.
  for (const auto& [id, tenant] : tenants_) {
    const auto seen = seen_.find(id);
    if (seen == seen_.end()) continue;
    const bool strange = std::any_of(seen->second.begin(), seen->second.end(),
                                     [](const auto& one) { return one.second.strange > 0; });
    if (strange) tenant->use.note(true, 0, nowMs());
  }
  for (const auto& [id, tenant] : tenants_) {
    const std::optional<arbiter::TenantStats> figures = compute(*tenant);
    if (!figures || !figures->ungated.empty()) continue;
    const auto of_tenant = seen_.find(id);
    if (compareUse(
            *tenant, *figures,
            of_tenant == seen_.end() ? std::map<unsigned, DriverUsage>() : of_tenant->second))
      arbiters_.distrust(id, tenant->audit.distrusted());
  }
}

}  // namespace divvy::agent
