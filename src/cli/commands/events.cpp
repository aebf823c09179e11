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

constexpr int kLookAgainMs = 1000;

std::string localTime(std::int64_t ms) {
  const std::time_t when = ms / 1000;
  std::tm local{};
  localtime_r(&when, &local);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%m-%d %H:%M:%S", &local);
  return text.data();
}

// The position in the events of one node's agent.
struct Place {
  int agent_pid = 0;
  std::uint64_t last = 0;
};
using Places = std::map<std::string, Place>;

Result<void> collect(NodeLink& node, const std::string& tenant, Places* places, Happenings* out) {
  Place& place = (*places)[node.node.name];
  const Result<agent::Reply> reply = node.link.call(agent::EventsRequest{tenant, place.last});
  if (!reply) return reply.error();
  const auto* events = std::get_if<agent::EventsReply>(&*reply);
  if (events == nullptr) return Error{ErrorCode::kCorrupt, "the agent did not answer with events"};
  if (place.agent_pid != events->agent_pid && place.last != 0) {
    // Another agent took over, and counts from 1.
    place = {events->agent_pid, 0};
    return collect(node, tenant, places, out);
  }
  place = {events->agent_pid, events->last};
  for (const agent::EventView& event : events->events) out->emplace_back(node.node.name, event);
  return {};
}

void print(const Happenings& happenings, const EventsOptions& options) {
  if (options.output.json) {
    std::fputs(agent::eventsJson(happenings, options.follow).c_str(), stdout);
  } else if (options.follow) {
    for (const auto& [node, event] : happenings)
      std::printf("%s\n", eventLine(event, localTime).c_str());
  } else if (!happenings.empty()) {
    std::fputs(eventsTable(happenings, localTime, options.output.headers, 0).c_str(), stdout);
  }
  std::fflush(stdout);
}

}  // namespace

int events(const EventsOptions& options) {
  if (options.sim) {
    const Result<agent::Node> node = nodeForRun(options.sim);
    if (!node) return fail(node.error());
  }
  Places places;
  for (;;) {
    Result<std::vector<NodeLink>> links = linkRunning(options.sim);
    if (!links) return fail(links.error());
    Happenings happenings;
    for (NodeLink& node : *links) {
      const Result<void> got = collect(node, options.tenant, &places, &happenings);
      // While following, agents may end and start.
      if (!got && !options.follow) return fail(got.error());
    }
    sortByTime(happenings);
    print(happenings, options);
    // A misspelt name has the same result as a tenant without events.
    if (!options.follow && !options.tenant.empty() && happenings.empty())
      std::fprintf(stderr, "divvy: no events of \"%s\"; divvy events has those of all\n",
                   options.tenant.c_str());
    if (!options.follow || std::ferror(stdout) != 0) return 0;
    poll(nullptr, 0, kLookAgainMs);
  }
}

}  // namespace divvy::cli
