// `divvy snapshot`.
#include <cstdio>

#include "agent_client/node_selection.h"
#include "commands/commands.h"
#include "files/simulate_files.h"
#include "snapshot/recorder.h"
#include "snapshot/text.h"

namespace divvy::cli {
namespace {

// The machine's own agent comes first.
Result<std::string> callAgent(const SnapshotOptions& options) {
  if (options.sim) {
    const Result<agent::Node> node = nodeForRun(options.sim);
    if (!node) return node.error();
  }
  Result<std::vector<NodeLink>> links = linkOrStart(options.sim);
  if (!links) return links.error();
  if (links->size() > 1 && links->front().node.simulated()) {
    std::string names;
    for (const NodeLink& one : *links) names += (names.empty() ? "" : ", ") + one.node.name;
    return Error{ErrorCode::kUsage,
                 "agents of " + names + " are running; accepted: one of them, with --sim"};
  }
  Result<agent::Reply> reply = links->front().link.call(agent::PlacementRequest{});
  if (!reply) return reply.error();
  if (auto* placement = std::get_if<agent::PlacementReply>(&*reply))
    return std::move(placement->text);
  return Error{ErrorCode::kCorrupt, "the agent did not answer with the state of placement"};
}

}  // namespace

int snapshot(const SnapshotOptions& options) {
  const std::string file = options.file == "-" ? "" : options.file;
  const Result<void> writable = checkWritable({file});
  if (!writable) return fail(writable.error());
  const Result<std::string> text =
      options.cluster ? clusterSnapshot(*options.cluster) : callAgent(options);
  if (!text) return fail(text.error());
  // A snapshot that cannot be read again is not written.
  Result<snapshot::Snapshot> read =
      snapshot::parse(*text, options.cluster ? "the cluster" : "the agent's answer");
  if (!read) return fail({ErrorCode::kCorrupt, read.error().message()});
  if (options.redact) snapshot::redact(*read);
  const std::string out = snapshot::write(*read);
  if (!file.empty()) return writeFiles({{file, out}});
  std::fputs(out.c_str(), stdout);
  return 0;
}

}  // namespace divvy::cli
