#include "day/day_card.h"

#include <algorithm>
#include <cmath>

namespace divvy::simulator {
namespace {

constexpr double kDone = 1e-9;
// A service that is later than that, in milliseconds of a card, works as fast as it can.
constexpr double kLate = 2;
constexpr std::int64_t kLookAgainMs = 1000;

Bytes sumOf(const std::vector<Tenant*>& tenants) {
  Bytes sum;
  for (const Tenant* tenant : tenants) sum = sum + tenant->resident;
  return sum;
}

}  // namespace

double DayCard::busy() const {
  double sum = 0;
  for (const Tenant* tenant : tenants_) sum += tenant->rate;
  return sum;
}

double Tenant::behind(std::int64_t now) const {
  if (workload->kind != PodKind::kService) return 0;
  const double length = static_cast<double>(burst().length_ms);
  const double passed = std::min(static_cast<double>(now - burst().at_ms), length);
  return burst().duty * passed - (burst().duty * length - left);
}

void DayCard::add(Tenant& tenant) {
  // What it allocates goes where there is room.
  tenant.resident = std::min(tenant.workload->memory, memory_ - sumOf(tenants_));
  tenants_.push_back(&tenant);
}

void DayCard::remove(const Tenant& tenant) {
  tenants_.erase(std::find(tenants_.begin(), tenants_.end(), &tenant));
}

double DayCard::advance(std::int64_t now) {
  const auto passed = static_cast<double>(now - settled_ms_);
  settled_ms_ = now;
  double done = 0;
  for (Tenant* tenant : tenants_) {
    const double part = std::min(tenant->rate * passed, tenant->left);
    tenant->left -= part;
    done += part;
    if (tenant->left < kDone) tenant->left = 0;
    if (tenant->fetched_ms && *tenant->fetched_ms <= now) tenant->fetched_ms.reset();
  }
  return done;
}

std::vector<TenantDemand> DayCard::demandsOf(const std::vector<Tenant*>& workers,
                                             std::int64_t now) const {
  std::vector<TenantDemand> demands;
  for (const Tenant* tenant : workers) {
    const DayWorkload& workload = *tenant->workload;
    const bool held = tenant->fetched_ms || tenant->ready_ms > now;
    const double want = tenant->behind(now) > kLate ? 1 : tenant->burst().duty;
    demands.push_back({workload.urgency, workload.memory, static_cast<double>(workload.cores),
                       held ? 0 : want, 0, 0});
  }
  // What is guaranteed to those without work is not to be had.
  Bytes kept;
  for (const Tenant* tenant : tenants_) {
    if (!tenant->working) kept = kept + tenant->workload->guarantee;
  }
  share(demands, memory_ - kept);
  return demands;
}

// Who has no work goes first, the longest without; then who is less urgent and waits anyway.
void DayCard::makeRoom(const Tenant* whose, const std::vector<Tenant*>& workers,
                       const std::vector<TenantDemand>& demands) {
  std::vector<Tenant*> leaving;
  for (Tenant* tenant : tenants_) {
    if (!tenant->working && tenant != whose) leaving.push_back(tenant);
  }
  std::stable_sort(leaving.begin(), leaving.end(), [](const Tenant* a, const Tenant* b) {
    return a->idle_since_ms < b->idle_since_ms;
  });
  for (std::size_t i = 0; i < workers.size(); ++i) {
    if (demands[i].there == 0 && workers[i] != whose) leaving.push_back(workers[i]);
  }
  for (Tenant* tenant : leaving) {
    const Bytes excess = sumOf(tenants_) - memory_;
    if (excess.count == 0) return;
    const Bytes stays = std::min(tenant->workload->guarantee, tenant->resident);
    tenant->resident = std::max(tenant->resident - excess, stays);
  }
}

bool DayCard::fetch(Tenant& tenant, const TenantDemand& demand, double ratio, std::int64_t now) {
  const Bytes missing = tenant.workload->memory - tenant.resident;
  if (missing.count == 0 || demand.there == 0 || tenant.fetched_ms) return false;
  const double swap_s = static_cast<double>(missing.count) / (link_ * 1e9);
  // Half a turn of somebody else's on average, as often as it is somebody else's.
  const double turn_s = demand.there < 1 ? turnSeconds(swap_s, ratio) / 2 * (1 - demand.there) : 0;
  tenant.resident = tenant.workload->memory;
  tenant.fetched_ms = now + static_cast<std::int64_t>(std::ceil((swap_s + turn_s) * 1000));
  tenant.fetch_s += swap_s + turn_s;
  fetched_ += static_cast<double>(missing.count);
  return true;
}

// When its rate has to be looked at again: it is done, has caught up, or begins to be late.
std::int64_t DayCard::nextOf(const Tenant& tenant, std::int64_t now) const {
  const auto after = [&](double ms) {
    return now + std::max<std::int64_t>(static_cast<std::int64_t>(std::ceil(ms)), 1);
  };
  const std::int64_t done = after(tenant.left / tenant.rate);
  if (tenant.workload->kind != PodKind::kService) return done;
  const Burst& burst = tenant.burst();
  const std::int64_t all_come = burst.at_ms + burst.length_ms;
  if (now >= all_come) return done;
  const double behind = tenant.behind(now);
  if (behind <= kLate)
    return tenant.rate < burst.duty ? std::min(all_come, now + kLookAgainMs) : done;
  if (tenant.rate <= burst.duty) return all_come;
  return std::min(all_come, after(behind / (tenant.rate - burst.duty)));
}

std::optional<std::int64_t> DayCard::update(std::int64_t now) {
  std::vector<Tenant*> workers;
  Bytes needed;  // by who works, and of others what is guaranteed
  for (Tenant* tenant : tenants_) {
    tenant->rate = 0;
    if (!tenant->working) needed = needed + tenant->workload->guarantee;
    if (!tenant->working) continue;
    workers.push_back(tenant);
    needed = needed + tenant->workload->memory;
  }
  std::vector<TenantDemand> demands = demandsOf(workers, now);
  const double ratio =
      static_cast<double>(needed.count) / std::max(static_cast<double>(memory_.count), 1.0);
  bool moved = false;
  for (std::size_t i = 0; i < workers.size(); ++i) {
    if (!fetch(*workers[i], demands[i], ratio, now)) continue;
    makeRoom(workers[i], workers, demands);
    moved = true;
  }
  // Those who took turns are all there in name; once all who work fit, who does not work left.
  if (needed <= memory_) makeRoom(nullptr, workers, demands);
  if (moved) demands = demandsOf(workers, now);
  std::optional<std::int64_t> next;
  const auto soonest = [&](std::int64_t at) { next = std::min(next.value_or(at), at); };
  for (std::size_t i = 0; i < workers.size(); ++i) {
    Tenant& tenant = *workers[i];
    tenant.rate = demands[i].rate;
    if (tenant.fetched_ms) soonest(*tenant.fetched_ms);
    if (tenant.ready_ms > now) soonest(tenant.ready_ms);
    if (tenant.rate > 0) soonest(nextOf(tenant, now));
  }
  return next;
}

}  // namespace divvy::simulator
