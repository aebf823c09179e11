// A connection to an agent, and how one comes to be: found, or started.
#pragma once

#include <string>

#include "agent/node.h"
#include "agent/protocol.h"
#include "base/fd.h"
#include "base/result.h"

namespace divvy::cli {

// One connection. Blocking; not for several threads.
class AgentLink {
 public:
  AgentLink() = default;
  explicit AgentLink(Fd socket) : socket_(std::move(socket)) {}

  bool open() const { return socket_.valid(); }
  int fd() const { return socket_.get(); }
  void close() { socket_.reset(); }

  // kUnavailable when the agent is gone.
  Result<void> send(const agent::Request& request);
  // The next reply; waits at most `timeout_ms` (negative: as long as it takes). kUnavailable when
  // the agent is gone or silent.
  Result<agent::Reply> receive(int timeout_ms);
  // send and receive; an agent that failed the request is an Error with its words.
  Result<agent::Reply> call(const agent::Request& request, int timeout_ms = kPatienceMs);

  static constexpr int kPatienceMs = 30000;

 private:
  Fd socket_;
  std::string buffer_;
};

// Connects to the running agent of a node and hears from it: one on its way out, or just killed,
// may still be connected to. kUnavailable when there is none.
Result<AgentLink> findAgent(const agent::NodePaths& paths);

// Connects to the node's agent and starts one first where there is none. Any number of processes
// may do this at once: one agent results. What this call created is removed again when it fails.
Result<AgentLink> findOrStartAgent(const agent::Node& node);

// The words of a refusal or failure on one line, reasons included.
Error asError(const agent::FailedReply& reply);

}  // namespace divvy::cli
