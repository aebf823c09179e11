#include "arbiter/policy.h"

#include <algorithm>

#include "policy/deadline_set.h"
#include "policy/group.h"
#include "policy/quantum_scheduler.h"

namespace divvy::arbiter {
namespace {

Mode modeOf(const Tenant& tenant) {
  if (tenant.solo || (tenant.terms.never_open && tenant.unshared())) return Mode::kSolo;
  if (!tenant.above.empty()) return Mode::kBestEffort;
  if (tenant.terms.cls == PriorityClass::kLatency && tenant.has_below) return Mode::kLatency;
  if (tenant.rivals.empty() && !tenant.has_below) return Mode::kCap;
  return Mode::kShare;
}

Gate gateOf(const Tenant& tenant) {
  if (tenant.solo) return Gate::kOpen;
  return tenant.turn == RunState::kRunning ? Gate::kRun : Gate::kHold;
}

Nanos inflightOf(const Tenant& tenant, const Constants& constants) {
  if (!tenant.above.empty()) {
    // One unit that is longer than the bound is followed by the next one only in the last part of
    // the bound. An arrival in that part must also wait for the next unit, and longer units need a
    // shorter part.
    const Nanos bound = constants.inflight_best_effort;
    return tenant.usual_drain > static_cast<double>(bound) ? bound / 4 : bound;
  }
  if (tenant.terms.ceiling < 100) return constants.inflight;
  // A tenant that takes precedence over others and has no rivals never hands over.
  const bool first = tenant.rivals.empty() && modeOf(tenant) == Mode::kLatency;
  return tenant.alone || first ? constants.inflight_alone : constants.inflight;
}

// Returns true if the tenant must get `fresh` after `old`.
bool worthTelling(const Tenant& tenant, const Order& old, const Order& fresh) {
  if (old.gate != fresh.gate) return true;
  if (fresh.gate == Gate::kOpen) return false;
  // Another hold would have to be drained under its own sequence.
  if (tenant.turn == RunState::kDraining) return false;
  if (old.mode != fresh.mode || old.weight != fresh.weight) return true;
  return fresh.gate == Gate::kRun && old.inflight != fresh.inflight;
}

}  // namespace

struct SchedulingPolicy::Impl {
  explicit Impl(const Constants& constants) : group(constants), rotation(&group) {}

  // Null: no such tenant.
  Tenant* at(TenantKey key, Nanos now) {
    group.advance(now);
    last = std::max(last, now);
    return group.find(key);
  }

  Order orderFor(const Tenant& tenant) const {
    const Constants& constants = group.constants();
    Order order;
    order.tenant = tenant.key;
    order.gate = gateOf(tenant);
    order.mode = modeOf(tenant);
    order.inflight = inflightOf(tenant, constants);
    // If several processes share a device, the end of their work cannot be estimated.
    order.overlap = tenant.processes > 1 ? 0 : constants.overlap;
    order.weight = tenant.percent;
    if (order.gate == Gate::kRun && !tenant.alone)
      order.quantum = std::max(tenant.quantum_end - last, Nanos{0});
    return order;
  }

  // Orders to stop precede orders to run.
  std::vector<Order> ordersToGive() {
    std::vector<Order> orders;
    for (const auto& tenant : group.tenants()) {
      if (!tenant->active()) continue;
      Order order = orderFor(*tenant);
      if (!worthTelling(*tenant, tenant->last_order, order)) continue;
      orders.push_back(order);
    }
    const auto rank = [](const Order& order) {
      return order.gate == Gate::kHold ? 0 : order.gate == Gate::kRun ? 1 : 2;
    };
    if (orders.size() > 1)
      std::stable_sort(orders.begin(), orders.end(),
                       [&](const Order& a, const Order& b) { return rank(a) < rank(b); });
    for (Order& order : orders) {
      order.ticket = ++tickets;
      group.find(order.tenant)->last_order = order;
    }
    return orders;
  }

  Group group;
  QuantumScheduler rotation;
  Nanos last = 0;
  Nanos wake = kNever;
  bool dirty = false;  // decide() has work to do
  std::uint64_t tickets = 0;
};

SchedulingPolicy::SchedulingPolicy(const Constants& constants)
    : impl_(std::make_unique<Impl>(constants)) {}
SchedulingPolicy::~SchedulingPolicy() = default;
SchedulingPolicy::SchedulingPolicy(SchedulingPolicy&&) noexcept = default;
SchedulingPolicy& SchedulingPolicy::operator=(SchedulingPolicy&&) noexcept = default;

TenantKey SchedulingPolicy::add(const Entitlement& terms, Nanos now) {
  impl_->at(0, now);
  return impl_->group.add(terms).key;
}

void SchedulingPolicy::change(TenantKey key, const Entitlement& terms, Nanos now) {
  Tenant* tenant = impl_->at(key, now);
  if (tenant == nullptr || tenant->terms == terms) return;
  impl_->group.change(tenant, terms);
  impl_->dirty = true;
}

void SchedulingPolicy::setProcesses(TenantKey key, unsigned processes, Nanos now) {
  Tenant* tenant = impl_->at(key, now);
  if (tenant == nullptr || tenant->processes == processes) return;
  impl_->group.setProcesses(tenant, processes);
  impl_->dirty = true;
}

void SchedulingPolicy::remove(TenantKey key, Nanos now) {
  if (impl_->at(key, now) == nullptr) return;
  impl_->group.remove(key);
  impl_->dirty = true;
}

std::shared_ptr<const TenantHandoff> SchedulingPolicy::handoff(TenantKey key, Nanos now) const {
  const Tenant* tenant = impl_->at(key, now);
  if (tenant == nullptr) return nullptr;
  return std::make_shared<const TenantHandoff>(impl_->group.handoff(*tenant));
}

void SchedulingPolicy::resume(TenantKey key, const TenantHandoff& handoff,
                              const DeviceNumbers& device_of, Nanos now) {
  Tenant* tenant = impl_->at(key, now);
  if (tenant == nullptr) return;
  impl_->group.resume(tenant, handoff, device_of);
  impl_->dirty = true;
}

void SchedulingPolicy::report(TenantKey key, const Report& report, Nanos now) {
  Tenant* tenant = impl_->at(key, now);
  if (tenant != nullptr && impl_->group.account(tenant, report)) impl_->dirty = true;
}

std::vector<Order> SchedulingPolicy::decide(Nanos now) {
  Impl& impl = *impl_;
  impl.group.advance(now);
  impl.last = std::max(impl.last, now);
  DeadlineSet agenda;
  agenda.begin(impl.last);
  impl.rotation.turn(&agenda);
  impl.wake = agenda.next();
  impl.dirty = false;
  return impl.ordersToGive();
}

void SchedulingPolicy::issued(const Order& order, std::uint64_t seq) {
  Tenant* tenant = impl_->group.find(order.tenant);
  if (tenant == nullptr || tenant->last_order.ticket != order.ticket) return;
  if (order.gate == Gate::kHold) {
    tenant->hold_seq = seq;
    // It may have drained already.
    if (tenant->turn == RunState::kDraining)
      impl_->dirty = impl_->dirty || tenant->reported.drained >= seq;
  }
}

Nanos SchedulingPolicy::nextWakeup() const {
  return impl_->dirty ? impl_->last : impl_->wake;
}

GroupStats SchedulingPolicy::stats(TenantKey key, Nanos now) const {
  impl_->group.advance(now);
  impl_->last = std::max(impl_->last, now);
  const Tenant* tenant = impl_->group.find(key);
  if (tenant == nullptr) return {};
  GroupStats stats = tenant->stats;
  stats.mode = modeOf(*tenant);
  stats.gate = gateOf(*tenant);
  stats.weight = tenant->percent;
  stats.unpreemptible = tenant->unpreemptible;
  stats.gap = tenant->gap.threshold();
  return stats;
}

}  // namespace divvy::arbiter
