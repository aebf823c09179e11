// `divvy resize`, `divvy wait`, `divvy stop`.
#include <poll.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <optional>

#include "agent_client/node_selection.h"
#include "commands/commands.h"

namespace divvy::cli {
namespace {

Error noSuchTenant(const std::string& tenant) {
  return {ErrorCode::kNotFound,
          "no tenant \"" + tenant + "\" is running; divvy ls lists running tenants"};
}

// Sends the request to each running agent until one knows the tenant.
Result<agent::Reply> callAll(const agent::Request& request, const std::string& tenant,
                             const SimChoice& sim, int timeout_ms) {
  Result<std::vector<NodeLink>> links = linkRunning(sim);
  if (!links) return links.error();
  for (NodeLink& node : *links) {
    Result<agent::Reply> reply = node.link.call(request, timeout_ms);
    if (reply || reply.error().code() != ErrorCode::kNotFound) return reply;
  }
  return noSuchTenant(tenant);
}

using Clock = std::chrono::steady_clock;

// Time left until the deadline, for poll.
int remaining(const std::optional<Clock::time_point>& deadline) {
  if (!deadline) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(*deadline - Clock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, INT32_MAX));
}

// If an agent ends without a reply, its successor is asked after this pause.
constexpr int kPauseMs = 200;

}  // namespace

int set(const SetOptions& options) {
  agent::SetRequest request;
  request.tenant = options.tenant;
  request.has_memory = options.memory.has_value();
  if (options.memory) request.memory = *options.memory;
  request.cores = options.cores;
  request.cores_policy = options.cores_policy;
  request.priority = options.priority;
  request.name = options.name;
  request.guaranteed = options.guaranteed;
  request.on_pressure = options.on_pressure;
  request.pressure_wait_ms = options.pressure_wait_ms;
  request.idle = options.idle;
  const Result<agent::Reply> reply =
      callAll(request, options.tenant, options.sim, AgentLink::kPatienceMs);
  if (!reply) return fail(reply.error());
  if (const auto* done = std::get_if<agent::DoneReply>(&*reply)) printNote(done->note);
  return 0;
}

int wait(const WaitOptions& options) {
  std::optional<Clock::time_point> deadline;
  if (options.timeout_ms != 0)
    deadline = Clock::now() + std::chrono::milliseconds(options.timeout_ms);
  const agent::Request request = agent::WaitRequest{options.tenant};
  bool known = options.tenant.empty();  // the tenant was seen, or all tenants are meant
  for (;;) {
    bool gone = false;
    Result<std::vector<NodeLink>> links = linkRunning(options.sim);
    if (!links) return fail(links.error());
    for (NodeLink& node : *links) {
      const Result<agent::Reply> reply = node.link.call(request, remaining(deadline));
      if (reply && !options.tenant.empty()) return 0;
      if (reply || reply.error().code() == ErrorCode::kNotFound) continue;
      if (remaining(deadline) == 0) {
        return fail({ErrorCode::kUnavailable, "still running at the end of --timeout"});
      }
      gone = known = true;
    }
    if (!gone && known) return 0;
    if (!gone) return fail(noSuchTenant(options.tenant));
    poll(nullptr, 0, kPauseMs);
  }
}

int stop(const StopOptions& options) {
  Result<std::vector<NodeLink>> links = linkRunning(options.sim);
  if (!links) return fail(links.error());
  int status = 0;
  for (NodeLink& node : *links) {
    const Result<agent::Reply> reply = node.link.call(agent::StopRequest{options.force});
    if (!reply) {
      status = fail(reply.error());
      continue;
    }
    // When the agent hangs up, it has ended and removed its files.
    static_cast<void>(node.link.receive(AgentLink::kPatienceMs));
  }
  return status;
}

}  // namespace divvy::cli
