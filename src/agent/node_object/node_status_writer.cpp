#include "node_object/node_status_writer.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include <boost/json.hpp>

#include "kube/device_list.h"
#include "log/log.h"

namespace divvy::agent {
namespace {

namespace json = boost::json;

constexpr std::chrono::seconds kFirstPause{5};
constexpr std::chrono::seconds kLongestPause{300};

}  // namespace

void NodeStatusWriter::write() {
  if (writing_ || upToDate()) return;
  writing_ = true;
  asio::co_spawn(inputs_.loop, writeUntilUpToDate(), rethrow);
}

// The kubelet derives the allocatable amounts from the capacity a few seconds later.
asio::awaitable<void> NodeStatusWriter::writeUntilUpToDate() {
  std::chrono::seconds again = kFirstPause;
  while (!inputs_.shutdown.begun() && !upToDate()) {
    const NodeCapacity::Amounts now = capacity_.wanted();
    const std::set<std::string> withdrawn = capacity_.withdrawn();
    json::object capacity;
    for (const auto& [name, value] : now) capacity[name] = std::to_string(value);
    for (const std::string& name : withdrawn) capacity[name] = nullptr;
    json::object status{{"capacity", capacity}, {"allocatable", capacity}};
    const NodeApiClient::Reply done =
        co_await inputs_.api.patchNode("/status", "status", std::move(status));
    if (done) {
      capacity_.written(now);
      again = kFirstPause;
      inputs_.written();
      continue;
    }
    // Pauses grow: the agent may lack the right to write it.
    log::warn("cannot write the node's status",
              {{"node", inputs_.cluster.name},
               {"error", done.error().message()},
               {"still_announced", withdrawn.empty() ? "none" : kube::encodeDevices(withdrawn)}});
    asio::steady_timer pause(inputs_.loop, again);
    co_await pause.async_wait(kNoThrow);
    again = std::min(again * 2, kLongestPause);
  }
  writing_ = false;
}

}  // namespace divvy::agent
