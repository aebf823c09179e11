// Answers Prometheus. Private.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "http/server.h"
#include "scheduler/cache.h"
#include "telemetry/metrics.h"

namespace divvy::scheduler {

// For the thread of the executor that its route is served on, but for the text: that is put
// together by a thread of its own, so that nobody who wants a place waits for it.
class Exporter {
 public:
  struct Options {
    bool hami = false;  // also under HAMi's names, and pod by pod
    std::function<bool()> ready;
    std::function<std::uint64_t()> api_calls;
  };
  // All outlive it. From now on it notes how late `loop` is, which its route is served on.
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
