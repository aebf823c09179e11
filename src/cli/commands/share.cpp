// `divvy share`: shares that are kept under a name, for containers that start and end.
#include <cstdio>

#include "agent_client/node_selection.h"
#include "agent_client/share_client.h"
#include "commands/commands.h"

namespace divvy::cli {
namespace {

int create(const ShareOptions& options) {
  const Result<agent::Node> node = nodeForRun(options.run.sim);
  if (!node) return fail(node.error());
  const std::string device = "divvy.dev/share=" + options.run.name;
  agent::RunRequest request = requestOf(options.run);
  request.contained = request.kept = true;
  request.cdi_dir = options.cdi_dir;
  request.command = {device};
  const Result<GrantedShare> grant = requestShare(request, *node);
  if (!grant) return fail(grant.error());
  std::printf("%s\n", device.c_str());
  return 0;
}

int remove(const ShareOptions& options) {
  Result<std::vector<NodeLink>> links = linkRunning(options.sim);
  if (!links) return fail(links.error());
  for (NodeLink& node : *links) {
    const Result<agent::Reply> reply = node.link.call(agent::ReleaseRequest{options.name});
    if (reply) return 0;
    if (reply.error().code() != ErrorCode::kNotFound) return fail(reply.error());
  }
  return fail(
      {ErrorCode::kNotFound, "no share \"" + options.name + "\" exists; divvy ls lists shares"});
}

}  // namespace

int share(const ShareOptions& options) {
  return options.what == ShareOptions::What::kCreate ? create(options) : remove(options);
}

}  // namespace divvy::cli
