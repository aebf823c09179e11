#include "extender/extender_service.h"

#include <chrono>
#include <string_view>
#include <utility>

#include <boost/asio/awaitable.hpp>

#include "base/http_status.h"
#include "runtime/clock.h"

namespace divvy::scheduler {
namespace {

using boost::asio::awaitable;
using http::Answer;
using http::Query;

constexpr std::uint64_t kMaxFilter = 64u << 20;
constexpr std::uint64_t kMaxBind = 64u << 10;

Answer badRequest(const Error& error) {
  return {http_status::kBadRequest, error.message() + '\n', "text/plain"};
}

Answer refused(const ExtenderArgs& args, const Error& why) {
  if (why.code() == ErrorCode::kUsage) return {http_status::kOk, filterNever(args, why.message())};
  return {http_status::kOk, filterError(why.message())};
}

}  // namespace

std::vector<http::Route> ExtenderService::routes() {
  return {
      {"POST", "/filter", kMaxFilter,
       [this](Query query) -> awaitable<Answer> {
         const Stopwatch watch(&parts_.counts.filter_seconds);
         co_return filter(query);
       }},
      {"POST", "/prioritize", kMaxFilter,
       [this](Query query) -> awaitable<Answer> { co_return prioritize(query); }},
      {"POST", "/preempt", kMaxFilter,
       [this](Query query) -> awaitable<Answer> { co_return preempt(query); }},
      {"POST", "/bind", kMaxBind,
       [this](Query query) -> awaitable<Answer> { return parts_.binder.answer(std::move(query)); }},
  };
}

Answer ExtenderService::filter(const Query& query) {
  const Result<ExtenderArgs> args = parseFilter(query.body);
  if (!args) {
    ++parts_.counts.filter_errors;
    return badRequest(args.error());
  }
  if (args->whole_nodes && parts_.informers.known()) return simulate(*args);
  if (const std::string why = parts_.why_not(); !why.empty()) {
    parts_.lease.readNow();  // our kube-scheduler may have become the leader just now
    ++parts_.counts.filter_errors;
    return {http_status::kOk, filterError(why)};
  }
  parts_.counts.expired += parts_.cache.expire(now());
  const bool gated = parts_.gate.knows(args->pod.meta.uid);
  const Result<FilterResult> result = choose(*args, gated);
  parts_.requeuer.requeueSoon();  // its earlier reservation may be others' now
  count(result);
  if (result && !gated && !result->why.empty() && !result->node && result->fitting.empty()) {
    std::vector<std::string_view> nodes;  // where evictions help
    for (const auto& [name, why] : result->why) nodes.push_back(name);
    parts_.preemption.refused(args->pod, nodes);
  }
  if (result) return {http_status::kOk, filterAnswer(*args, *result)};
  return refused(*args, result.error());
}

Result<FilterResult> ExtenderService::choose(const ExtenderArgs& args, bool gated) {
  if (gated) return parts_.gate.filterAndReserve(args.pod, args.names, expiry());
  if (parts_.options.all_feasible) return parts_.cache.fitting(args.pod, args.names);
  return parts_.cache.filterAndReserve(args.pod, args.names, expiry());
}

void ExtenderService::count(const Result<FilterResult>& result) {
  Counters& counts = parts_.counts;
  if (!result) {
    ++(result.error().code() == ErrorCode::kUsage ? counts.refused : counts.filter_errors);
  } else if (!result->ours) {
    ++counts.passed;
  } else {
    ++(result->node || !result->fitting.empty() ? counts.placed : counts.refused);
  }
}

engine::Instant ExtenderService::expiry() const {
  const auto span =
      std::chrono::duration_cast<std::chrono::milliseconds>(parts_.options.reservation);
  return {now().ms + span.count()};
}

Answer ExtenderService::prioritize(const Query& query) const {
  const Result<ExtenderArgs> args = parseFilter(query.body);
  if (!args) return badRequest(args.error());
  const Result<std::vector<unsigned>> scores = parts_.cache.pods().scores(args->pod, args->names);
  if (!scores) return badRequest(scores.error());
  return {http_status::kOk, prioritizeAnswer(*args, *scores)};
}

Answer ExtenderService::preempt(const Query& query) {
  const Result<ExtenderArgs> args = parsePreempt(query.body);
  if (!args) return badRequest(args.error());
  // The gated queue decides when pods of queues and gangs start.
  if (parts_.why_not().empty() && !parts_.gate.knows(args->pod.meta.uid))
    parts_.preemption.offered(args->pod, args->names);
  return {http_status::kOk, preemptAnswer()};
}

Answer ExtenderService::simulate(const ExtenderArgs& args) const {
  const Result<FilterResult> result = parts_.cache.pods().simulateFit(args.pod, args.nodes);
  return result ? Answer{http_status::kOk, filterAnswer(args, *result)}
                : refused(args, result.error());
}

}  // namespace divvy::scheduler
