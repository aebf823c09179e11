// The agent's state for users and scripts.
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "agent/report_note.h"
#include "engine/usage_by_hour_text.h"
#include "server/api_server.h"

namespace divvy::agent {
namespace {

constexpr std::uint64_t kSecondMs = 1000;

// Host PID -> percent of one device's time.
using Times = std::map<int, unsigned>;

Times timesOf(const Inventory& inventory, unsigned index) {
  Times times;
  for (const driver::ProcessTime& time : inventory.driver().processTimes(index)) {
    times[time.pid] = std::max(times[time.pid], time.percent);
  }
  return times;
}

// By device number. The driver is queried once for each device.
using AllTimes = std::map<unsigned, Times>;

AllTimes timesOf(const Inventory& inventory) {
  AllTimes all;
  for (const Device& device : inventory.devices())
    all[device.info.index] = timesOf(inventory, device.info.index);
  return all;
}

ShareView viewOf(const ShareRecord& share, const Tenant& tenant,
                 const std::map<std::string, TenantUse>& uses, const Inventory& inventory,
                 const AllTimes& all) {
  ShareView view;
  view.uuid = share.uuid;
  view.limit = share.limit.count;
  view.cores = share.cores;
  view.guarantee = share.guarantee.count;
  const auto use = uses.find(share.uuid);
  if (use != uses.end()) view.used = use->second.inside.count;
  for (const Device& device : inventory.devices()) {
    if (device.info.uuid != share.uuid) continue;
    view.device = device.info.index;
    unsigned percent = 0;
    const Times& times = all.at(device.info.index);
    for (const auto& [process, watch] : tenant.liveness.processes().watched()) {
      const auto time = times.find(process.pid);
      if (time != times.end()) percent += time->second;
    }
    view.utilisation = static_cast<int>(std::min(percent, 100u));
  }
  return view;
}

const char* reasonName(arbiter::ResidencyTargetReason reason) {
  switch (reason) {
    case arbiter::ResidencyTargetReason::kOthersTurn:
      return "others-turn";
    case arbiter::ResidencyTargetReason::kIdle:
      return "idle";
    case arbiter::ResidencyTargetReason::kHigherClass:
      return "higher-class";
    case arbiter::ResidencyTargetReason::kUnused:
      return "unused";
    case arbiter::ResidencyTargetReason::kShort:
      return "short";
    case arbiter::ResidencyTargetReason::kFits:
      break;
  }
  return "fits";
}

std::uint64_t inMs(arbiter::Nanos time) {
  return static_cast<std::uint64_t>(std::max<arbiter::Nanos>(time, 0) / arbiter::kMillisecond);
}

const char* hostWord(HostMapping host) {
  switch (host) {
    case HostMapping::kCan:
      return "can";
    case HostMapping::kInUse:
      return "in-use";
    case HostMapping::kCannot:
      return "cannot";
    case HostMapping::kUnknown:
      break;
  }
  return "unknown";
}

void showMemory(const arbiter::MemoryStats& figures, TenantView& view) {
  view.unswapped = figures.unswapped;
  if (!figures.swapped) return;
  const bool wanted = figures.reason == arbiter::ResidencyTargetReason::kFits;
  view.memory = figures.waiting    ? "waiting"
                : figures.resident ? "resident"
                : wanted           ? "coming"
                                   : "out";
  view.memory_reason = reasonName(figures.reason);
  view.lent_to = figures.lent_to;
  for (std::size_t i = 0; i < view.shares.size() && i < figures.allowed.size(); ++i)
    view.shares[i].allowed = figures.allowed[i];
  view.swaps = figures.swaps;
  view.longest_wait_ms = inMs(figures.longest_wait);
  view.turn_left_ms = inMs(figures.turn_left);
}

void showCheckpoint(const Tenant& tenant, TenantView& view) {
  const CheckpointStatus& status = tenant.memory.checkpoint();
  view.checkpoint = phaseName(tenant.record.checkpoint);
  view.checkpoint_note = status.lost.empty() ? barWords(status.bar) : status.lost;
  if (tenant.record.checkpoint != CheckpointPhase::kAway) return;
  for (ShareView& share : view.shares) {
    share.swapped = share.used;
    share.resident = share.pinned = 0;
  }
}

// Of all processes that ever lived.
void showRefusals(const ledger::ReportSnapshot& report, TenantView& view) {
  view.refused = report.refusals;
  view.refused_bytes = report.over_limit_bytes;
  view.refused_short = report.device_full;
  view.refused_short_bytes = report.device_full_bytes;
  view.pressure_waits = report.pressure_waits;
}

// Residency as the tenant's processes report it.
void showSwap(const Tenant& tenant, bool host_map, TenantView& view) {
  const ResidencySummary sums = swapOf(tenant);
  for (std::size_t i = 0; i < view.shares.size(); ++i) {
    ShareView& share = view.shares[i];
    share.resident = share.used;
    if (i >= sums.devices.size()) continue;
    share.swapped = std::min(sums.devices[i].out().count, share.used);
    share.resident = share.used - share.swapped;
    share.pinned = sums.devices[i].pinned.count;
    share.out_bps = tenant.memory.swap()->rates()[i].out;
    share.in_bps = tenant.memory.swap()->rates()[i].in;
  }
  showCheckpoint(tenant, view);
  if (sums.devices.empty()) return;
  view.host_map = host_map ? hostWord(sums.host) : "off";
  view.pinned_by = pinNames(sums.pin_reasons);
  view.refusal = refusalWords(sums.refusal);
  view.pressed = sums.pressed;
  // Libraries from before the ledger's counters count here.
  view.pressure_waits = std::max(view.pressure_waits, sums.pressure_waits);
  view.refused_short = std::max(view.refused_short, sums.pressure_refusals);
  const std::uint64_t now = nowMs();
  if (!sums.at_work) view.idle_s = tenant.activity.use().idleMs(now) / kSecondMs;
}

// Idle time and the actions that follow from it.
void showIdle(const Tenant& tenant, const TenantManager& tenants, const IdleReaper& idle,
              TenantView& view) {
  if (!reportsActivity(tenant)) {
    view.idle_known = tenant.activity.seen().has_value();
    if (tenant.activity.seen()) view.idle_s = tenant.activity.seen()->idleMs(nowMs()) / kSecondMs;
    return;
  }
  view.idle_known = true;
  const ShutdownOptions terms = idle.termsOf(tenant.record);
  if (tenant.memory.swap())
    view.idle_reclaim_s = tenants.memory().reclaimMs(tenant.record) / kSecondMs;
  if (!tenant.memory.swap()) view.idle_s = tenant.activity.use().idleMs(nowMs()) / kSecondMs;
  view.idle_stop_s = terms.after_ms / kSecondMs;
  if (tenant.shutdown.pending().phase == ShutdownPhase::kNone) return;
  view.stop = tenant.shutdown.pending().phase == ShutdownPhase::kNoticed ? "noticed" : "ending";
  view.stop_left_s = leftMs(tenant.shutdown.pending(), terms, nowMs()) / kSecondMs;
}

const char* modeName(arbiter::Mode mode) {
  switch (mode) {
    case arbiter::Mode::kShare:
      return "share";
    case arbiter::Mode::kCap:
      return "cap";
    case arbiter::Mode::kLatency:
      return "latency";
    case arbiter::Mode::kBestEffort:
      return "best-effort";
    case arbiter::Mode::kSolo:
      break;
  }
  return "solo";
}

void showCompute(const arbiter::TenantStats& figures, TenantView& view) {
  view.mode = figures.ungated.empty() ? modeName(figures.mode) : "ungated";
  if (!figures.ungated.empty() && view.note.empty())
    view.note = "compute is not shared: " + figures.ungated;
  view.weight = figures.weight;
  view.throttled_permille = figures.throttled_permille;
  view.throttled_ms = static_cast<std::uint64_t>(figures.throttled / arbiter::kMillisecond);
  view.waits = figures.waits;
  view.grants_per_s = figures.grants_per_s;
  view.longest_us = static_cast<std::uint64_t>(figures.longest / arbiter::kMicrosecond);
  view.escapes = figures.escapes;
  view.cpu_permille = figures.cpu_permille;
  view.unpreemptible = figures.unpreemptible;
  view.distrusted = figures.distrusted;
  for (std::size_t i = 0; i < view.shares.size() && i < figures.got_permille.size(); ++i)
    view.shares[i].got_permille = figures.got_permille[i];
}

TenantView viewOf(const Tenant& tenant, const TenantManager& tenants, const Inventory& inventory,
                  const AllTimes& times, const IdleReaper& idle) {
  TenantView view;
  view.id = tenant.record.id;
  view.name = tenant.record.name;
  if (tenant.record.ofPod()) {
    view.namespace_name = tenant.record.lodger.namespace_name;
    view.pod = tenant.record.lodger.pod;
    view.container = tenant.record.lodger.container;
  }
  // A detached container is not orphaned.
  const bool held = tenant.liveness.held() || tenant.record.inContainer();
  const bool reserved = tenant.record.kept && tenant.liveness.processes().empty();
  view.state = !tenant.pages ? "broken" : reserved ? "reserved" : held ? "running" : "orphaned";
  view.note = tenant.broken;
  view.bypass = tenant.bypass.how();
  view.priority = priorityName(tenant.record.priority);
  view.cores_policy = coresPolicyName(tenant.record.cores_policy);
  view.backend = backendName(tenant.record.backend);
  if (tenant.record.expected_use) view.expected_use = engine::text(*tenant.record.expected_use);
  view.pid = tenant.record.command_pid != 0 ? tenant.record.command_pid : tenant.record.holder.pid;
  if (tenant.record.kept) view.pid = 0;
  view.processes = static_cast<unsigned>(tenant.liveness.processes().watched().size());
  view.created = tenant.record.created;
  view.command = tenant.record.command;
  std::map<std::string, TenantUse> uses;
  if (tenant.pages) {
    const ReportPtr report = reportOf(tenant);
    if (report) showRefusals(*report, view);
    if (report) uses = useOf(tenant, *report);
    if (report && report->suspect())
      view.note = std::string(kReportNote) + ledger::suspicionNames(report->suspicions);
  }
  for (const ShareRecord& share : tenant.record.shares)
    view.shares.push_back(viewOf(share, tenant, uses, inventory, times));
  showSwap(tenant, tenants.memory().host_map, view);
  view.on_pressure = onPressureName(tenant.record.on_pressure);
  view.pressure_wait_ms = tenant.record.pressure_wait_ms;
  const std::optional<arbiter::TenantStats> figures = tenants.compute().figures(tenant);
  view.mode = arbiterGates(tenant.record.backend) ? "ungated" : view.cores_policy;
  if (figures) showCompute(*figures, view);
  if (figures) showMemory(figures->memory, view);
  showIdle(tenant, tenants, idle, view);
  return view;
}

void showResidency(const arbiter::ResidencyBudgetStats& figures, DeviceView& view) {
  view.budget = figures.budget;
  view.booked = figures.booked;
  view.ratio_permille = static_cast<unsigned>(std::clamp(figures.ratio, 0.0, 1e6) * 1000);
  view.quantum_ms = inMs(figures.quantum);
  view.swap_predicted_ms = inMs(figures.swap_predicted);
  view.swap_actual_ms = inMs(figures.swap_actual);
  view.thrash_risk = figures.thrash_risk;
}

void showPlace(const DeviceLocality& place, const Inventory& inventory, DeviceView& view) {
  if (place.numa) view.numa = static_cast<int>(*place.numa);
  for (const PeerLink& way : place.ways) {
    for (const Device& other : inventory.devices())
      if (other.info.uuid == way.uuid)
        view.links.push_back({other.info.index, way.score, way.direct});
  }
  for (const NicDistance& nic : place.nics) view.nics.push_back({nic.name, nic.distance});
}

DeviceView viewOf(const Device& device, const Inventory& inventory, const TenantManager& tenants,
                  const Card& card) {
  DeviceView view;
  view.index = device.info.index;
  view.uuid = device.info.uuid;
  view.model = device.info.model;
  view.pci = device.info.pci;
  view.physical = device.info.physical.count;
  view.context = device.context.count;
  view.excluded = device.excluded;
  view.fault = tenants.health().why(device.info.index);
  showPlace(device.place, inventory, view);
  view.allocated = card.reserved.count;
  view.cores = card.cores_reserved;
  view.overcommit_permille = card.overcommit_permille;
  view.budget = (card.room() - card.outside).count;
  view.promised = (card.reserved - card.outside).count;
  view.guaranteed = card.guaranteed.count;
  const std::optional<arbiter::ResidencyBudgetStats> residency =
      tenants.overcommit().residency(device.info.index);
  if (residency) showResidency(*residency, view);
  const Result<driver::DeviceUse> use = inventory.driver().use(device.info.index);
  if (use) {
    view.used = use->used.count;
    view.utilisation = use->utilisation;
  }
  for (const auto& [id, tenant] : tenants.all()) {
    for (const ShareRecord& share : tenant->record.shares) {
      const bool here = share.uuid == view.uuid;
      view.tenants += here ? 1 : 0;
      const bool away = tenant->record.checkpoint == CheckpointPhase::kAway;
      view.checkpointed += here && away ? 1 : 0;
    }
  }
  return view;
}

}  // namespace

Snapshot takeSnapshot(const Node& node, const PlacementOptions& placing,
                      const TenantManager& tenants, const Inventory& inventory,
                      const WaitQueue& queue, const IdleReaper& idle) {
  Snapshot snapshot;
  snapshot.node = node.name;
  snapshot.driver = inventory.driverVersion();
  snapshot.agent_pid = getpid();
  const std::vector<Card> cards = tenants.capacity().cards();
  const std::vector<std::string> pools = poolsOf(cards, placing);
  snapshot.host_reserve = tenants.memory().host_reserve.count;
  for (const Card& card : cards) snapshot.host_promised += card.beyond().count;
  for (std::size_t i = 0; i < cards.size(); ++i) {
    snapshot.devices.push_back(viewOf(inventory.devices()[i], inventory, tenants, cards[i]));
    snapshot.devices.back().pool = pools[i];
  }
  const AllTimes times = tenants.all().empty() ? AllTimes() : timesOf(inventory);
  for (const auto& [id, tenant] : tenants.all())
    snapshot.tenants.push_back(viewOf(*tenant, tenants, inventory, times, idle));
  std::stable_sort(snapshot.tenants.begin(), snapshot.tenants.end(),
                   [](const TenantView& a, const TenantView& b) {
                     return std::pair(a.created, a.pid) < std::pair(b.created, b.pid);
                   });
  for (const Waiting& waiting : queue.entries()) {
    snapshot.queue.push_back(
        {waiting.pid, waiting.name, waiting.ask.memory.text(), waiting.ask.gpus, waiting.reason});
  }
  return snapshot;
}

TenantView takeMemoryView(const Tenant& tenant, const TenantManager& tenants,
                          const Inventory& inventory) {
  TenantView view;
  view.id = tenant.record.id;
  view.name = tenant.record.name;
  view.pressure_wait_ms = tenant.record.pressure_wait_ms;
  const ReportPtr report = reportOf(tenant);
  if (report) showRefusals(*report, view);
  const std::map<std::string, TenantUse> uses =
      report ? useOf(tenant, *report) : std::map<std::string, TenantUse>();
  for (const ShareRecord& share : tenant.record.shares) {
    ShareView& shown = view.shares.emplace_back();
    const auto use = uses.find(share.uuid);
    const Device* device = inventory.deviceOf(share.uuid);
    if (device != nullptr) shown.device = device->info.index;
    shown.limit = share.limit.count;
    if (use != uses.end()) shown.used = use->second.inside.count;
  }
  showSwap(tenant, tenants.memory().host_map, view);
  const std::optional<arbiter::TenantStats> figures = tenants.compute().figures(tenant);
  if (figures) showCompute(*figures, view);
  if (figures) showMemory(figures->memory, view);
  return view;
}

Snapshot takeMemorySnapshot(const TenantManager& tenants, const Inventory& inventory) {
  Snapshot snapshot;
  for (const Device& device : inventory.devices()) {
    DeviceView& view = snapshot.devices.emplace_back();
    view.index = device.info.index;
    const std::optional<arbiter::ResidencyBudgetStats> figures =
        tenants.overcommit().residency(view.index);
    if (figures) showResidency(*figures, view);
  }
  for (const auto& [id, tenant] : tenants.all())
    if (tenant->pages) snapshot.tenants.push_back(takeMemoryView(*tenant, tenants, inventory));
  return snapshot;
}

}  // namespace divvy::agent
