// The agent's state as people and scripts see it.
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "server.h"

namespace divvy::agent {
namespace {

// Host PID -> percent of one device's time.
using Times = std::map<int, unsigned>;

Times timesOf(const Inventory& inventory, unsigned index) {
  Times times;
  for (const driver::ProcessTime& time : inventory.driver().processTimes(index)) {
    times[time.pid] = std::max(times[time.pid], time.percent);
  }
  return times;
}

ShareView viewOf(const ShareRecord& share, const Tenant& tenant,
                 const std::map<std::string, TenantUse>& uses, const Inventory& inventory) {
  ShareView view;
  view.uuid = share.uuid;
  view.limit = share.limit.count;
  view.cores = share.cores;
  const auto use = uses.find(share.uuid);
  if (use != uses.end()) view.used = use->second.inside.count;
  for (const Device& device : inventory.devices()) {
    if (device.info.uuid != share.uuid) continue;
    view.device = device.info.index;
    unsigned percent = 0;
    const Times times = timesOf(inventory, device.info.index);
    for (const auto& [key, process] : tenant.processes) {
      const auto time = times.find(process.id.pid);
      if (time != times.end()) percent += time->second;
    }
    view.utilisation = static_cast<int>(std::min(percent, 100u));
  }
  return view;
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

void showCompute(const arbiter::TenantFigures& figures, TenantView& view) {
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

TenantView viewOf(const Tenant& tenant, const Tenants& tenants, const Inventory& inventory) {
  TenantView view;
  view.id = tenant.record.id;
  view.name = tenant.record.name;
  view.state = !tenant.pages ? "broken" : tenant.holder ? "running" : "orphaned";
  view.note = tenant.broken;
  view.priority = priorityName(tenant.record.priority);
  view.cores_policy = coresPolicyName(tenant.record.cores_policy);
  view.backend = backendName(tenant.record.backend);
  view.pid = tenant.record.command_pid != 0 ? tenant.record.command_pid : tenant.record.holder.pid;
  view.processes = static_cast<unsigned>(tenant.processes.size());
  view.created = tenant.record.created;
  view.command = tenant.record.command;
  if (tenant.pages) {
    const Result<ledger::ReportSnapshot> report = tenant.pages->readReport();
    if (report) view.refused = report->refusals;
    if (report && report->suspect())
      view.note = "report: " + ledger::suspicionNames(report->suspicions);
  }
  const std::map<std::string, TenantUse> uses = useOf(tenant);
  for (const ShareRecord& share : tenant.record.shares)
    view.shares.push_back(viewOf(share, tenant, uses, inventory));
  const std::optional<arbiter::TenantFigures> figures = tenants.compute(tenant);
  view.mode = arbiterGates(tenant.record.backend) ? "ungated" : view.cores_policy;
  if (figures) showCompute(*figures, view);
  return view;
}

DeviceView viewOf(const Device& device, const Inventory& inventory, const Tenants& tenants,
                  const Card& card) {
  DeviceView view;
  view.index = device.info.index;
  view.uuid = device.info.uuid;
  view.model = device.info.model;
  view.pci = device.info.pci;
  view.physical = device.info.physical.count;
  view.context = device.context.count;
  view.allocated = card.reserved.count;
  view.cores = card.cores_reserved;
  const Result<driver::DeviceUse> use = inventory.driver().use(device.info.index);
  if (use) {
    view.used = use->used.count;
    view.utilisation = use->utilisation;
  }
  for (const auto& [id, tenant] : tenants.all()) {
    for (const ShareRecord& share : tenant->record.shares)
      view.tenants += share.uuid == view.uuid ? 1 : 0;
  }
  return view;
}

}  // namespace

Snapshot takeSnapshot(const Node& node, const Tenants& tenants, const Inventory& inventory,
                      const Queue& queue) {
  Snapshot snapshot;
  snapshot.node = node.name;
  snapshot.driver = inventory.driverVersion();
  snapshot.agent_pid = getpid();
  const std::vector<Card> cards = tenants.cards();
  for (std::size_t i = 0; i < cards.size(); ++i) {
    snapshot.devices.push_back(viewOf(inventory.devices()[i], inventory, tenants, cards[i]));
  }
  for (const auto& [id, tenant] : tenants.all())
    snapshot.tenants.push_back(viewOf(*tenant, tenants, inventory));
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

}  // namespace divvy::agent
