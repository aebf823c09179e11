// The endpoint /metrics for Prometheus. Private.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "http/server.h"
#include "scheduler/cache.h"
#include "telemetry/metrics.h"

namespace divvy::scheduler {

// For the event loop's thread only. A separate thread composes the text, so that /filter does not
// wait for it.
class Exporter {
 public:
  struct Options {
    metrics::FurtherNames further;             // other systems' names: for each pod, too
    std::function<bool()> ready;               // true: this replica schedules now
    std::function<std::uint64_t()> api_calls;  // number of calls of the API server
  };
  // All arguments outlive it. Starts to measure how late `loop` is, which serves the route.
  Exporter(boost::asio::any_io_executor loop, const SchedulerCache& cache, const Counters& counts,
           Options options);
  ~Exporter();

  http::Route route();  // GET /metrics

 private:
  boost::asio::awaitable<http::Answer> answer() const;

  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace divvy::scheduler
