// The agents that a console reads. The console owns no connection: its starter implements this.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "agent/protocol.h"
#include "base/result.h"

namespace divvy::console {

// The last answer of one node's agent, or why there is none.
struct NodeReading {
  std::string node;
  std::optional<agent::Snapshot> snapshot;  // absent: the agent did not answer
  std::vector<agent::EventView> events;     // since the reading before, ascending
  std::string failure;                      // empty if `snapshot` is present
};

// Blocking access to the agents. read() is called by one thread; explain() and change() may be
// called by another one at the same time. Each call returns within 10 s.
class NodeSource {
 public:
  virtual ~NodeSource() = default;

  // Reads all agents, in the order of their nodes' names. An agent that does not answer has a
  // reading with its failure.
  virtual std::vector<NodeReading> read() = 0;

  // Asks the agent of `node` (empty: the first one) whether a request would fit. No effect.
  virtual Result<agent::ExplainReply> explain(const std::string& node,
                                              const agent::RunRequest& request) = 0;

  // Changes a running tenant.
  virtual Result<void> change(const std::string& node, const agent::SetRequest& request) = 0;
};

// Returns why a tenant is slow, one sentence each, the most important first.
using WhySlow = std::vector<std::string> (*)(const agent::TenantView&, const agent::Snapshot&);

}  // namespace divvy::console
