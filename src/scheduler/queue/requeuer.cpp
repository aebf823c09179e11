#include "queue/requeuer.h"

#include <chrono>
#include <utility>
#include <vector>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "asio/rethrow.h"
#include "events/requeue_patch.h"
#include "log/log.h"
#include "runtime/clock.h"
#include "runtime/log.h"

namespace divvy::scheduler {
namespace {

namespace asio = boost::asio;

// From the first change to the next check of waiting pods.
constexpr std::chrono::milliseconds kGather{20};
// At a time: each is a write.
constexpr std::size_t kMaxKicked = 16;

}  // namespace

Requeuer::Requeuer(asio::any_io_executor executor, kube::Client& client, SchedulerCache& cache,
                   Counters& counts, std::function<std::string()> why_not)
    : executor_(std::move(executor)),
      client_(client),
      cache_(cache),
      counts_(counts),
      why_not_(std::move(why_not)) {}

void Requeuer::requeueSoon() {
  if (looking_ || !cache_.pods().mayRequeue(now()) || !why_not_().empty()) return;
  looking_ = true;
  asio::co_spawn(executor_, requeue(), rethrow);
}

asio::awaitable<void> Requeuer::requeue() {
  asio::steady_timer pause(executor_, kGather);
  co_await pause.async_wait(asio::as_tuple(asio::use_awaitable));
  looking_ = false;
  if (!why_not_().empty()) co_return;
  const std::vector<PodRef> fitting = cache_.popSchedulable(kMaxKicked, now());
  for (const PodRef& one : fitting) {
    if (!why_not_().empty()) co_return;
    kube::Call call = requeuePatch(one);
    call.still = [this] { return why_not_().empty(); };
    const Result<boost::json::value> requeued = co_await client_.ask(std::move(call));
    if (requeued) ++counts_.kicked;
    if (!requeued && requeued.error().code() != ErrorCode::kNotFound)
      log::warn("cannot requeue a pod", {{"pod", one.namespace_name + '/' + one.name},
                                         {"error", requeued.error().message()}});
  }
}

}  // namespace divvy::scheduler
