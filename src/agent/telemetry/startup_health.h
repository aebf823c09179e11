// The health endpoint while a node's agent still waits for its helper or a driver: it answers that
// the agent is alive. Private.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "agent/agent.h"
#include "http/server.h"
#include "os/asio.h"

namespace divvy::agent {

// Paths of the probes, at the metrics' address.
inline constexpr const char* kAlivePath = "/healthz";
inline constexpr const char* kReadyPath = "/readyz";

// For one thread. Its address is free again after destruction.
class StartupHealth {
 public:
  // Nothing: no probes.
  explicit StartupHealth(std::optional<MetricsOptions> where) : where_(std::move(where)) {}

  // Returns whether a signal to end came within that time. `what`: the missing part; it is logged
  // once.
  bool endsWithin(std::chrono::seconds time, const std::string& what);

 private:
  void listen();

  std::optional<MetricsOptions> where_;
  std::string what_;
  asio::io_context loop_{1};
  std::unique_ptr<http::Server> server_;
};

}  // namespace divvy::agent
