#include "agent_client/console_source.h"

#include <algorithm>
#include <filesystem>

namespace divvy::cli {
namespace {

// An agent that needs longer counts as not answering.
constexpr int kReadMs = 4000;
constexpr int kCallMs = 8000;

Result<AgentLink> connectTo(const agent::Node& node) {
  const Result<std::string> root = agent::runtimeRoot();
  if (!root) return root.error();
  return findAgent(agent::NodePaths(*root, node));
}

// An agent that has ended in order leaves no tenants.
bool hasTenants(const agent::Node& node) {
  const Result<std::string> root = agent::runtimeRoot();
  if (!root) return false;
  std::error_code fault;
  const std::string folder = agent::NodePaths(*root, node).tenants();
  const bool empty = std::filesystem::is_empty(folder, fault);
  return !fault && !empty;
}

}  // namespace

Result<std::vector<agent::EventView>> LocalNodes::readEvents(Followed& followed) {
  Result<agent::Reply> reply =
      followed.link.call(agent::EventsRequest{"", followed.last_event}, kReadMs);
  if (!reply) return reply.error();
  auto* events = std::get_if<agent::EventsReply>(&*reply);
  if (events == nullptr) return Error{ErrorCode::kCorrupt, "the agent did not answer with events"};
  const bool other = followed.agent_pid != events->agent_pid;
  const bool again = other && followed.last_event != 0;
  followed.agent_pid = events->agent_pid;
  followed.last_event = again ? 0 : events->last;
  // Another agent took over, and counts from 1.
  if (again) return readEvents(followed);
  return std::move(events->events);
}

console::NodeReading LocalNodes::readNode(const agent::Node& node) {
  console::NodeReading reading;
  reading.node = node.name;
  Followed& followed = followed_[node.name];
  const auto failed = [&](const Error& error) {
    followed.link.close();
    reading.failure = error.message();
    return reading;
  };
  if (!followed.link.open()) {
    Result<AgentLink> link = connectTo(node);
    if (!link) return failed(link.error());
    followed.link = std::move(*link);
  }
  Result<agent::Reply> reply = followed.link.call(agent::ListRequest{}, kReadMs);
  if (!reply) return failed(reply.error());
  auto* snapshot = std::get_if<agent::SnapshotReply>(&*reply);
  if (snapshot == nullptr)
    return failed({ErrorCode::kCorrupt, "the agent did not answer with a snapshot"});
  Result<std::vector<agent::EventView>> events = readEvents(followed);
  if (!events) return failed(events.error());
  reading.snapshot = std::move(snapshot->snapshot);
  reading.events = std::move(*events);
  return reading;
}

std::vector<console::NodeReading> LocalNodes::read() {
  std::vector<console::NodeReading> readings;
  for (const agent::Node& node : runningNodes(sim_)) {
    console::NodeReading reading = readNode(node);
    // It has ended in order: there is nothing to show of it.
    if (!reading.snapshot && !hasTenants(node)) continue;
    readings.push_back(std::move(reading));
  }
  std::erase_if(followed_, [&](const auto& entry) {
    return std::none_of(readings.begin(), readings.end(),
                        [&](const auto& reading) { return reading.node == entry.first; });
  });
  std::sort(readings.begin(), readings.end(),
            [](const auto& a, const auto& b) { return a.node < b.node; });
  return readings;
}

Result<agent::Reply> LocalNodes::callOnce(const std::string& name, const agent::Request& request) {
  for (const agent::Node& node : runningNodes(sim_)) {
    if (!name.empty() && node.name != name) continue;
    Result<AgentLink> link = connectTo(node);
    if (!link) return link.error();
    return link->call(request, kCallMs);
  }
  if (name.empty())
    return Error{ErrorCode::kUnavailable, "no agent is running; divvy run and divvy top start one"};
  return Error{ErrorCode::kNotFound, "no agent of node \"" + name + "\" is running"};
}

Result<agent::ExplainReply> LocalNodes::explain(const std::string& node,
                                                const agent::RunRequest& request) {
  Result<agent::Reply> reply = callOnce(node, agent::ExplainRequest{request});
  if (!reply) return reply.error();
  auto* explained = std::get_if<agent::ExplainReply>(&*reply);
  if (explained != nullptr) return std::move(*explained);
  return Error{ErrorCode::kCorrupt, "the agent did not answer with an explanation"};
}

Result<void> LocalNodes::change(const std::string& node, const agent::SetRequest& request) {
  const Result<agent::Reply> reply = callOnce(node, request);
  if (!reply) return reply.error();
  return {};
}

}  // namespace divvy::cli
