#include "metrics_endpoint.h"

#include <optional>
#include <utility>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "base/http_status.h"
#include "engine/engine.h"
#include "http/loop_watch.h"
#include "metrics/lateness.h"
#include "runtime/clock.h"

namespace divvy::scheduler {
namespace {

namespace asio = boost::asio;

// Read at a time, while pods wait for a placement.
constexpr std::size_t kNodesAtOnce = 128;

}  // namespace

struct Exporter::Impl {
  const SchedulerCache& cache;
  const Counters& counts;
  Options options;
  metrics::Lateness lateness{};
  std::optional<http::LoopWatch> watch{};
  mutable asio::thread_pool writer{1};
};

Exporter::Exporter(asio::any_io_executor loop, const SchedulerCache& cache, const Counters& counts,
                   Options options)
    : impl_(new Impl{cache, counts, std::move(options)}) {
  impl_->watch.emplace(std::move(loop), [all = impl_.get()](double late) {
    all->lateness.add(late, static_cast<std::uint64_t>(now().ms));
  });
}

Exporter::~Exporter() {
  impl_->writer.join();
}

http::Route Exporter::route() {
  return {"GET", "/metrics", 0, [this](http::Query) { return answer(); }};
}

asio::awaitable<http::Answer> Exporter::answer() const {
  const auto own = co_await asio::this_coro::executor;
  ClusterSample seen;
  seen.ready = impl_->options.ready();
  seen.api_calls = impl_->options.api_calls();
  seen.late = impl_->lateness.all();
  seen.latest = impl_->lateness.largest(static_cast<std::uint64_t>(now().ms));
  seen.waiting = impl_->cache.pods().waiting();
  seen.tries = impl_->cache.pods().engine().tries();
  seen.closed_nodes = impl_->cache.nodes().closedNodes();
  seen.surplus_nodes = impl_->cache.nodes().surplusNodes();
  std::size_t looked_at = 0;
  for (const std::string& node : impl_->cache.nodes().names()) {
    for (DeviceUsage& one : impl_->cache.nodes().devicesOf(node))
      seen.devices.push_back(std::move(one));
    if (++looked_at % kNodesAtOnce == 0) co_await asio::post(own, asio::use_awaitable);
  }
  seen.quotas = impl_->cache.pods().quotas();
  if (impl_->options.further.compat) seen.shares = impl_->cache.pods().shares();
  const Counters counts = impl_->counts;
  co_await asio::post(impl_->writer, asio::use_awaitable);
  std::string text = exposition(counts, seen, impl_->options.further);
  co_await asio::post(own, asio::use_awaitable);
  co_return http::Answer{http_status::kOk, std::move(text), metrics::kTextType};
}

}  // namespace divvy::scheduler
