#include "metrics_endpoint.h"

#include <optional>
#include <utility>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "engine/engine.h"
#include "http/loop_watch.h"
#include "metrics/lateness.h"
#include "runtime/clock.h"

namespace divvy::scheduler {
namespace {

namespace asio = boost::asio;

// Looked at in one go, while whoever wants a place waits.
constexpr std::size_t kNodesAtOnce = 128;

}  // namespace

struct Exporter::Inside {
  const Books& books;
  const Counts& counts;
  Terms terms;
  metrics::Lateness lateness{};
  std::optional<http::LoopWatch> watch{};
  mutable asio::thread_pool writer{1};
};

Exporter::Exporter(asio::any_io_executor loop, const Books& books, const Counts& counts,
                   Terms terms)
    : inside_(new Inside{books, counts, std::move(terms)}) {
  inside_->watch.emplace(std::move(loop), [all = inside_.get()](double late) {
    all->lateness.add(late, static_cast<std::uint64_t>(now().ms));
  });
}

Exporter::~Exporter() {
  inside_->writer.join();
}

http::Route Exporter::route() {
  return {"GET", "/metrics", 0, [this](http::Query) { return answer(); }};
}

asio::awaitable<http::Answer> Exporter::answer() const {
  const auto own = co_await asio::this_coro::executor;
  Seen seen;
  seen.ready = inside_->terms.ready();
  seen.api_calls = inside_->terms.api_calls();
  seen.late = inside_->lateness.all();
  seen.latest = inside_->lateness.largest(static_cast<std::uint64_t>(now().ms));
  seen.waiting = inside_->books.waiting();
  seen.tries = inside_->books.engine().tries();
  seen.closed_nodes = inside_->books.closedNodes();
  seen.surplus_nodes = inside_->books.surplusNodes();
  std::size_t looked_at = 0;
  for (const std::string& node : inside_->books.nodes()) {
    for (DeviceUse& one : inside_->books.devicesOf(node)) seen.devices.push_back(std::move(one));
    if (++looked_at % kNodesAtOnce == 0) co_await asio::post(own, asio::use_awaitable);
  }
  seen.quotas = inside_->books.quotas();
  if (inside_->terms.hami) seen.shares = inside_->books.shares();
  const Counts counts = inside_->counts;
  co_await asio::post(inside_->writer, asio::use_awaitable);
  std::string text = exposition(counts, seen, inside_->terms.hami);
  co_await asio::post(own, asio::use_awaitable);
  co_return http::Answer{200, std::move(text), metrics::kTextType};
}

}  // namespace divvy::scheduler
