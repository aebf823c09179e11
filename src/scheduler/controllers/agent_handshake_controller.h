// Handshakes with vendors' agents: an agent that reports is asked to report again, and an agent
// that does not answer counts as gone. Divvy's own agents need no handshake. Private. Source: facts
// on the incumbent's control plane, 2.1.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include "engine/units.h"
#include "kube/client.h"
#include "kube/node.h"
#include "vendors/catalog.h"

namespace divvy::scheduler {

// Returns the text of a request, "Requesting_2026-08-21 10:00:00": in local time, as these agents
// expect. `seconds`: since 1970.
std::string requestText(std::int64_t seconds);

// Returns a JSON patch that writes `text` over the handshakes in `said`. The API server rejects it
// if the node's UID or one of the handshakes has changed.
std::string requestPatch(const std::string& uid, const std::map<std::string, std::string>& said,
                         const std::string& text);

// Handshakes of nodes, and since when each is unchanged. Pure.
class Handshakes {
 public:
  // Time in which an agent has to answer a request, in ms.
  static constexpr std::int64_t kPatienceMs = 60'000;

  explicit Handshakes(const vendors::Catalog& catalog) : catalog_(catalog) {}

  // Adds or updates a node. Returns it with the handshakes of silent agents as if these had left.
  // An agent is silent if a request is older than kPatienceMs and none of its devices is
  // allocatable.
  kube::Node observe(kube::Node node, engine::Instant now);
  void remove(const std::string& uid) { nodes_.erase(uid); }
  // Returns the nodes with an agent that has become silent since the last call, as observe() would.
  std::vector<kube::Node> fallenSilent(engine::Instant now);

  // A node with agents that reported and are to be asked again.
  struct PendingHandshake {
    std::string node, uid;
    std::map<std::string, std::string> said;  // reports by annotation key
  };
  std::vector<PendingHandshake> due() const;
  // Returns true if the node's last known reports are still the same.
  bool stands(const PendingHandshake& due) const;

 private:
  struct Said {
    std::string text;
    engine::Instant since{};  // first observed
    bool usable = false;      // a device of the agent is allocatable
    bool silent = false;
  };
  struct Known {
    kube::Node node;
    std::map<std::string, Said> said;  // by key
  };
  kube::Node withoutSilentAgents(const Known& known) const;

  const vendors::Catalog& catalog_;
  std::map<std::string, Known> nodes_;  // nodes with handshakes, by UID
};

// For the client's thread only. All arguments outlive it.
class AgentHandshakeController {
 public:
  struct Options {
    bool writes = true;                    // ask agents to report again
    std::function<std::string()> why_not;  // why this replica does not write now; empty: it does
    std::function<void(const kube::Node&)> on_silent;  // called with each of fallenSilent()
    const bool* stopped = nullptr;
  };
  AgentHandshakeController(boost::asio::any_io_executor executor, kube::Client& client,
                           const vendors::Catalog& catalog, Options options);

  // Starts the periodic work. Call once.
  void start();
  // As Handshakes::observe.
  kube::Node observe(kube::Node node);
  void remove(const std::string& uid) { handshakes_.remove(uid); }

 private:
  boost::asio::awaitable<void> run();
  boost::asio::awaitable<void> ask(Handshakes::PendingHandshake due);

  boost::asio::any_io_executor executor_;
  kube::Client& client_;
  Options options_;
  Handshakes handshakes_;
};

}  // namespace divvy::scheduler
