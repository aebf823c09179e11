#include "telemetry/usage_accounting.h"

#include <utility>

namespace divvy::agent {
namespace {

constexpr double kMsPerSecond = 1000;
constexpr double kPermille = 1000;
// Longer gaps were not observed, because the agent was stopped; use during them is unknown.
constexpr std::uint64_t kLongestMs = 10'000;

double partOf(const TenantView& tenant, const ShareView& share,
              const UsageAccounting::SeenPart& seen) {
  if (share.got_permille >= 0) return share.got_permille / kPermille;
  const auto found = seen.find(tenant.id);
  if (found == seen.end()) return 0;
  const auto device = found->second.find(share.device);
  return device == found->second.end() ? 0 : device->second;
}

}  // namespace

void UsageAccounting::count(const std::vector<TenantView>& tenants, double seconds) {
  std::map<std::string, TenantCounters> tallies, seen;
  for (const TenantView& tenant : tenants) {
    const TenantCounters now{tenant.refused_short, tenant.pressure_waits, 0};
    const TenantCounters before = seen_[tenant.id];
    TenantCounters& all = tallies[tenant.id];
    all = tallies_[tenant.id];
    const auto grown = [](std::uint64_t was, std::uint64_t is) { return is > was ? is - was : 0; };
    all.allocations_short += grown(before.allocations_short, now.allocations_short);
    all.allocation_waits += grown(before.allocation_waits, now.allocation_waits);
    if (tenant.memory == "waiting" || tenant.memory == "coming") all.paused += seconds;
    seen[tenant.id] = now;
  }
  tallies_ = std::move(tallies);
  seen_ = std::move(seen);
}

void UsageAccounting::add(const std::vector<TenantView>& tenants, const SeenPart& seen,
                          std::uint64_t now_ms) {
  const std::uint64_t passed = last_ms_ == 0 || now_ms < last_ms_ ? 0 : now_ms - last_ms_;
  const double seconds = passed > kLongestMs ? 0 : static_cast<double>(passed) / kMsPerSecond;
  last_ms_ = now_ms;
  count(tenants, seconds);
  Bills next;
  for (const TenantView& tenant : tenants) {
    std::map<unsigned, DeviceUsage>& bills = next[tenant.id];
    if (const auto before = bills_.find(tenant.id); before != bills_.end())
      bills = std::move(before->second);
    for (const ShareView& share : tenant.shares) {
      DeviceUsage& bill = bills[share.device];
      bill.device_seconds += seconds * partOf(tenant, share, seen);
      bill.byte_seconds += seconds * static_cast<double>(share.used);
    }
  }
  bills_ = std::move(next);
}

}  // namespace divvy::agent
