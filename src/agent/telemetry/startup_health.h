// What a node's agent waits for before it is one: its helper, a driver. Whoever looks after it is
// told that it lives meanwhile. Private.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "agent/agent.h"
#include "http/server.h"
#include "os/asio.h"

namespace divvy::agent {

// By what those who look after agents ask at the metrics' address.
inline constexpr const char* kAlivePath = "/healthz";
inline constexpr const char* kReadyPath = "/readyz";

// For one thread. Its address is free again when it is gone.
class StartupHealth {
 public:
  // Nothing: nobody looks after it.
  explicit StartupHealth(std::optional<MetricsOptions> where) : where_(std::move(where)) {}

  // Whether it was told to end within that time. `what`: it waits for; the log has it once.
  bool endsWithin(std::chrono::seconds time, const std::string& what);

 private:
  void listen();

  std::optional<MetricsOptions> where_;
  std::string what_;
  asio::io_context loop_{1};
  std::unique_ptr<http::Server> server_;
};

}  // namespace divvy::agent
