// `divvy events`.
#include <poll.h>

#include <array>
#include <cstdio>
#include <ctime>
#include <map>

#include "agent_client/node_selection.h"
#include "commands/commands.h"
#include "view/events_view.h"
#include "view/terminal.h"

namespace divvy::cli {
namespace {

constexpr int kPollMs = 1000;

std::string localTime(std::int64_t ms) {
  const std::time_t when = ms / 1000;
  std::tm local{};
  localtime_r(&when, &local);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%m-%d %H:%M:%S", &local);
  return text.data();
}

// The position in the events of one node's agent.
struct EventCursor {
  int agent_pid = 0;
  std::uint64_t last = 0;
};
using EventCursors = std::map<std::string, EventCursor>;

Result<void> collect(NodeLink& node, const std::string& tenant, EventCursors* cursors,
                     NodeEvents* out) {
  EventCursor& cursor = (*cursors)[node.node.name];
  const Result<agent::Reply> reply = node.link.call(agent::EventsRequest{tenant, cursor.last});
  if (!reply) return reply.error();
  const auto* events = std::get_if<agent::EventsReply>(&*reply);
  if (events == nullptr) return Error{ErrorCode::kCorrupt, "the agent did not answer with events"};
  if (cursor.agent_pid != events->agent_pid && cursor.last != 0) {
    // Another agent took over, and counts from 1.
    cursor = {events->agent_pid, 0};
    return collect(node, tenant, cursors, out);
  }
  cursor = {events->agent_pid, events->last};
  for (const agent::EventView& event : events->events) out->emplace_back(node.node.name, event);
  return {};
}

void print(const NodeEvents& node_events, const EventsOptions& options) {
  if (options.output.json) {
    std::fputs(agent::eventsJson(node_events, options.follow).c_str(), stdout);
  } else if (options.follow) {
    for (const auto& [node, event] : node_events)
      std::printf("%s\n", eventLine(event, localTime).c_str());
  } else if (!node_events.empty()) {
    std::fputs(eventsTable(node_events, localTime, options.output.headers, 0).c_str(), stdout);
  }
  std::fflush(stdout);
}

}  // namespace

int events(const EventsOptions& options) {
  if (options.sim) {
    const Result<agent::Node> node = nodeForRun(options.sim);
    if (!node) return fail(node.error());
  }
  EventCursors cursors;
  for (;;) {
    Result<std::vector<NodeLink>> links = linkRunning(options.sim);
    if (!links) return fail(links.error());
    if (links->empty() && !options.follow)
      std::fprintf(stderr,
                   "divvy: no agent runs here, so there are no events; divvy run and divvy agent "
                   "start one\n");
    NodeEvents node_events;
    for (NodeLink& node : *links) {
      const Result<void> got = collect(node, options.tenant, &cursors, &node_events);
      // While following, agents may end and start.
      if (!got && !options.follow) return fail(got.error());
    }
    sortByTime(node_events);
    print(node_events, options);
    // A misspelt name has the same result as a tenant without events.
    if (!options.follow && !options.tenant.empty() && node_events.empty() && !links->empty())
      std::fprintf(stderr, "divvy: no events of \"%s\"; divvy events lists events of all tenants\n",
                   options.tenant.c_str());
    if (!options.follow || std::ferror(stdout) != 0) return 0;
    poll(nullptr, 0, kPollMs);
  }
}

}  // namespace divvy::cli
