#include "agent_client/share_client.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "agent/process.h"
#include "view/output.h"

namespace divvy::cli {

agent::RunRequest requestOf(const RunOptions& options) {
  agent::RunRequest request;
  request.ask = options.ask;
  request.name = options.name;
  request.priority = options.priority;
  request.enforce = options.enforce;
  request.on_pressure = options.on_pressure;
  request.pressure_wait_ms = options.pressure_wait_ms;
  request.idle = options.idle;
  const char* mps_dir = std::getenv("CUDA_MPS_PIPE_DIRECTORY");
  request.mps_dir = mps_dir == nullptr ? "" : mps_dir;
  request.wait = options.wait;
  request.wait_ms = options.wait_ms;
  request.contained = options.container.has_value();
  request.start_time = agent::startTimeOf(getpid());
  std::size_t left = agent::kMaxCommand;
  for (const std::string& word : options.command) {
    if (word.size() > left) break;
    left -= word.size();
    request.command.push_back(word);
  }
  return request;
}

namespace {

// If agents die one after another, a further one does not help.
constexpr unsigned kRevivals = 5;

Result<agent::GrantedReply> callAgent(AgentLink& link, const agent::RunRequest& request) {
  Result<void> sent = link.send(request);
  if (!sent) return sent.error();
  for (;;) {
    Result<agent::Reply> reply = link.receive(request.wait ? -1 : AgentLink::kPatienceMs);
    if (!reply) return reply.error();
    if (auto* granted = std::get_if<agent::GrantedReply>(&*reply)) {
      for (const std::string& note : granted->notes) printNote(note);
      return std::move(*granted);
    }
    if (auto* failed = std::get_if<agent::FailedReply>(&*reply)) return asError(*failed);
    if (auto* queued = std::get_if<agent::QueuedReply>(&*reply)) {
      const Error why = asError(
          {ErrorCode::kNoRoom, "waiting for capacity, position " + std::to_string(queued->position),
           queued->reasons});
      std::fprintf(stderr, "divvy: %s\n", why.message().c_str());
    }
  }
}

}  // namespace

Result<GrantedShare> requestShare(const agent::RunRequest& request, const agent::Node& node) {
  for (unsigned attempt = 0;; ++attempt) {
    Result<AgentLink> link = findOrStartAgent(node);
    if (!link) return link.error();
    Result<agent::GrantedReply> granted = callAgent(*link, request);
    if (granted) return GrantedShare{std::move(*link), std::move(*granted)};
    if (granted.error().code() != ErrorCode::kUnavailable || attempt == kRevivals)
      return granted.error();
  }
}

}  // namespace divvy::cli
