// Carries out an agent's requests.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "helper/server.h"
#include "wire.h"

namespace divvy::helper {

// Returns whether a name is one of ours among the kubelet's sockets: "divvy-....sock".
bool isSocketName(std::string_view name);
// Returns whether a name is one of ours among the runtime's CDI specs: "divvy.dev-pod-....json".
bool isSpecName(std::string_view name);

// Used from any thread. One request at a time waits for the driver; other requests for devices get
// kUnavailable meanwhile.
class RequestHandler {
 public:
  explicit RequestHandler(const ServerOptions& options) : options_(options) {}

  // `caller_pid` is the PID of the connection's peer.
  Result<Reply> reply(const ReceivedRequest& request, int caller_pid);

 private:
  Result<Reply> hello(int caller_pid) const;
  Result<Reply> lendAll() const;
  Result<Reply> ofSockets(const RequestPacket& packet);
  Result<Reply> ofDevice(const RequestPacket& packet);
  Result<unsigned> indexOf(const std::string& uuid);
  Result<Reply> writeSpec(const std::string& name, const Fd& from) const;
  Result<Reply> removeSpec(const std::string& name) const;

  const ServerOptions& options_;
  std::mutex driver_mutex_;  // guards the two members below
  std::optional<driver::Nvml> driver_;
  std::map<std::string, unsigned> indexes_;  // by UUID
};

}  // namespace divvy::helper
