// Options of `divvy hub`, from words.
#include <algorithm>
#include <utility>

#include "files/listen.h"
#include "options/raw_options.h"

namespace divvy::cli {

Result<Options> makeHub(const RawOptions& raw) {
  const HubText& text = raw.hub;
  HubOptions hub;
  if (!text.print.empty()) {
    if (text.print != "kueue")
      return Error{ErrorCode::kUsage, "--print \"" + text.print + "\" is not accepted; kueue is"};
    hub.print_kueue = true;
    hub.vendors = raw.cluster.vendors;
    return Options{std::move(hub)};
  }
  if (!raw.cluster.vendors.empty()) return Error{ErrorCode::kUsage, "--vendors needs --print"};
  if (text.clusters.empty())
    return Error{ErrorCode::kUsage,
                 "--clusters is missing; accepted: a kubeconfig with one context per cluster"};
  hub.clusters = text.clusters;
  hub.contexts = raw.cluster.contexts;
  hub.reserved = text.reserved;
  hub.on_demand = text.on_demand;
  for (const std::string& name : hub.reserved)
    if (std::find(hub.on_demand.begin(), hub.on_demand.end(), name) != hub.on_demand.end())
      return Error{ErrorCode::kUsage,
                   "--reserved and --on-demand both name " + name + "; accepted: one of them"};
  if (const Result<void> read = readListen(text.listen, "--listen", &hub.host, &hub.port); !read)
    return read.error();
  if (!raw.cluster.divvy_namespace.empty()) hub.namespace_name = raw.cluster.divvy_namespace;
  if (!raw.cluster.scheduler_service.empty()) hub.service = raw.cluster.scheduler_service;
  hub.dispatch = text.dispatch;
  hub.clears_nominations = text.clears_nominations;
  if (!text.spill_after.empty()) {
    const Result<std::uint64_t> spill = parseDurationMs(text.spill_after);
    if (!spill) return Error(spill.error()).context("--spill-after");
    hub.spill_after_ms = *spill;
  }
  const bool dispatches_only = !text.spill_after.empty() || text.clears_nominations ||
                               hasConnectionOptions(raw.cluster.connection);
  if (!hub.dispatch && dispatches_only)
    return Error{ErrorCode::kUsage,
                 "options of the manager cluster need --dispatch; --clusters names the kubeconfig "
                 "of the others"};
  Result<ConnectionOptions> connection = connectionOf(raw.cluster.connection);
  if (!connection) return connection.error();
  hub.manager = std::move(*connection);
  return Options{std::move(hub)};
}

}  // namespace divvy::cli
