#include "hub_endpoint.h"

#include <chrono>
#include <optional>
#include <utility>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/json.hpp>

#include "asio/rethrow.h"
#include "base/http_status.h"
#include "metrics/exposition.h"

namespace divvy::hub {
namespace {

namespace asio = boost::asio;
namespace json = boost::json;

constexpr std::uint64_t kMaxPod = 256 << 10;
constexpr unsigned kMaxQuestions = 4;

std::optional<std::int64_t> ageMs(const Worker& worker) {
  const auto age = worker.age();
  if (!age) return std::nullopt;
  return std::chrono::duration_cast<std::chrono::milliseconds>(*age).count();
}

// A problem counts as long as no report is fresh.
json::object rowOf(const Worker& worker) {
  json::object row{{"name", worker.name()},
                   {"price", nameOf(worker.price())},
                   {"state", nameOf(worker.state())}};
  const std::optional<std::int64_t> age = ageMs(worker);
  row["age_ms"] = age ? json::value(*age) : json::value(nullptr);
  row["problem"] = worker.problem().empty() ? json::value(nullptr) : json::value(worker.problem());
  const bool known = worker.state() != WorkerState::kUnknown;
  row["capacity"] = known ? json::value(worker.report()) : json::value(nullptr);
  return row;
}

}  // namespace

http::Answer HubEndpoint::clusters() const {
  json::array rows;
  for (const auto& worker : workers_) rows.push_back(rowOf(*worker));
  return {http_status::kOk, json::serialize(json::object{{"clusters", std::move(rows)}})};
}

http::Answer HubEndpoint::dispatch() const {
  if (dispatcher_ == nullptr)
    return http::plainText(http_status::kNotFound,
                           "this hub dispatches no workloads; start it with --dispatch");
  return {http_status::kOk, json::serialize(json::object{{"workloads", dispatcher_->rows()}})};
}

// All clusters are asked at the same time.
asio::awaitable<http::Answer> HubEndpoint::fit(http::Query query) {
  if (questions_ >= kMaxQuestions)
    co_return http::plainText(http_status::kTooManyRequests,
                              "other questions are in progress: retry");
  ++questions_;
  std::vector<Result<std::string>> answers(workers_.size(),
                                           Error{ErrorCode::kUnavailable, "does not answer"});
  asio::steady_timer done(executor_, asio::steady_timer::time_point::max());
  std::size_t open = 0;
  for (std::size_t at = 0; at < workers_.size(); ++at) {
    if (workers_[at]->state() == WorkerState::kUnknown) continue;
    ++open;
    asio::co_spawn(
        executor_,
        [](Worker& worker, const std::string& pod,
           Result<std::string>& answer) -> asio::awaitable<void> {
          answer = co_await worker.askPod(pod);
        }(*workers_[at], query.body, answers[at]),
        [&open, &done](std::exception_ptr fault) {
          rethrow(std::move(fault));
          if (--open == 0) done.cancel();
        });
  }
  while (open > 0) co_await done.async_wait(asio::as_tuple(asio::use_awaitable));
  --questions_;
  json::array rows;
  for (std::size_t at = 0; at < workers_.size(); ++at) {
    json::object row{{"name", workers_[at]->name()}, {"problem", nullptr}, {"answer", nullptr}};
    boost::system::error_code fault;
    if (!answers[at]) {
      row["problem"] = answers[at].error().message();
    } else if (json::value answer = json::parse(*answers[at], fault); fault) {
      row["problem"] = "the scheduler's answer is no JSON";
    } else {
      row["answer"] = std::move(answer);
    }
    rows.push_back(std::move(row));
  }
  co_return http::Answer{http_status::kOk,
                         json::serialize(json::object{{"clusters", std::move(rows)}})};
}

http::Answer HubEndpoint::metrics() const {
  metrics::Exposition text;
  text.family("divvy_hub_capacity_age_seconds", "gauge",
              "Age of the last capacity report of a cluster; absent: there is none.");
  for (const auto& worker : workers_)
    if (const auto age = ageMs(*worker))
      text.sample({{"cluster", worker->name()}}, static_cast<double>(*age) / 1000.0);
  text.family("divvy_hub_reports_total", "counter", "Readings of a cluster's capacity.");
  for (const auto& worker : workers_) {
    text.sample({{"cluster", worker->name()}, {"result", "read"}}, worker->counts().reports);
    text.sample({{"cluster", worker->name()}, {"result", "failed"}},
                worker->counts().failed_reports);
  }
  text.family("divvy_hub_questions_total", "counter",
              "Questions to a cluster which workloads fit there.");
  for (const auto& worker : workers_) {
    text.sample({{"cluster", worker->name()}, {"result", "answered"}}, worker->counts().questions);
    text.sample({{"cluster", worker->name()}, {"result", "failed"}},
                worker->counts().failed_questions);
  }
  if (dispatcher_ != nullptr) {
    const Dispatcher::Counts& counts = dispatcher_->counts();
    text.family("divvy_hub_pending_workloads", "gauge",
                "Workloads with quota for which MultiKueue has no cluster yet.");
    text.sample({}, static_cast<std::uint64_t>(dispatcher_->waiting()));
    text.family("divvy_hub_nominations_total", "counter", "Nominations of a cluster.");
    for (const auto& [cluster, count] : counts.nominations)
      text.sample({{"cluster", cluster}}, count);
    text.family("divvy_hub_nomination_conflicts_total", "counter",
                "Nominations of workloads that had changed meanwhile; they are decided again.");
    text.sample({}, counts.conflicts);
    text.family("divvy_hub_failed_nominations_total", "counter",
                "Nominations that could not be written; the log has the error.");
    text.sample({}, counts.failed_writes);
    text.family("divvy_hub_unreadable_objects_total", "counter",
                "Objects of Kueue that could not be read; the log names them.");
    text.sample({}, counts.unreadable);
  }
  http::Answer answer;
  answer.body = text.text();
  answer.type = metrics::kTextType;
  return answer;
}

std::vector<http::Route> HubEndpoint::routes() {
  const auto get = [](const char* path, std::function<http::Answer()> answer) {
    return http::Route{"GET", path, 0,
                       [answer = std::move(answer)](http::Query) -> asio::awaitable<http::Answer> {
                         co_return answer();
                       }};
  };
  return {
      get("/api/v1/clusters", [this] { return clusters(); }),
      get("/api/v1/dispatch", [this] { return dispatch(); }),
      {"POST", "/api/v1/fit", kMaxPod, [this](http::Query query) { return fit(std::move(query)); }},
      get("/metrics", [this] { return metrics(); }),
      get("/healthz", [] { return http::plainText(http_status::kOk, "ok"); })};
}

}  // namespace divvy::hub
