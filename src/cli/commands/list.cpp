// `divvy ls` and `divvy gpus`.
#include <cstdio>
#include <ctime>

#include "agent_client/node_selection.h"
#include "commands/commands.h"
#include "view/list_view.h"
#include "view/terminal.h"

namespace divvy::cli {
int list(const ListOptions& options) {
  if (options.cluster) return listCluster(options);
  const bool tenants = options.what == ListOptions::What::kTenants;
  // Without an agent there are no tenants, but to list devices an agent is started.
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
    const std::size_t width = options.output.wide ? 0 : outputWidth();
    text = tenants ? tenantsTable(nodes, std::time(nullptr), options.output.headers, width)
                   : devicesTable(nodes, options.output.headers);
  }
  std::fputs(text.c_str(), stdout);
  return 0;
}

}  // namespace divvy::cli
