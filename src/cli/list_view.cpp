#include "list_view.h"

#include <algorithm>

#include "table.h"

namespace divvy::cli {
namespace {

// ID to COMMAND.
constexpr std::size_t kTenantColumns = 16;

std::string coresWord(unsigned cores) {
  return cores == 0 ? "" : std::to_string(cores) + "%";
}

// The node is only told where there is more than one.
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

std::string notesOf(const agent::TenantView& tenant) {
  if (tenant.unpreemptible && tenant.distrusted) return "unpreemptible,distrusted";
  return tenant.unpreemptible ? "unpreemptible" : tenant.distrusted ? "distrusted" : "";
}

template <typename Test>
bool anyTenant(const std::vector<agent::Snapshot>& nodes, Test test) {
  return std::any_of(nodes.begin(), nodes.end(), [&](const agent::Snapshot& node) {
    return std::any_of(node.tenants.begin(), node.tenants.end(), test);
  });
}

std::vector<std::string> rowOf(const agent::TenantView& tenant, const agent::ShareView& share,
                               std::int64_t now) {
  return {tenant.id,
          tenant.name,
          std::to_string(tenant.pid),
          std::to_string(share.device),
          sizeWord(share.limit),
          sizeWord(share.used),
          coresWord(share.cores),
          tenant.backend,
          tenant.cores_policy,
          tenant.priority,
          coresWord(tenant.weight),
          tenant.mode,
          notesOf(tenant),
          ageWord(now - tenant.created),
          tenant.state,
          commandLine(tenant.command)};
}

}  // namespace

std::string tenantsTable(const std::vector<agent::Snapshot>& nodes, std::int64_t now, bool headers,
                         std::size_t width) {
  // On a narrow terminal those go that say nothing unusual.
  const auto column = [&](const std::string& heading, auto unusual) {
    return (anyTenant(nodes, unusual) ? "" : "?") + heading;
  };
  using View = const agent::TenantView&;
  Table table(headings(
      nodes,
      {"ID", "NAME", "PID>", "DEVICE>", "LIMIT>", "USED>", "CORES>",
       column("BACKEND", [](View t) { return t.backend != "interposer"; }),
       column("POLICY", [](View t) { return t.cores_policy != "share"; }),
       column("PRIORITY", [](View t) { return t.priority == "high" || t.priority == "low"; }),
       "?WEIGHT>", "?MODE", column("NOTES", [](View t) { return !notesOf(t).empty(); }), "AGE>",
       "STATE", "COMMAND"}));
  for (const agent::Snapshot& node : nodes) {
    for (const agent::TenantView& tenant : node.tenants) {
      for (const agent::ShareView& share : tenant.shares)
        add(table, nodes, node, rowOf(tenant, share, now));
      if (!tenant.shares.empty()) continue;
      std::vector<std::string> cells(kTenantColumns);
      cells.front() = tenant.id;
      cells[1] = tenant.name;
      cells[kTenantColumns - 2] = tenant.state;
      cells.back() = tenant.note;
      add(table, nodes, node, std::move(cells));
    }
    for (const agent::QueuedView& waiting : node.queue) {
      std::vector<std::string> cells(kTenantColumns);
      cells[1] = waiting.name;
      cells[2] = std::to_string(waiting.pid);
      cells[4] = waiting.memory;
      cells[kTenantColumns - 2] = "queued";
      cells.back() = waiting.reason;
      add(table, nodes, node, std::move(cells));
    }
  }
  return table.text(headers, width);
}

std::string devicesTable(const std::vector<agent::Snapshot>& nodes, bool headers) {
  Table table(headings(nodes, {"INDEX>", "MODEL", "PHYSICAL>", "ALLOCATED>", "USED>", "CORES>",
                               "UTIL>", "TENANTS>", "UUID"}));
  for (const agent::Snapshot& node : nodes) {
    for (const agent::DeviceView& device : node.devices) {
      add(table, nodes, node,
          {std::to_string(device.index), device.model, sizeWord(device.physical),
           sizeWord(device.allocated), sizeWord(device.used), coresWord(device.cores),
           device.utilisation < 0 ? "" : std::to_string(device.utilisation) + "%",
           std::to_string(device.tenants), device.uuid});
    }
  }
  // A UUID is there to be copied, so it is not cut.
  return table.text(headers, 0);
}

}  // namespace divvy::cli
