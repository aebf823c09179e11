#include "view/list_view.h"

#include <algorithm>

#include "view/memory_notes.h"
#include "view/table.h"

namespace divvy::cli {
namespace {

// ID to COMMAND, without the columns of oversubscribed memory.
constexpr std::size_t kTenantColumns = 16;
// Inserted after USED if memory is oversubscribed: RESIDENT, SWAPPED.
constexpr std::size_t kAfterUsed = 6;

std::string coresWord(unsigned cores) {
  return cores == 0 ? "" : std::to_string(cores) + "%";
}

// The node is shown only if there are several.
std::vector<std::string> headings(const std::vector<agent::Snapshot>& nodes,
                                  std::vector<std::string> rest) {
  if (nodes.size() > 1) rest.insert(rest.begin(), "NODE");
  return rest;
}

void add(Table& table, const std::vector<agent::Snapshot>& nodes, const agent::Snapshot& node,
         std::vector<std::string> cells) {
  if (nodes.size() > 1) cells.insert(cells.begin(), node.node);
  table.add(std::move(cells));
}

std::string notesOf(const agent::TenantView& tenant, const agent::Snapshot& node) {
  std::string text = tenant.unpreemptible ? "unpreemptible" : "";
  if (tenant.distrusted) text += (text.empty() ? "" : ",") + std::string("distrusted");
  if (!tenant.bypass.empty())
    text += (text.empty() ? "" : ",") + std::string("bypasses its limits");
  for (const std::string& note : memoryNotes(tenant, node))
    text += (text.empty() ? "" : ", ") + note;
  return text;
}

// Adds two cells if memory is oversubscribed.
std::vector<std::string> widened(std::vector<std::string> cells, bool wider,
                                 const std::string& resident, const std::string& swapped) {
  if (!wider) return cells;
  cells.insert(cells.begin() + kAfterUsed, {resident, swapped});
  return cells;
}

template <typename Test>
bool anyTenant(const std::vector<agent::Snapshot>& nodes, Test test) {
  return std::any_of(nodes.begin(), nodes.end(), [&](const agent::Snapshot& node) {
    return std::any_of(node.tenants.begin(), node.tenants.end(),
                       [&](const agent::TenantView& tenant) { return test(tenant, node); });
  });
}

std::vector<std::string> rowOf(const agent::TenantView& tenant, const agent::ShareView& share,
                               const agent::Snapshot& node, std::int64_t now) {
  return {tenant.id,
          tenant.name,
          tenant.pid == 0 ? "-" : std::to_string(tenant.pid),
          std::to_string(share.device),
          sizeWord(share.limit),
          sizeWord(share.used),
          coresWord(share.cores),
          tenant.backend,
          tenant.cores_policy,
          tenant.priority,
          coresWord(tenant.weight),
          tenant.mode,
          notesOf(tenant, node),
          ageWord(now - tenant.created),
          tenant.state,
          commandLine(tenant.command)};
}

}  // namespace

std::string tenantsTable(const std::vector<agent::Snapshot>& nodes, std::int64_t now, bool headers,
                         std::size_t width) {
  // On a narrow terminal columns without unusual values are dropped.
  const auto column = [&](const std::string& heading, auto unusual) {
    return (anyTenant(nodes, unusual) ? "" : "?") + heading;
  };
  using View = const agent::TenantView&;
  using Node = const agent::Snapshot&;
  const bool wider = std::any_of(nodes.begin(), nodes.end(), oversubscribed);
  const std::vector<std::string> columns{
      "ID",
      "NAME",
      "PID>",
      "DEVICE>",
      "LIMIT>",
      "USED>",
      "CORES>",
      column("BACKEND", [](View t, Node) { return t.backend != "interposer"; }),
      column("POLICY", [](View t, Node) { return t.cores_policy != "share"; }),
      column("PRIORITY", [](View t, Node) { return t.priority == "high" || t.priority == "low"; }),
      "?WEIGHT>",
      "?MODE",
      column("NOTES", [](View t, Node node) { return !notesOf(t, node).empty(); }),
      "AGE>",
      "STATE",
      "COMMAND"};
  Table table(headings(nodes, widened(columns, wider, "RESIDENT>", "SWAPPED>")));
  const auto row = [&](const agent::Snapshot& node, std::vector<std::string> cells,
                       const std::string& resident, const std::string& swapped) {
    add(table, nodes, node, widened(std::move(cells), wider, resident, swapped));
  };
  for (const agent::Snapshot& node : nodes) {
    for (const agent::TenantView& tenant : node.tenants) {
      for (const agent::ShareView& share : tenant.shares)
        row(node, rowOf(tenant, share, node, now), sizeWord(share.resident),
            sizeWord(share.swapped));
      if (!tenant.shares.empty()) continue;
      std::vector<std::string> cells(kTenantColumns);
      cells.front() = tenant.id;
      cells[1] = tenant.name;
      cells[kTenantColumns - 2] = tenant.state;
      cells.back() = tenant.note;
      row(node, std::move(cells), "", "");
    }
    for (const agent::QueuedView& waiting : node.queue) {
      std::vector<std::string> cells(kTenantColumns);
      cells[1] = waiting.name;
      cells[2] = std::to_string(waiting.pid);
      cells[4] = waiting.memory;
      cells[kTenantColumns - 2] = "queued";
      cells.back() = waiting.reason;
      row(node, std::move(cells), "", "");
    }
  }
  return table.text(headers, width);
}

namespace {

template <typename Test>
bool anyDevice(const std::vector<agent::Snapshot>& nodes, Test test) {
  return std::any_of(nodes.begin(), nodes.end(), [&](const agent::Snapshot& node) {
    return std::any_of(node.devices.begin(), node.devices.end(), test);
  });
}

// "1-3,6": the devices with a direct link.
std::string linksWord(const agent::DeviceView& device) {
  std::vector<unsigned> to;
  for (const agent::LinkView& link : device.links)
    if (link.direct) to.push_back(link.device);
  std::sort(to.begin(), to.end());
  std::string text;
  for (std::size_t first = 0; first < to.size();) {
    std::size_t last = first;
    while (last + 1 < to.size() && to[last + 1] == to[last] + 1) ++last;
    text += (text.empty() ? "" : ",") + std::to_string(to[first]);
    if (last != first) text += (last == first + 1 ? "," : "-") + std::to_string(to[last]);
    first = last + 1;
  }
  return text;
}

// The nearest RDMA NICs, within its NUMA node at most.
std::string nicsWord(const agent::DeviceView& device) {
  constexpr unsigned kElsewhere = 5;
  unsigned nearest = kElsewhere - 1;
  for (const agent::NicView& nic : device.nics) nearest = std::min(nearest, nic.distance);
  std::string text;
  for (const agent::NicView& nic : device.nics)
    if (nic.distance == nearest) text += (text.empty() ? "" : ",") + nic.name;
  return text;
}

}  // namespace

std::string devicesTable(const std::vector<agent::Snapshot>& nodes, bool headers) {
  const bool wider = std::any_of(nodes.begin(), nodes.end(), oversubscribed);
  using View = const agent::DeviceView&;
  const bool pooled = anyDevice(nodes, [](View device) { return !device.pool.empty(); });
  // Hidden if a machine has one NUMA node.
  const bool apart = anyDevice(nodes, [](View device) { return device.numa > 0; });
  const bool linked = anyDevice(nodes, [](View device) { return !linksWord(device).empty(); });
  const bool wired = anyDevice(nodes, [](View device) { return !device.nics.empty(); });
  const bool noted =
      wider || anyDevice(nodes, [](View device) { return !deviceNote(device).empty(); });
  const auto cellsOf = [&](std::vector<std::string> cells, const std::string& pool,
                           const std::vector<std::string>& place, std::vector<std::string> more,
                           std::string note, std::string last) {
    if (apart) cells.push_back(place[0]);
    if (linked) cells.push_back(place[1]);
    if (wired) cells.push_back(place[2]);
    if (pooled) cells.push_back(pool);
    if (wider) cells.insert(cells.end(), more.begin(), more.end());
    if (noted) cells.push_back(std::move(note));
    cells.push_back(std::move(last));
    return cells;
  };
  Table table(headings(nodes, cellsOf({"INDEX>", "MODEL", "PHYSICAL>", "ALLOCATED>", "USED>",
                                       "CORES>", "UTIL>", "TENANTS>"},
                                      "POOL", {"NUMA>", "LINKS", "NICS"},
                                      {"OVERCOMMIT>", "BUDGET>", "PROMISED>"}, "NOTES", "UUID")));
  for (const agent::Snapshot& node : nodes) {
    for (const agent::DeviceView& device : node.devices) {
      add(table, nodes, node,
          cellsOf({std::to_string(device.index), device.model, sizeWord(device.physical),
                   sizeWord(device.allocated), sizeWord(device.used), coresWord(device.cores),
                   device.utilisation < 0 ? "" : std::to_string(device.utilisation) + "%",
                   std::to_string(device.tenants)},
                  device.pool,
                  {device.numa < 0 ? "" : std::to_string(device.numa), linksWord(device),
                   nicsWord(device)},
                  {ratioWord(device.overcommit_permille), sizeWord(device.budget),
                   sizeWord(device.promised)},
                  deviceNote(device), device.uuid));
    }
  }
  // Users copy UUIDs, so they are not cut.
  return table.text(headers, 0);
}

}  // namespace divvy::cli
