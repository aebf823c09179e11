// `divvy set`, `divvy wait`, `divvy stop`.
#include <cstdio>

#include "commands.h"
#include "nodes.h"

namespace divvy::cli {
namespace {

// Sends the request to each running agent until one knows the tenant.
Result<agent::Reply> askAll(const agent::Request& request, const std::string& tenant,
                            const SimChoice& sim, int timeout_ms) {
  for (NodeLink& node : linkRunning(sim)) {
    Result<agent::Reply> reply = node.link.call(request, timeout_ms);
    if (reply || reply.error().code() != ErrorCode::kNotFound) return reply;
  }
  return Error{ErrorCode::kNotFound, "no tenant \"" + tenant + "\"; divvy ls lists them"};
}

int timeoutOf(const WaitOptions& options) {
  if (options.timeout_ms == 0) return -1;
  return static_cast<int>(std::min<std::uint64_t>(options.timeout_ms, INT32_MAX));
}

}  // namespace

int set(const SetOptions& options) {
  agent::SetRequest request;
  request.tenant = options.tenant;
  request.has_memory = options.memory.has_value();
  if (options.memory) request.memory = *options.memory;
  request.cores = options.cores;
  request.name = options.name;
  const Result<agent::Reply> reply =
      askAll(request, options.tenant, options.sim, AgentLink::kPatienceMs);
  return reply ? 0 : fail(reply.error());
}

int wait(const WaitOptions& options) {
  const Error late(ErrorCode::kUnavailable, "still running after the time given");
  if (!options.tenant.empty()) {
    const Result<agent::Reply> reply =
        askAll(agent::WaitRequest{options.tenant}, options.tenant, options.sim, timeoutOf(options));
    if (reply) return 0;
    return fail(reply.error().code() == ErrorCode::kUnavailable ? late : reply.error());
  }
  for (NodeLink& node : linkRunning(options.sim)) {
    const Result<agent::Reply> reply = node.link.call(agent::WaitRequest{}, timeoutOf(options));
    if (!reply) return fail(late);
  }
  return 0;
}

int stop(const StopOptions& options) {
  int status = 0;
  for (NodeLink& node : linkRunning(options.sim)) {
    const Result<agent::Reply> reply = node.link.call(agent::StopRequest{options.force});
    if (!reply) {
      status = fail(reply.error());
      continue;
    }
    // The agent is gone, and with it all it made, when it hangs up.
    static_cast<void>(node.link.receive(AgentLink::kPatienceMs));
  }
  return status;
}

}  // namespace divvy::cli
