#include "tenant/tenant.h"

#include <algorithm>

#include "container/tenant_edits.h"
#include "log/log.h"
#include "os/pod_cgroup.h"

namespace divvy::agent {

Result<void> TenantActivity::open(const std::string& dir) {
  Result<ActivityReader> reader = ActivityReader::open(dir);
  if (!reader) return reader.error();
  reader_.emplace(std::move(*reader));
  return {};
}

void TenantActivity::sample(const ActivityReader::Slots& slots) {
  const ActivitySummary work = reader_->read(slots);
  use_.note(work.at_work, work.last_launch / kNanosPerMs, nowMs());
}

void TenantActivity::noteDriver(std::optional<bool> works, std::uint64_t now_ms) {
  if (!works) return seen_.reset();
  if (!seen_) seen_.emplace(now_ms);
  seen_->note(*works, 0, now_ms);
}

std::map<std::string, TenantUse> useOf(const Tenant& tenant) {
  if (!tenant.pages) return {};
  const ReportPtr report = reportOf(tenant);
  return report ? useOf(tenant, *report) : std::map<std::string, TenantUse>();
}

std::map<std::string, TenantUse> useOf(const Tenant& tenant, const ledger::ReportSnapshot& report) {
  std::map<std::string, TenantUse> uses;
  const ledger::TenantSpec& spec = tenant.pages->spec();
  for (std::size_t i = 0; i < spec.devices.size() && i < report.devices.size(); ++i) {
    TenantUse& use = uses[spec.devices[i].uuid];
    use.inside = report.devices[i].total;
  }
  if (!spec.context_overhead_outside || uses.empty()) return uses;
  if (spec.charges_contexts) {
    for (const ledger::DeviceSpec& device : spec.devices) {
      TenantUse& use = uses[device.uuid];
      use.outside = std::min(use.inside, device.context);
      use.inside = use.inside - use.outside;
    }
    return uses;
  }
  // A process reports its contexts as one sum; with one device it is that device's.
  Bytes contexts;
  for (const ledger::SlotSnapshot& slot : report.slots) contexts = contexts + slot.context;
  for (auto& [uuid, use] : uses) use.outside = {contexts.count / uses.size()};
  return uses;
}

bool chargesContexts(const Tenant& tenant) {
  return tenant.record.context_inside || (tenant.pages && tenant.pages->spec().charges_contexts);
}

ResidencyReader::Slots slotsOf(const Tenant& tenant) {
  ResidencyReader::Slots slots;
  for (const auto& [key, process] : tenant.liveness.processes().slots())
    slots.emplace_back(key.slot, key.generation);
  return slots;
}

ResidencySummary swapOf(const Tenant& tenant) {
  return tenant.memory.swap() ? tenant.memory.swap()->read(slotsOf(tenant)) : ResidencySummary{};
}

unsigned coresCeiling(CoresPolicy policy, unsigned cores) {
  return policy == CoresPolicy::kCap && cores != 0 ? cores : 100;
}

bool seesPages(const Tenant& tenant, int pid) {
  static const std::string point = std::string(kTenantInside) + "/control";
  return tenant.control && hasMounted(pid, point, *tenant.control);
}

bool isIn(const Tenant& tenant, int pid) {
  if (tenant.record.ofPod()) return processIsOfPod(pid, tenant.record.lodger.uid);
  return seesPages(tenant, pid);
}

void writeRecord(const Tenant& tenant) {
  const Result<void> saved = saveRecord(tenant.dir, tenant.record);
  if (!saved)
    log::warn("cannot store the record of a tenant",
              {{"tenant", tenant.record.id}, {"error", saved.error().message()}});
}

}  // namespace divvy::agent
