// The agent's state as people and scripts see it.
#include <unistd.h>

#include <algorithm>

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

TenantView viewOf(const Tenant& tenant, const Inventory& inventory) {
  TenantView view;
  view.id = tenant.record.id;
  view.name = tenant.record.name;
  view.state = !tenant.pages ? "broken" : tenant.holder ? "running" : "orphaned";
  view.note = tenant.broken;
  view.priority = priorityName(tenant.record.priority);
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
    snapshot.tenants.push_back(viewOf(*tenant, inventory));
  std::stable_sort(snapshot.tenants.begin(), snapshot.tenants.end(),
                   [](const TenantView& a, const TenantView& b) { return a.created < b.created; });
  for (const Waiting& waiting : queue.entries()) {
    snapshot.queue.push_back(
        {waiting.pid, waiting.name, waiting.ask.memory.text(), waiting.ask.gpus, waiting.reason});
  }
  return snapshot;
}

}  // namespace divvy::agent
