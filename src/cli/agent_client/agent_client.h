// A connection to an agent, which is found or started.
#pragma once

#include <string>

#include "agent/node.h"
#include "agent/protocol.h"
#include "base/fd.h"
#include "base/result.h"

namespace divvy::cli {

// One connection. Calls block. For one thread at a time.
class AgentLink {
 public:
  AgentLink() = default;
  explicit AgentLink(Fd socket) : socket_(std::move(socket)) {}

  bool open() const { return socket_.valid(); }
  int fd() const { return socket_.get(); }
  void close() { socket_.reset(); }

  // kUnavailable: the agent has ended.
  Result<void> send(const agent::Request& request);
  // Returns the next reply. Waits `timeout_ms` at most; negative: without limit. kUnavailable: the
  // agent has ended or does not reply.
  Result<agent::Reply> receive(int timeout_ms);
  // Sends and receives. A failed request is an Error with the agent's message.
  Result<agent::Reply> call(const agent::Request& request, int timeout_ms = kPatienceMs);

  static constexpr int kPatienceMs = 30000;

 private:
  Fd socket_;
  std::string buffer_;
};

// Connects to the running agent of a node and waits for a reply. An agent that is ending or was
// killed may still accept connections. kUnavailable: there is none.
Result<AgentLink> findAgent(const agent::NodePaths& paths);

// Connects to the node's agent; starts one if there is none. Several processes may call it at once,
// and one agent results. On failure it removes what it created.
Result<AgentLink> findOrStartAgent(const agent::Node& node);

// Returns a refusal or failure as one line, with reasons.
Error asError(const agent::FailedReply& reply);

}  // namespace divvy::cli
