// Serves metrics to Prometheus, and health to probes. Private.
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

// Only on the loop's thread.
class Exporter {
 public:
  // The arguments must outlive the exporter. `node`: the node of the samples. `look`: the present
  // state, as in `divvy ls`. `unready`: why no request can be served yet; empty: it can.
  Exporter(TenantManager& tenants, const LimitBypassMonitor& bypass, std::string node,
           std::function<Snapshot()> look, std::function<std::string()> unready);

  // kIo: the address cannot be bound.
  Result<void> listen(asio::io_context& loop, const MetricsOptions& where);
  bool listening() const { return server_ != nullptr; }
  // The largest lateness of the loop in the last minute, in ms; -1: no listener, so not measured.
  std::int64_t lateMs() const;
  // Call once a second, with the state of the tenants at that time. `refused`: since the
  // agent started.
  void tick(const Snapshot& looked, const RefusedAllocations& refused, std::uint64_t now_ms);

 private:
  asio::awaitable<http::Answer> answer();
  asio::awaitable<http::Answer> snapshotAnswer();
  std::string text() const;

  TenantManager& tenants_;
  const LimitBypassMonitor& bypass_;
  std::string node_;
  metrics::FurtherNames further_;
  std::vector<std::string> pod_labels_;
  std::function<Snapshot()> look_;
  std::function<std::string()> unready_;
  UsageAccounting accounts_;
  // The last text of an answer, for all peers together.
  struct KeptText {
    RateLimit made{{4, 40}};
    std::string text;
  };
  KeptText metrics_, snapshot_;
  metrics::Lateness lateness_;
  std::optional<http::LoopWatch> loop_watch_;
  std::unique_ptr<http::Server> server_;
};

}  // namespace divvy::agent
