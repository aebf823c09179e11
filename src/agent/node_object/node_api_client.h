// The API server's client of a node's agent. Private.
#pragma once

#include <memory>
#include <string>

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include "agent/cluster_node.h"
#include "base/result.h"
#include "kube/client.h"
#include "kube/informer.h"
#include "os/asio.h"
#include "os/shutdown_state.h"

namespace divvy::agent {

// Only on the loop's thread. The arguments must outlive it. It is destroyed only when no call runs
// or the loop runs no more.
class NodeApiClient {
 public:
  using Reply = Result<boost::json::value>;

  NodeApiClient(asio::io_context& loop, const ClusterNode& cluster, const ShutdownState& shutdown)
      : loop_(loop), cluster_(cluster), shutdown_(shutdown) {}

  // Call once, before all other functions. Errors: those of kube::Client::make().
  Result<void> open();
  // Starts kube::runReflector() until shutdown. `informer` and all that `handlers` refer to outlive
  // the loop's last run.
  void follow(kube::EventHandlers handlers, kube::Informer& informer);
  // Returns the pod. Errors: those of kube::Client::ask().
  asio::awaitable<Reply> pod(const std::string& namespace_name, const std::string& name);
  // Sends a merge patch {`member`: `value`} of this node's Node object. `subresource`: "" or
  // "/status". Errors: those of kube::Client::ask().
  asio::awaitable<Reply> patchNode(const char* subresource, const char* member,
                                   boost::json::object value);

 private:
  asio::io_context& loop_;
  const ClusterNode& cluster_;
  const ShutdownState& shutdown_;
  std::unique_ptr<kube::Client> client_;
};

}  // namespace divvy::agent
