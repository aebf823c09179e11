// The agents of this machine, as the console reads them.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "agent_client/node_selection.h"
#include "console/node_source.h"

namespace divvy::cli {

// Keeps a connection to each running agent, and reconnects when an agent has ended. Threads: as
// console::NodeSource states.
class LocalNodes final : public console::NodeSource {
 public:
  explicit LocalNodes(SimChoice sim) : sim_(std::move(sim)) {}

  std::vector<console::NodeReading> read() override;
  Result<agent::ExplainReply> explain(const std::string& node,
                                      const agent::RunRequest& request) override;
  Result<void> change(const std::string& node, const agent::SetRequest& request) override;

 private:
  // A connection and the position in the agent's events.
  struct Followed {
    AgentLink link;
    int agent_pid = 0;
    std::uint64_t last_event = 0;
  };

  console::NodeReading readNode(const agent::Node& node);
  Result<std::vector<agent::EventView>> readEvents(Followed& followed);
  Result<agent::Reply> callOnce(const std::string& node, const agent::Request& request);

  SimChoice sim_;
  std::map<std::string, Followed> followed_;
};

}  // namespace divvy::cli
