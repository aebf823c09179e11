// `divvy ls` and `divvy gpus`.
#include <cstdio>
#include <ctime>

#include "commands.h"
#include "nodes.h"
#include "table.h"
#include "terminal.h"

namespace divvy::cli {
namespace {

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

std::string tenantsTable(const std::vector<agent::Snapshot>& nodes, const Output& output) {
  Table table(headings(nodes, {"ID", "NAME", "PID>", "DEVICE>", "LIMIT>", "USED>", "CORES>", "AGE>",
                               "STATE", "COMMAND"}));
  const std::int64_t now = std::time(nullptr);
  for (const agent::Snapshot& node : nodes) {
    for (const agent::TenantView& tenant : node.tenants) {
      for (const agent::ShareView& share : tenant.shares) {
        add(table, nodes, node,
            {tenant.id, tenant.name, std::to_string(tenant.pid), std::to_string(share.device),
             sizeWord(share.limit), sizeWord(share.used), coresWord(share.cores),
             ageWord(now - tenant.created), tenant.state, commandLine(tenant.command)});
      }
      if (tenant.shares.empty())
        add(table, nodes, node, {tenant.id, tenant.name, "", "", "", "", "", "", tenant.state, ""});
    }
    for (const agent::QueuedView& waiting : node.queue) {
      add(table, nodes, node,
          {"", waiting.name, std::to_string(waiting.pid), "", waiting.memory, "", "", "", "queued",
           waiting.reason});
    }
  }
  return table.text(output.headers, outputWidth());
}

std::string devicesTable(const std::vector<agent::Snapshot>& nodes, const Output& output) {
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
  return table.text(output.headers, 0);
}

}  // namespace

int list(const ListOptions& options) {
  const bool tenants = options.what == ListOptions::What::kTenants;
  // Tenants exist only where an agent runs; devices are worth starting one.
  if (options.sim) {
    const Result<agent::Node> node = nodeForRun(options.sim);
    if (!node) return fail(node.error());
  }
  Result<std::vector<NodeLink>> links =
      tenants ? linkRunning(options.sim) : linkOrStart(options.sim);
  if (!links) return fail(links.error());
  const std::vector<agent::Snapshot> nodes = snapshotsOf(*links);
  std::string text;
  if (options.output.json) {
    text = tenants ? agent::tenantsJson(nodes) : agent::devicesJson(nodes);
  } else {
    text = tenants ? tenantsTable(nodes, options.output) : devicesTable(nodes, options.output);
  }
  std::fputs(text.c_str(), stdout);
  return 0;
}

}  // namespace divvy::cli
