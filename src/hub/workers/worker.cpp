#include "workers/worker.h"

#include <utility>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "base/http_status.h"
#include "hub/capacity_report.h"
#include "log/log.h"

namespace divvy::hub {
namespace {

namespace asio = boost::asio;

constexpr std::chrono::seconds kEvery{5}, kFreshFor{15}, kKnownFor{60};
// Only one of a scheduler's replicas leads, and the Service chooses one by chance.
constexpr unsigned kTries = 8;
// No further try after that time. A worker that does not answer keeps a round of the dispatcher for
// 5 s at most: a try connects and asks for 2 s each.
constexpr std::chrono::seconds kTryFor{1};
// A report has 8 KiB, an answer about 128 workloads 64 KiB.
constexpr std::uint64_t kMaxAnswer = 256u << 10;
constexpr kube::ClientOptions kTerms{20, 40, std::chrono::seconds(2), 1};

}  // namespace

const char* nameOf(WorkerState state) {
  switch (state) {
    case WorkerState::kFresh:
      return "fresh";
    case WorkerState::kStale:
      return "stale";
    case WorkerState::kUnknown:
      break;
  }
  return "unknown";
}

Result<std::unique_ptr<Worker>> Worker::make(asio::any_io_executor executor, const HubOptions& hub,
                                             const WorkerOptions& options) {
  Result<std::unique_ptr<kube::Client>> client =
      kube::Client::make(executor, options.access, kTerms);
  if (!client) return Error(client.error()).context("cluster " + options.name);
  return std::unique_ptr<Worker>(new Worker(std::move(executor), hub, options, std::move(*client)));
}

Worker::Worker(asio::any_io_executor executor, const HubOptions& hub, const WorkerOptions& options,
               std::unique_ptr<kube::Client> client)
    : executor_(std::move(executor)),
      name_(options.name),
      price_(options.price),
      path_("/api/v1/namespaces/" + hub.scheduler_namespace + "/services/" + hub.scheduler_service +
            ":metrics/proxy"),
      client_(std::move(client)) {}

WorkerState Worker::state() const {
  const std::optional<Clock::duration> age = this->age();
  if (!age || *age > kKnownFor) return WorkerState::kUnknown;
  return *age > kFreshFor ? WorkerState::kStale : WorkerState::kFresh;
}

std::optional<Worker::Clock::duration> Worker::age() const {
  if (!read_at_) return std::nullopt;
  return Clock::now() - *read_at_;
}

asio::awaitable<Result<kube::Reply>> Worker::send(kube::Verb verb, const char* what,
                                                  std::string body) {
  Result<kube::Reply> reply = Error{ErrorCode::kUnavailable, "no answer"};
  const auto begun = Clock::now();
  for (unsigned tried = 0; tried < kTries && Clock::now() < begun + kTryFor; ++tried) {
    kube::Call call{verb, path_ + what, body};
    call.max_reply = kMaxAnswer;
    reply = co_await client_->send(std::move(call));
    if (!reply || reply->status != http_status::kServiceUnavailable) break;
  }
  co_return reply;
}

Result<std::string> Worker::bodyOf(Result<kube::Reply> reply) {
  if (reply && reply->good()) return std::move(reply->body);
  const Error error = reply ? kube::errorOf(*reply) : reply.error();
  return Error{error.code(), shortened(error.message())};
}

asio::awaitable<void> Worker::read() {
  Result<kube::Reply> reply = co_await send(kube::Verb::kGet, "/capacity", "");
  const Result<std::string> text = bodyOf(std::move(reply));
  Result<boost::json::object> report =
      text ? reportOf(*text) : Result<boost::json::object>(text.error());
  ++(report ? counts_.reports : counts_.failed_reports);
  std::string problem = report ? "" : report.error().message();
  if (problem != problem_) {
    if (report) {
      log::info("the cluster answers", {{"cluster", name_}});
    } else {
      log::warn("cannot read the capacity of a cluster", {{"cluster", name_}, {"error", problem}});
    }
  }
  problem_ = std::move(problem);
  if (!report) co_return;
  report_ = std::move(*report);
  read_at_ = Clock::now();
}

asio::awaitable<void> Worker::run(const bool* stopped) {
  asio::steady_timer pause(executor_);
  while (!*stopped) {
    const auto begun = Clock::now();
    co_await read();
    pause.expires_at(begun + kEvery);
    co_await pause.async_wait(asio::as_tuple(asio::use_awaitable));
  }
}

asio::awaitable<Result<std::vector<WorkloadFit>>> Worker::ask(std::string list, std::size_t count) {
  Result<kube::Reply> reply = co_await send(kube::Verb::kPost, "/fit", std::move(list));
  if (reply && reply->status == http_status::kTooManyRequests)
    co_return std::vector<WorkloadFit>(
        count, WorkloadFit{std::nullopt, "its scheduler answers others", false});
  const Result<std::string> text = bodyOf(std::move(reply));
  Result<std::vector<WorkloadFit>> fits =
      text ? workloadFitsOf(*text, count) : Result<std::vector<WorkloadFit>>(text.error());
  ++(fits ? counts_.questions : counts_.failed_questions);
  co_return fits;
}

asio::awaitable<Result<std::string>> Worker::askPod(std::string pod) {
  Result<kube::Reply> reply = co_await send(kube::Verb::kPost, "/fit", std::move(pod));
  co_return bodyOf(std::move(reply));
}

}  // namespace divvy::hub
