#include "agent_client/node_selection.h"

#include <algorithm>
#include <filesystem>
#include <optional>

#include "config/node_choice.h"

namespace divvy::cli {

std::vector<agent::Node> runningNodes(const SimChoice& sim) {
  std::vector<agent::Node> nodes;
  const Result<std::string> root = agent::runtimeRoot();
  if (!root) return nodes;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(*root, ignored)) {
    Result<agent::Node> node = agent::parseNode(entry.path().filename().string());
    if (node) nodes.push_back(*node);
  }
  if (sim) {
    const Result<agent::Node> wanted = nodeForRun(sim);
    std::erase_if(nodes,
                  [&](const agent::Node& node) { return !wanted || node.name != wanted->name; });
  }
  std::sort(nodes.begin(), nodes.end(), [](const agent::Node& a, const agent::Node& b) {
    return a.simulated() != b.simulated() ? b.simulated() : a.name < b.name;
  });
  return nodes;
}

namespace {

// Tenants without an agent: it was killed, and a new one must take them over.
bool hasOrphans(const agent::NodePaths& paths) {
  std::error_code fault;
  const std::filesystem::directory_iterator tenants(paths.tenants(), fault);
  if (fault) return fault != std::errc::no_such_file_or_directory;  // there may be some
  return tenants != std::filesystem::directory_iterator();
}

}  // namespace

Result<std::vector<NodeLink>> linkRunning(const SimChoice& sim) {
  std::vector<NodeLink> links;
  const Result<std::string> root = agent::runtimeRoot();
  if (!root) return root.error();
  for (const agent::Node& node : runningNodes(sim)) {
    const agent::NodePaths paths(*root, node);
    Result<AgentLink> link = findAgent(paths);
    if (!link && !hasOrphans(paths)) continue;
    if (!link) link = findOrStartAgent(node);
    if (!link) return std::move(link).error().context("node " + node.name);
    links.push_back({node, std::move(*link)});
  }
  return links;
}

Result<std::vector<NodeLink>> linkOrStart(const SimChoice& sim) {
  Result<std::vector<NodeLink>> links = linkRunning(sim);
  if (!links || !links->empty()) return links;
  Result<agent::Node> node = nodeForRun(sim);
  if (!node) return node.error();
  Result<AgentLink> link = findOrStartAgent(*node);
  if (!link) return link.error();
  links->push_back({*node, std::move(*link)});
  return links;
}

std::vector<agent::Snapshot> snapshotsOf(std::vector<NodeLink>& links) {
  std::vector<agent::Snapshot> snapshots;
  for (NodeLink& node : links) {
    if (!node.link.open()) continue;
    Result<agent::Reply> reply = node.link.call(agent::ListRequest{});
    auto* snapshot = reply ? std::get_if<agent::SnapshotReply>(&*reply) : nullptr;
    if (snapshot != nullptr) snapshots.push_back(std::move(snapshot->snapshot));
    if (snapshot == nullptr) node.link.close();
  }
  return snapshots;
}

}  // namespace divvy::cli
