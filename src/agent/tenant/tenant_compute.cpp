#include "tenant/tenant_compute.h"

#include <algorithm>
#include <ctime>
#include <utility>
#include <vector>

#include "ledger/grants.h"
#include "log/log.h"

namespace divvy::agent {
namespace {

constexpr unsigned kThrottledCeiling = 1;  // percent of a device's time

}  // namespace

arbiter::Entitlement entitlementOf(const TenantRecord& record) {
  arbiter::Entitlement terms;
  terms.cls = record.priority == Priority::kHigh  ? arbiter::PriorityClass::kLatency
              : record.priority == Priority::kLow ? arbiter::PriorityClass::kBestEffort
                                                  : arbiter::PriorityClass::kNormal;
  if (!record.shares.empty()) terms.guarantee = std::min(record.shares[0].cores, 100u);
  terms.ceiling = coresCeiling(record.cores_policy, terms.guarantee);
  return terms;
}

arbiter::Entitlement TenantCompute::policyOf(const Tenant& tenant) const {
  arbiter::Entitlement terms = entitlementOf(tenant.record);
  // An open gate counts nothing: whether the tenant is idle would be unknown.
  terms.never_open = policy_.stopMs(tenant.record) != 0;
  if (!tenant.throttled) return terms;
  terms.cls = arbiter::PriorityClass::kBestEffort;
  terms.guarantee = 0;
  terms.ceiling = kThrottledCeiling;
  return terms;
}

void TenantCompute::add(const Tenant& tenant) {
  std::vector<unsigned> devices;
  for (const ShareRecord& share : tenant.record.shares) {
    // A device that is not in the inventory any more is shared with no tenant.
    unsigned index = ~0u - static_cast<unsigned>(devices.size());
    if (const Device* device = inventory_.deviceOf(share.uuid)) index = device->info.index;
    devices.push_back(index);
  }
  arbiters_.add(tenant.record.id, tenant.dir, policyOf(tenant), devices);
}

void TenantCompute::noteBackend(const Tenant& tenant) {
  Result<ledger::GrantPages> pages = ledger::GrantPages::open(tenant.dir);
  ledger::GrantOptions terms;
  terms.backend = static_cast<ledger::Backend>(tenant.record.backend);
  if (pages) pages->amend(terms);
}

void TenantCompute::warnIfUngated(const Tenant& tenant) const {
  const std::optional<arbiter::TenantStats> stats = figures(tenant);
  if (stats && !stats->ungated.empty())
    log::warn("a tenant does not share its compute",
              {{"tenant", tenant.record.id}, {"reason", stats->ungated}});
}

void TenantCompute::update(const Tenant& tenant) {
  arbiters_.change(tenant.record.id, policyOf(tenant));
}

void TenantCompute::throttle(Tenant& tenant, bool throttled) {
  if (std::exchange(tenant.throttled, throttled) == throttled) return;
  update(tenant);
}

void TenantCompute::openActivity(Tenant& tenant) const {
  if (policy_.stopMs(tenant.record) == 0 || !arbiterGates(tenant.record.backend)) return;
  if (tenant.record.counted == 0) {
    tenant.record.counted = std::time(nullptr);
    tenant.activity.begin(nowMs());
  }
  if (tenant.memory.swap() || tenant.activity.isOpen()) return;
  const Result<void> opened = tenant.activity.open(tenant.dir);
  if (!opened)
    log::warn("cannot read the activity of a tenant; it is never idle",
              {{"tenant", tenant.record.id}, {"error", opened.error().message()}});
}

bool TenantCompute::activityKnown(const Tenant& tenant) const {
  const std::optional<arbiter::TenantStats> stats = figures(tenant);
  return reportsActivity(tenant) && stats && stats->ungated.empty();
}

}  // namespace divvy::agent
