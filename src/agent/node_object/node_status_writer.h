// Writes the capacity that the agent publishes into the status of its Node object. Private.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <utility>

#include "agent/cluster_node.h"
#include "node_object/node_api_client.h"
#include "node_object/node_capacity.h"
#include "os/asio.h"
#include "os/shutdown_state.h"

namespace divvy::agent {

// Only on the loop's thread.
class NodeStatusWriter {
 public:
  // Its references outlive the loop's last run.
  struct Inputs {
    asio::io_context& loop;
    const ClusterNode& cluster;
    const std::set<std::string>& resources;  // as in NodeCapacity
    NodeApiClient& api;
    const ShutdownState& shutdown;
    std::function<bool()> may_publish;  // while false, the status counts as up to date
    std::function<void()> written;      // called after each successful write
  };
  explicit NodeStatusWriter(Inputs inputs)
      : inputs_(std::move(inputs)), capacity_(inputs_.resources) {}

  // As NodeCapacity.
  void want(NodeCapacity::Amounts wanted) { capacity_.want(std::move(wanted)); }
  void onNodeUpdate(const kube::Node& node) { capacity_.onNodeUpdate(node); }
  std::set<std::string> announced() const { return capacity_.announced(); }
  // Starts to write the status, unless it is as wanted or is being written. A failed write is
  // logged and repeated after 5 s, later after up to 300 s.
  void write();

 private:
  bool upToDate() const { return !inputs_.may_publish() || capacity_.upToDate(); }
  asio::awaitable<void> writeUntilUpToDate();

  const Inputs inputs_;
  NodeCapacity capacity_;
  bool writing_ = false;
};

}  // namespace divvy::agent
