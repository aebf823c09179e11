// Answers Prometheus, and whoever looks after the agent. Private.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "agent/agent.h"
#include "base/rate_limit.h"
#include "enforcement/limit_bypass_monitor.h"
#include "http/loop_watch.h"
#include "http/server.h"
#include "metrics/lateness.h"
#include "os/asio.h"
#include "telemetry/usage_accounting.h"
#include "tenant/tenant_manager.h"

namespace divvy::agent {

// For the loop's thread.
class Exporter {
 public:
  // All outlives it. `node`: whose samples these are; `look`: everything as it is now, as
  // `divvy ls` has it; `unready`: why nobody can come yet, empty where he can.
  Exporter(TenantManager& tenants, const LimitBypassMonitor& bypass, std::string node,
           std::function<Snapshot()> look, std::function<std::string()> unready);

  // kIo: the address cannot be had.
  Result<void> listen(asio::io_context& loop, const MetricsOptions& where);
  bool listening() const { return server_ != nullptr; }
  // The largest lateness of the loop in the last minute, in ms; -1: nothing listens, nor is
  // measured.
  std::int64_t lateMs() const;
  // Once a second, with what a look at the tenants showed then.
  void tick(const Snapshot& looked, std::uint64_t now_ms);

 private:
  asio::awaitable<http::Answer> answer();
  std::string text() const;

  TenantManager& tenants_;
  const LimitBypassMonitor& bypass_;
  std::string node_;
  bool hami_ = false;
  std::vector<std::string> pod_labels_;
  std::function<Snapshot()> look_;
  std::function<std::string()> unready_;
  UsageAccounting accounts_;
  RateLimit made_{{4, 40}};  // texts for all peers together
  std::string kept_;         // the last one
  metrics::Lateness lateness_;
  std::optional<http::LoopWatch> loop_watch_;
  std::unique_ptr<http::Server> server_;
};

}  // namespace divvy::agent
