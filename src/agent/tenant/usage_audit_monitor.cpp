#include "tenant/usage_audit_monitor.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "agent/process.h"
#include "log/log.h"

namespace divvy::agent {
namespace {

// Age of samples that still count.
constexpr std::chrono::seconds kRecent{2};

// Host PID -> percent of one device's time.
using Times = std::map<int, unsigned>;

// The average of each process, where the driver has several samples.
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

}  // namespace

std::optional<bool> worksByDriver(const std::string& tenant, const std::vector<unsigned>& devices,
                                  const DriverUsageByTenant& seen,
                                  const std::map<unsigned, int>& utilisation) {
  const auto on = [&](const std::string& id, unsigned index) {
    const auto all = seen.find(id);
    if (all == seen.end() || !all->second.contains(index)) return 0u;
    const DriverUsage& here = all->second.at(index);
    return here.registered + here.strange;
  };
  if (devices.empty()) return std::nullopt;
  bool works = false;
  for (const unsigned index : devices) {
    const auto use = utilisation.find(index);
    if (use == utilisation.end() || use->second < 0) return std::nullopt;
    const bool attributed = std::any_of(seen.begin(), seen.end(),
                                        [&](const auto& one) { return on(one.first, index) > 0; });
    works = works || on(tenant, index) > 0 || (use->second > 0 && !attributed);
  }
  return works;
}

DriverUsageByTenant UsageAuditMonitor::seenUse(const DriverTimes& times) {
  std::map<int, std::string> registered;
  for (const auto& [id, tenant] : table_.all()) {
    for (const auto& [process, watch] : tenant->liveness.processes().watched())
      registered[process.pid] = id;
  }
  DriverUsageByTenant seen;
  std::map<int, UnmanagedProcess> unregistered;
  for (const auto& [device, samples] : times) {
    for (const auto& [pid, percent] : recent(samples)) {
      const auto known = registered.find(pid);
      if (known != registered.end()) {
        seen[known->second][device].registered += percent;
        continue;
      }
      const std::uint64_t start_time = startTimeOf(pid);
      UnmanagedProcess process = unregistered_[pid];
      if (process.start_time != start_time) {
        const TenantPtr owner = table_.ownerOf(pid);
        process = {start_time, owner == nullptr ? std::string() : owner->record.id};
      }
      seen[process.tenant][device].strange += percent;
      unregistered[pid] = std::move(process);
    }
  }
  unregistered_ = std::move(unregistered);
  return seen;
}

bool UsageAuditMonitor::compareUse(Tenant& tenant, const arbiter::TenantStats& figures,
                                   const std::map<unsigned, DriverUsage>& seen) const {
  // An open gate counts nothing: then only processes that never come to a gate are compared.
  const bool counted = figures.gate != arbiter::Gate::kOpen;
  std::vector<UsageSample> samples;
  for (std::size_t i = 0; i < tenant.record.shares.size(); ++i) {
    const int got = counted ? figures.got_permille.at(i) / 10 : 0;
    if (counted && figures.got_permille[i] < 0) continue;
    const Device* device = inventory_.deviceOf(tenant.record.shares[i].uuid);
    if (device == nullptr) continue;
    const auto found = seen.find(device->info.index);
    const DriverUsage here = found == seen.end() ? DriverUsage{} : found->second;
    const unsigned sum = here.strange + (counted ? here.registered : 0);
    samples.push_back({got, static_cast<int>(std::min(sum, 100u))});
  }
  const std::optional<UsageSample> worst = largestExcess(samples);
  if (!worst || !tenant.audit.compare(worst->charged, worst->seen)) return false;
  if (tenant.audit.distrusted()) {
    log::warn("a tenant reports less use than the driver measures; it is charged for full grants",
              {{"tenant", tenant.record.id},
               {"reported_percent", std::to_string(worst->charged)},
               {"measured_percent", std::to_string(worst->seen)}});
  } else {
    log::info("a tenant is charged for reported use again", {{"tenant", tenant.record.id}});
  }
  return true;
}

void UsageAuditMonitor::noteReport(Tenant& tenant, const ledger::ReportSnapshot& report,
                                   unsigned enough) {
  if (tenant.audit.noteReport(report.suspect(), enough))
    log::warn("the report of a tenant is implausible",
              {{"tenant", tenant.record.id},
               {"reason", ledger::suspicionNames(report.suspicions)},
               {"file", tenant.dir + "/report"}});
}

void UsageAuditMonitor::auditUsage() {
  if (table_.empty() && !always_) return;
  if (clock_ == Clock::kReal) compareUses();
  std::vector<unsigned> indexes;
  for (const Device& device : inventory_.devices()) indexes.push_back(device.info.index);
  inventory_.driver().refreshUse(indexes);
}

void UsageAuditMonitor::noteSeen(Tenant& tenant, const std::map<unsigned, int>& utilisation) const {
  std::vector<unsigned> devices;
  for (const ShareRecord& share : tenant.record.shares) {
    const Device* device = inventory_.deviceOf(share.uuid);
    if (device == nullptr) return tenant.activity.noteDriver(std::nullopt, nowMs());
    devices.push_back(device->info.index);
  }
  tenant.activity.noteDriver(worksByDriver(tenant.record.id, devices, seen_, utilisation), nowMs());
}

void UsageAuditMonitor::compareUses() {
  seen_ = seenUse(inventory_.driver().latestTimes());
  const std::map<unsigned, int> utilisation = inventory_.driver().latestUtilisation();
  for (const auto& [id, tenant] : table_.all()) noteSeen(*tenant, utilisation);
  // Processes without our library report nothing of their work.
  for (const auto& [id, tenant] : table_.all()) {
    const auto seen = seen_.find(id);
    if (seen == seen_.end()) continue;
    const bool strange = std::any_of(seen->second.begin(), seen->second.end(),
                                     [](const auto& one) { return one.second.strange > 0; });
    if (strange) tenant->activity.note(true, 0, nowMs());
  }
  for (const auto& [id, tenant] : table_.all()) {
    const std::optional<arbiter::TenantStats> figures = arbiters_.stats(id);
    if (!figures || !figures->ungated.empty()) continue;
    const auto of_tenant = seen_.find(id);
    if (compareUse(
            *tenant, *figures,
            of_tenant == seen_.end() ? std::map<unsigned, DriverUsage>() : of_tenant->second))
      arbiters_.distrust(id, tenant->audit.distrusted());
  }
}

}  // namespace divvy::agent
