#include "policy/group.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "policy/weights.h"

namespace divvy::arbiter {
namespace {

unsigned indexOf(PriorityClass cls) {
  return static_cast<unsigned>(cls);
}

// The minimum share is filled while a class waits, and pays for all that the class gets. It may owe
// at most a tenth of the window; the rate makes up for that tenth.
constexpr int kWindowParts = 10;

TokenBucket almsBucket(const Constants& constants, Nanos unit) {
  const double rate = constants.min_share / 100.0 * kWindowParts / (kWindowParts - 1);
  const auto debt =
      static_cast<Nanos>(rate * static_cast<double>(constants.share_window) / kWindowParts);
  return TokenBucket(rate, 2 * unit, std::max(debt, Nanos{1}));
}

double rateOf(const Entitlement& terms) {
  return terms.ceiling / 100.0;
}

Nanos depthOf(const Entitlement& terms, const Constants& constants) {
  // Enough for a grant that is worth a hand-over.
  return std::max(constants.cap_depth * terms.ceiling / 100, constants.cap_depth / 5);
}

}  // namespace

Group::Group(const Constants& constants) : constants_(constants) {
  for (Device& device : devices_)
    device.starvation_reserve.fill(almsBucket(constants_, reserveUnit()));
}

Tenant* Group::find(TenantKey key) const {
  for (const auto& tenant : tenants_)
    if (tenant->key == key) return tenant.get();
  return nullptr;
}

Tenant& Group::add(const Entitlement& terms) {
  tenants_.push_back(std::make_unique<Tenant>(next_key_++, terms, constants_));
  Tenant& added = *tenants_.back();
  added.cap = TokenBucket(rateOf(terms), depthOf(terms, constants_));
  added.cap.fill(constants_.cap_depth);
  used_devices_ = std::max(used_devices_, static_cast<unsigned>(std::bit_width(terms.devices)));
  return added;
}

void Group::change(Tenant* tenant, const Entitlement& terms) {
  const bool moved = tenant->terms.devices != terms.devices || tenant->terms.cls != terms.cls;
  tenant->terms = terms;
  tenant->cap.change(rateOf(terms), depthOf(terms, constants_));
  used_devices_ = std::max(used_devices_, static_cast<unsigned>(std::bit_width(terms.devices)));
  if (moved) {
    // Its credit or debt was relative to other tenants.
    tenant->turn = RunState::kIdle;
    tenant->v = 0;
  }
  relate();
  if (moved) limitLag(tenant);
}

void Group::setProcesses(Tenant* tenant, unsigned processes) {
  const bool was_active = tenant->active();
  tenant->processes = processes;
  if (tenant->active() == was_active) return;
  tenant->reported.waiting = tenant->reported.in_flight = false;
  tenant->reported.inflight_until = 0;
  tenant->meter.idle();
  tenant->unproven = tenant->prepaid = 0;
  tenant->turn = RunState::kIdle;
  tenant->unpreemptible = false;
  tenant->lag = 0;
  tenant->idle_since = now_ - constants_.gap_max;
  relate();
  limitLag(tenant);
}

void Group::remove(TenantKey key) {
  std::erase_if(tenants_, [key](const auto& tenant) { return tenant->key == key; });
  relate();
}

Virtual Group::baseOf(PriorityClass cls) const {
  Virtual base = INT64_MAX;
  for (const auto& tenant : tenants_) {
    if (!tenant->active() || tenant->terms.cls != cls) continue;
    for (unsigned i = 0; i < used_devices_; ++i)
      if (tenant->terms.devices >> i & 1) base = std::min(base, devices_[i].floor[indexOf(cls)]);
  }
  return base == INT64_MAX ? 0 : base;
}

TenantHandoff Group::handoff(const Tenant& tenant) const {
  const unsigned cls = indexOf(tenant.terms.cls);
  const Virtual base = baseOf(tenant.terms.cls);
  TenantHandoff handoff;
  handoff.state = tenant;
  handoff.state.v -= base;
  handoff.state.granted_v -= base;
  for (unsigned i = 0; i < used_devices_; ++i) {
    if (!(tenant.terms.devices >> i & 1)) continue;
    const Device& device = devices_[i];
    handoff.places.push_back(
        {i, device.floor[cls] - base, device.starvation_reserve[cls], tenant.stretch[i]});
  }
  return handoff;
}

void Group::resume(Tenant* tenant, const TenantHandoff& handoff, const DeviceNumbers& device_of) {
  static_cast<TenantState&>(*tenant) = handoff.state;
  // Its reports start again at 0.
  tenant->reported.busy.fill(0);
  tenant->stretch.fill(0);
  const unsigned cls = indexOf(tenant->terms.cls);
  for (const TenantHandoff::DeviceHandoff& place : handoff.places) {
    const unsigned number = device_of[place.device];
    Device& device = devices_[number];
    device.floor[cls] = std::max(device.floor[cls], place.floor);
    device.starvation_reserve[cls] = place.starvation_reserve;
    tenant->stretch[number] = place.stretch;
  }
}

void Group::relate() {
  for (const auto& one : tenants_) {
    one->rivals.clear();
    one->above.clear();
    one->has_below = false;
    if (!one->active()) continue;
    for (const auto& other : tenants_) {
      if (other == one || !other->active() || !one->overlaps(*other)) continue;
      if (other->terms.cls == one->terms.cls) one->rivals.push_back(other.get());
      if (other->terms.cls < one->terms.cls) one->above.push_back(other.get());
      if (other->terms.cls > one->terms.cls) one->has_below = true;
    }
  }
  weigh(tenants_);
}

void Group::count() {
  for (unsigned i = 0; i < used_devices_; ++i) {
    devices_[i].present = 0;
    devices_[i].kept_out.fill(false);
  }
  for (const auto& tenant : tenants_) {
    tenant->still_working = tenant->turn == RunState::kIdle && tenant->reported.credible &&
                            now_ - tenant->left_at > constants_.quantum / 2;
    const bool present = tenant->present();
    const bool kept_out = tenant->isRunnable() && !tenant->above.empty();
    if (!present && !kept_out) continue;
    for (unsigned i = 0; i < used_devices_; ++i) {
      if (!(tenant->terms.devices >> i & 1)) continue;
      devices_[i].present += present ? 1 : 0;
      if (kept_out) devices_[i].kept_out[indexOf(tenant->terms.cls)] = true;
    }
  }
}

void Group::advance(Nanos now) {
  const Nanos elapsed = now - now_;
  if (elapsed <= 0) return;
  now_ = now;
  count();
  const auto time = static_cast<double>(elapsed);
  for (const auto& owned : tenants_) {
    Tenant& tenant = *owned;
    if (!tenant.active()) continue;
    unsigned crowd = 1;
    for (unsigned i = 0; i < used_devices_; ++i)
      if (tenant.terms.devices >> i & 1) crowd = std::max(crowd, devices_[i].present);
    if (tenant.present()) tenant.meter.pass(time / crowd);
    // Cap that it cannot use because of other tenants' turns is kept for it, up to a few turns.
    const bool waits =
        tenant.isRunnable() && !tenant.throttled && tenant.turn != RunState::kRunning;
    const double kept =
        waits ? 5 * rateOf(tenant.terms) * static_cast<double>(constants_.quantum) : 0;
    tenant.cap.fill(elapsed, tenant.meter.unsettled() + kept);
    if (tenant.isRunnable() && tenant.last_order.gate == Gate::kHold)
      tenant.stats.throttled += elapsed;
    const bool granted = tenant.turn == RunState::kRunning || tenant.blocks();
    if (!granted || tenant.solo || !tenant.isRunnable()) continue;
    if (tenant.reported.credible) {
      tenant.unproven += time / crowd;
    } else {
      chargeTime(&tenant, time / crowd);
    }
  }
  for (unsigned i = 0; i < used_devices_; ++i)
    for (unsigned cls = 0; cls < kClasses; ++cls)
      if (devices_[i].kept_out[cls]) devices_[i].starvation_reserve[cls].fill(elapsed);
}

bool Group::account(Tenant* tenant, const Report& report) {
  Report& reported = tenant->reported;
  const bool differs = reported.waiting != report.waiting ||
                       reported.in_flight != report.in_flight ||
                       reported.drained != report.drained || reported.credible != report.credible ||
                       reported.inflight_until != report.inflight_until;
  if (!report.credible && reported.credible) chargeTime(tenant, tenant->unproven);
  const bool moved = accountTimes(tenant, report);
  if (moved || !report.credible) tenant->unproven = 0;
  raiseFloors();

  const bool wanted = tenant->isRunnable();
  const bool was_in_flight = reported.in_flight;
  const auto busy = reported.busy;
  reported = report;
  for (unsigned i = 0; i < kMaxGroupDevices; ++i)
    reported.busy[i] = std::max(busy[i], report.busy[i]);
  if (differs) tenant->reported_at = now_;
  if (reported.in_flight && !was_in_flight) tenant->meter.begin();
  if (!reported.in_flight && was_in_flight) {
    tenant->meter.idle();
    tenant->stretch.fill(0);
    tenant->busiest = 0;
  }
  if (!wanted && tenant->isRunnable()) {
    const Nanos pause = now_ - tenant->idle_since;
    if (tenant->has_below) tenant->gap.ended(tenant->idle_since, now_);
    const Nanos longest = constants_.quantum / 5;
    const Nanos usual = std::min(tenant->usual_pause, longest);
    tenant->usual_pause = usual + (std::min(pause, longest) - usual) / 4;
    limitLag(tenant);
  } else if (wanted && !tenant->isRunnable()) {
    // It reports that it is idle only after having been idle for a while.
    tenant->idle_since = now_ - constants_.idle;
    tenant->lag = lagOf(*tenant);
  }
  return differs || moved;
}

bool Group::accountTimes(Tenant* tenant, const Report& report) {
  std::array<double, kMaxGroupDevices> used{};
  bool moved = false;
  // Devices settle at different instants, so the busiest one of this period of work counts.
  double busiest = tenant->busiest;
  for (unsigned i = 0; i < used_devices_; ++i) {
    if (report.busy[i] <= tenant->reported.busy[i]) continue;
    moved = true;
    used[i] = static_cast<double>(report.busy[i] - tenant->reported.busy[i]);
    tenant->stretch[i] += used[i];
    busiest = std::max(busiest, tenant->stretch[i]);
  }
  if (!moved) return false;
  const double shown = busiest - tenant->busiest;
  tenant->busiest = busiest;
  const double believed = tenant->meter.accept(shown);
  if (!report.credible) return true;
  const double part = shown > 0 ? believed / shown : 1;
  for (double& each : used) each = std::max(each * part - tenant->prepaid, 0.0);
  charge(tenant, used, std::max(believed - tenant->prepaid, 0.0));
  tenant->prepaid = 0;
  return true;
}

// `most`: the largest part of a charge for several devices at once.
void Group::charge(Tenant* tenant, const std::array<double, kMaxGroupDevices>& used, double most) {
  for (unsigned i = 0; i < used_devices_; ++i) {
    tenant->stats.got[i] += static_cast<Nanos>(used[i]);
    devices_[i].starvation_reserve[indexOf(tenant->terms.cls)].spend(used[i]);
  }
  tenant->charge(most);
}

void Group::chargeTime(Tenant* tenant, double time) {
  std::array<double, kMaxGroupDevices> used{};
  for (unsigned i = 0; i < used_devices_; ++i)
    if (tenant->terms.devices >> i & 1) used[i] = time;
  tenant->prepaid += time;
  tenant->meter.accept(time);
  charge(tenant, used, time);
}

void Group::raiseFloors() {
  std::array<std::array<Virtual, kClasses>, kMaxGroupDevices> lowest;
  for (unsigned i = 0; i < used_devices_; ++i) lowest[i].fill(INT64_MAX);
  for (const auto& tenant : tenants_) {
    if (!tenant->active() || !tenant->isRunnable() || tenant->throttled) continue;
    for (unsigned i = 0; i < used_devices_; ++i) {
      if (!(tenant->terms.devices >> i & 1)) continue;
      Virtual& known = lowest[i][indexOf(tenant->terms.cls)];
      known = std::min(known, tenant->projected());
    }
  }
  for (unsigned i = 0; i < used_devices_; ++i)
    for (unsigned cls = 0; cls < kClasses; ++cls)
      if (lowest[i][cls] != INT64_MAX)
        devices_[i].floor[cls] = std::max(devices_[i].floor[cls], lowest[i][cls]);
}

void Group::limitLag(Tenant* tenant) {
  Virtual floor = INT64_MAX;
  for (unsigned i = 0; i < used_devices_; ++i)
    if (tenant->terms.devices >> i & 1)
      floor = std::min(floor, devices_[i].floor[indexOf(tenant->terms.cls)]);
  if (floor == INT64_MAX) return;
  const Virtual credit = virtualOf(static_cast<double>(constants_.quantum), tenant->weight);
  // A tenant that only synchronises now and then keeps its claim.
  const bool brief = now_ - tenant->idle_since < constants_.quantum;
  const Virtual behind = brief ? 4 * credit : std::max(credit, tenant->lag);
  tenant->v = std::max(tenant->v, floor - behind);
}

Virtual Group::lagOf(const Tenant& tenant) const {
  Virtual others = INT64_MAX;
  for (const Tenant* rival : tenant.rivals) {
    // Includes rivals that pause as briefly as this tenant may.
    if (rival->throttled || (!rival->isRunnable() && now_ - rival->idle_since > constants_.quantum))
      continue;
    others = std::min(others, rival->projected());
  }
  return others == INT64_MAX ? 0 : std::max(others - tenant.v, Virtual{0});
}

void Group::forgive(const Tenant& wide) {
  const unsigned cls = indexOf(wide.terms.cls);
  for (unsigned i = 0; i < used_devices_; ++i) {
    if (!(wide.terms.devices >> i & 1)) continue;
    const Tenant* first = nullptr;
    for (const Tenant* rival : wide.rivals) {
      if (rival->wide() || !(rival->terms.devices >> i & 1)) continue;
      if (!rival->isRunnable() || rival->throttled) continue;
      if (first == nullptr || rival->v < first->v) first = rival;
    }
    if (first == nullptr) continue;
    const double allowed = 4.0 * static_cast<double>(constants_.quantum);
    const Virtual excess = first->v - wide.v - virtualOf(allowed, first->weight);
    if (excess <= 0) continue;
    for (const auto& other : tenants_) {
      const bool there = !other->wide() && (other->terms.devices >> i & 1);
      if (there && other->terms.cls == wide.terms.cls) other->v -= excess;
    }
    devices_[i].floor[cls] -= excess;
  }
}

bool Group::starvation_reserve(const Tenant& tenant, DeadlineSet* agenda) {
  const unsigned cls = indexOf(tenant.terms.cls);
  bool all = true;
  for (unsigned i = 0; i < used_devices_; ++i) {
    if (!(tenant.terms.devices >> i & 1)) continue;
    Device& device = devices_[i];
    TokenBucket& bucket = device.starvation_reserve[cls];
    if (device.giving[cls]) {
      const double left = bucket.level() - tenant.meter.unsettled();
      device.giving[cls] = left > 0 && !agenda->reached(agenda->now() + tenant.timeToUse(left));
    } else {
      const Nanos wait = bucket.timeTo(static_cast<double>(reserveUnit()));
      device.giving[cls] = agenda->reached(agenda->now() + wait);
    }
    all = all && device.giving[cls];
  }
  return all;
}

}  // namespace divvy::arbiter
