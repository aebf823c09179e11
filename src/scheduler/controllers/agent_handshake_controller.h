// The handshakes of agents that want them: who reports is asked again, and who was asked and does
// not answer has left. Of vendors' agents only: Divvy's own are known alive by other means.
// Private. Source: facts on the incumbent's control plane, 2.1.
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

// "Requesting_2026-08-21 10:00:00", of local time, as agents have always been told it.
std::string requestText(std::int64_t seconds);

// Asks them, as a JSON patch that changes nothing where an agent has said something else since.
std::string requestPatch(const std::string& uid, const std::map<std::string, std::string>& said,
                         const std::string& text);

// What nodes say, and since when. Pure.
class Handshakes {
 public:
  // After an agent was asked: as long it may go on without an answer.
  static constexpr std::int64_t kPatienceMs = 60'000;

  explicit Handshakes(const vendors::Catalog& catalog) : catalog_(catalog) {}

  // As it is to be believed: of an agent that is silent the handshake reads as if it had left.
  // Silent is who was asked longer ago than that, with none of its devices allocatable.
  kube::Node heard(kube::Node node, engine::Instant now);
  void remove(const std::string& uid) { nodes_.erase(uid); }
  // Nodes of which an agent has become silent since.
  std::vector<kube::Node> fallenSilent(engine::Instant now);

  // Agents that reported and are to be asked again.
  struct PendingHandshake {
    std::string node, uid;
    std::map<std::string, std::string> said;  // by key: what they report
  };
  std::vector<PendingHandshake> due() const;
  // Whether they report that still, as far as we were told.
  bool stands(const PendingHandshake& due) const;

 private:
  struct Said {
    std::string text;
    engine::Instant since{};  // it has been seen to say so
    bool usable = false;      // some of its devices are allocatable
    bool silent = false;
  };
  struct Known {
    kube::Node node;
    std::map<std::string, Said> said;  // by key
  };
  kube::Node believed(const Known& known) const;

  const vendors::Catalog& catalog_;
  std::map<std::string, Known> nodes_;  // by UID: those with handshakes
};

// For one thread, that of the client. All outlives it.
class AgentHandshakeController {
 public:
  struct Options {
    bool writes = true;                              // asks agents again
    std::function<std::string()> why_not;            // why nothing is written here now
    std::function<void(const kube::Node&)> believe;  // a node that says something else now
    const bool* stopped = nullptr;
  };
  AgentHandshakeController(boost::asio::any_io_executor executor, kube::Client& client,
                           const vendors::Catalog& catalog, Options options);

  void start();
  // As Handshakes has it.
  kube::Node heard(kube::Node node);
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
