#include "capacity/capacity_endpoint.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>
#include <utility>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/json.hpp>

#include "base/http_status.h"
#include "base/rng.h"
#include "base/utf8_text.h"
#include "runtime/clock.h"

namespace divvy::scheduler {
namespace {

namespace asio = boost::asio;
namespace bj = boost::json;
using SteadyClock = std::chrono::steady_clock;

constexpr auto kTurn = std::chrono::milliseconds(2);
constexpr auto kBetweenTurns = std::chrono::milliseconds(50);
// A step for a pod with many shares takes up to 20 ms: of the loop's time, turns have a twentieth
// and questions a tenth.
constexpr unsigned kPauseOfTurn = 20, kPauseOfQuestion = 10;
constexpr auto kBetweenRounds = std::chrono::seconds(2);
constexpr std::size_t kNodesAtOnce = 16;
constexpr std::uint64_t kMaxQuestion = 1 << 20;
constexpr std::size_t kMaxWorkloads = 128;
// Bytes: a reason may have an annotation in it, and one workload's keeps no others from being read.
constexpr std::size_t kMaxWhy = 300;
constexpr unsigned kMaxQuestions = 4;
constexpr std::int64_t kQuestionEveryMs = 100;
constexpr auto kPatience = std::chrono::milliseconds(500);
// The loop's time for a list of workloads, apart from the last one that is tried.
constexpr auto kLongestList = std::chrono::milliseconds(20);
constexpr auto kLongestQuestion = std::chrono::milliseconds(100);  // in sum of its steps
constexpr std::int64_t kNsPerS = 1'000'000'000, kNsPerMs = 1'000'000;

// A manifest's requests as the API server completes them: those that are absent are as the limits.
void completeRequests(std::vector<kube::PodContainer>& containers) {
  for (kube::PodContainer& one : containers)
    for (const char* name : {"cpu", "memory"})
      if (const auto limit = one.limits.find(name); limit != one.limits.end())
        one.requests.try_emplace(name, limit->second);
}

bj::value fitOf(const CapacityCount& count) {
  return count.found ? bj::value(count.found->fit) : bj::value(nullptr);
}

}  // namespace

CapacityEndpoint::CapacityEndpoint(asio::any_io_executor executor, const SchedulerCache& cache,
                                   const RunningPods& running_pods, Options options)
    : executor_(std::move(executor)),
      cache_(cache),
      options_(std::move(options)),
      counter_(cache, running_pods) {}

void CapacityEndpoint::onPodUpdate(const kube::Pod& pod) {
  if (pod.ended()) return;
  const Result<std::optional<engine::Request>> request = cache_.pods().readRequest(pod);
  const Result<PodResources> resources = podResources(pod);
  if (!request || !*request || !resources) return;
  history_.see(pod.meta.uid, pod.meta.namespace_name, **request, *resources, pod.priority,
               wallNanoseconds() / kNsPerS);
}

asio::awaitable<void> CapacityEndpoint::publish(const CapacityRound& round) {
  CapacityReport report{options_.scheduler, options_.identity, 0, {}, round.shapes()};
  std::size_t read = 0;
  for (const std::string& node : cache_.nodes().names()) {
    for (const DeviceUsage& device : cache_.nodes().devicesOf(node)) report.models.add(device);
    if (++read % kNodesAtOnce == 0) co_await asio::post(executor_, asio::use_awaitable);
  }
  // The tag is of the figures, not of the instant.
  const std::uint64_t hash = stableHash(reportText(report));
  report.at_ms = wallNanoseconds() / kNsPerMs;
  text_ = reportText(report);
  tag_ = '"' + std::to_string(hash) + '"';
}

asio::awaitable<void> CapacityEndpoint::run() {
  asio::steady_timer pause(executor_);
  const auto sleep = [&pause](SteadyClock::duration time) {
    pause.expires_after(time);
    return pause.async_wait(asio::as_tuple(asio::use_awaitable));
  };
  while (!*options_.stopped) {
    if (!options_.why_not().empty()) {
      text_.clear();
      co_await sleep(kBetweenRounds);
      continue;
    }
    const auto begun = SteadyClock::now();
    history_.expire(wallNanoseconds() / kNsPerS);
    CapacityRound round(counter_, history_.all());
    for (bool ended = false; !ended && !*options_.stopped;) {
      const auto turn = SteadyClock::now();
      while (!ended && SteadyClock::now() < turn + kTurn) ended = round.step();
      const SteadyClock::duration took = SteadyClock::now() - turn;
      if (!ended)
        co_await sleep(std::max<SteadyClock::duration>(kBetweenTurns, kPauseOfTurn * took));
    }
    co_await publish(round);
    co_await sleep(std::max<SteadyClock::duration>(kBetweenRounds - (SteadyClock::now() - begun),
                                                   kBetweenTurns));
  }
}

std::vector<http::Route> CapacityEndpoint::routes() {
  return {{"GET", "/capacity", 0,
           [this](http::Query) -> asio::awaitable<http::Answer> { co_return reportAnswer(); }},
          {"POST", "/fit", kMaxQuestion,
           [this](http::Query query) { return fitAnswer(std::move(query)); }}};
}

http::Answer CapacityEndpoint::reportAnswer() const {
  if (text_.empty()) {
    const std::string why = options_.why_not();
    return http::plainText(http_status::kServiceUnavailable,
                           why.empty() ? "the capacity is not counted yet: retry" : why);
  }
  http::Answer answer;
  answer.body = text_;
  answer.fields.set("ETag", tag_);
  return answer;
}

Result<RecentShape> CapacityEndpoint::shapeOf(const bj::value& object) const {
  Result<kube::Pod> pod = kube::podOf(object);
  if (!pod) return pod.error();
  completeRequests(pod->init);
  completeRequests(pod->containers);
  const Result<std::optional<engine::Request>> request = cache_.pods().requestFor(*pod);
  if (!request) return request.error();
  if (!*request)
    return Error{ErrorCode::kUsage, "the pod requests no devices; accepted: a pod that does"};
  const Result<PodResources> resources = podResources(*pod);
  if (!resources) return resources.error();
  RecentShape shape{**request, *resources, pod->meta.namespace_name, pod->priority, 0, 0};
  shape.request.id = engine::RequestId("a further pod");
  return shape;
}

void CapacityEndpoint::pauseAfter(SteadyClock::duration spent) {
  const auto pause = std::chrono::ceil<std::chrono::milliseconds>(kPauseOfQuestion * spent);
  next_question_.ms = std::max(next_question_.ms, now().ms + pause.count());
}

asio::awaitable<http::Answer> CapacityEndpoint::fitAnswer(http::Query query) {
  if (const std::string why = options_.why_not(); !why.empty())
    co_return http::plainText(http_status::kServiceUnavailable, why);
  const engine::Instant begun = now();
  const auto read_since = SteadyClock::now();
  if (questions_ >= kMaxQuestions || begun < next_question_)
    co_return http::plainText(http_status::kTooManyRequests,
                              "other questions are in progress: retry");
  next_question_ = {begun.ms + kQuestionEveryMs};
  boost::system::error_code fault;
  bj::value object = bj::parse(query.body, fault);
  if (fault)
    co_return http::plainText(http_status::kBadRequest,
                              "the body is no JSON; accepted: a Pod, or a List of Workloads");
  const bj::value* kind = object.is_object() ? object.get_object().if_contains("kind") : nullptr;
  if (kind != nullptr && *kind == "List") co_return workloadsAnswer(object, read_since);
  co_return co_await podAnswer(std::move(object));
}

http::Answer CapacityEndpoint::workloadsAnswer(const bj::value& list,
                                               SteadyClock::time_point read_since) {
  const auto refused = [](const std::string& why) {
    return http::plainText(http_status::kBadRequest, why);
  };
  const bj::value* items = list.get_object().if_contains("items");
  if (items == nullptr || !items->is_array() || items->get_array().size() > kMaxWorkloads)
    return refused("items: accepted is a list of at most " + std::to_string(kMaxWorkloads) +
                   " Workloads");
  std::vector<kube::KueueWorkload> workloads;
  for (const bj::value& item : items->get_array()) {
    Result<kube::KueueWorkload> workload = kube::kueueWorkloadOf(item);
    if (!workload)
      return refused("items[" + std::to_string(workloads.size()) +
                     "]: " + workload.error().message());
    for (kube::KueuePodSet& set : workload->pod_sets) {
      completeRequests(set.pod.init);
      completeRequests(set.pod.containers);
    }
    workloads.push_back(std::move(*workload));
  }
  const auto begun = SteadyClock::now();
  const std::vector<FitAnswer> answers =
      options_.would_fit(workloads, [&] { return SteadyClock::now() - begun > kLongestList; });
  pauseAfter(SteadyClock::now() - read_since);
  bj::array rows;
  for (const FitAnswer& one : answers) {
    bj::object& row = rows.emplace_back(bj::object()).get_object();
    row["fits"] = one.fits ? bj::value(*one.fits) : bj::value(nullptr);
    row["why"] = one.why.empty() ? bj::value(nullptr) : bj::value(utf8Prefix(one.why, kMaxWhy));
    row["never"] = one.never;
  }
  return {http_status::kOk, bj::serialize(bj::object{{"items", std::move(rows)}})};
}

asio::awaitable<http::Answer> CapacityEndpoint::podAnswer(bj::value object) {
  const Result<RecentShape> shape = shapeOf(object);
  if (!shape) co_return http::plainText(http_status::kBadRequest, shape.error().message());
  ++questions_;
  // The present count, and that after evictions.
  std::array<CapacityCount, 2> counts{counter_.begin(*shape, false), counter_.begin(*shape, true)};
  NodeCapacity nodes = counter_.nodes();
  const auto end = SteadyClock::now() + kPatience;
  SteadyClock::duration spent{};
  for (std::size_t i = 0; i < counts.size(); ++i) {
    for (bool ended = false; !ended && spent < kLongestQuestion && SteadyClock::now() < end;) {
      const auto step = SteadyClock::now();
      ended = counter_.step(*shape, counts[i], nodes);
      spent += SteadyClock::now() - step;
      if (!ended) co_await asio::post(executor_, asio::use_awaitable);
    }
  }
  --questions_;
  pauseAfter(spent);
  bj::object answer{{"fit", fitOf(counts[0])}, {"fit_after_eviction", fitOf(counts[1])}};
  const std::optional<engine::ReplicaCount>& found = counts[0].found;
  answer["nodes_that_fit"] = found ? bj::value(found->nodes_that_fit) : bj::value(nullptr);
  co_return http::Answer{http_status::kOk, bj::serialize(answer)};
}

}  // namespace divvy::scheduler
