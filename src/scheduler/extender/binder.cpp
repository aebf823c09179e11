#include "extender/binder.h"

#include <utility>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/json.hpp>

#include "base/http_status.h"
#include "kube/renamed_annotation.h"
#include "runtime/clock.h"
#include "scheduler/fencing_policy.h"

namespace divvy::scheduler {
namespace {

namespace asio = boost::asio;
namespace json = boost::json;
using http::Answer;

constexpr std::chrono::seconds kOffered{5};
constexpr std::chrono::milliseconds kLook{10};

// Among answers only these are certain: the pod is gone, or may not be bound. A conflict may be
// that it is bound already, by a call with a lost answer.
BindOutcome endOf(const Error& error) {
  const bool refused = error.code() == ErrorCode::kNotFound || error.code() == ErrorCode::kUsage;
  return refused ? BindOutcome::kRefused : BindOutcome::kUncertain;
}

kube::Call bindingOf(const BindingArgs& ask, const BindPlan& assigned, const std::string& fence,
                     bool deprecated_names) {
  json::object annotations;
  for (const auto& [key, value] : assigned.annotations) annotations[key] = value;
  if (!fence.empty()) {
    annotations[kTermAnnotation] = fence;
    if (deprecated_names) annotations[kube::oldKeyOf(kTermAnnotation)] = fence;
  }
  kube::Call call{kube::Verb::kPost,
                  "/api/v1/namespaces/" + ask.namespace_name + "/pods/" + ask.name + "/binding"};
  call.body = json::serialize(json::object{
      {"apiVersion", "v1"},
      {"kind", "Binding"},
      {"metadata", json::object{{"name", ask.name},
                                {"namespace", ask.namespace_name},
                                {"uid", ask.uid},
                                {"annotations", std::move(annotations)}}},
      {"target", json::object{{"apiVersion", "v1"}, {"kind", "Node"}, {"name", ask.node}}}});
  return call;
}

}  // namespace

asio::awaitable<Answer> Binder::answer(http::Query query) {
  const Result<BindingArgs> ask = parseBind(query.body);
  if (!ask) co_return Answer{http_status::kBadRequest, ask.error().message() + '\n', "text/plain"};
  if (const std::string why = options_.why_not(); !why.empty())
    co_return Answer{http_status::kOk, bindAnswer(why)};
  if (options_.chosen_elsewhere) {
    const auto span = std::chrono::duration_cast<std::chrono::milliseconds>(options_.reservation);
    const engine::Instant expires{now().ms + span.count()};
    const Result<void> reserved = cache_.reserve(ask->uid, ask->node, expires);
    if (!reserved) co_return Answer{http_status::kOk, bindAnswer(reserved.error().message())};
  }
  const Result<BindPlan> assigned = cache_.assume(ask->uid, ask->node, wallNanoseconds());
  if (!assigned) {
    ++counts_.not_reserved;
    co_return Answer{http_status::kOk, bindAnswer(assigned.error().message())};
  }
  co_await offered(ask->uid);
  const std::string fault = co_await lockAndBind(*ask, *assigned);
  co_return Answer{http_status::kOk, bindAnswer(fault)};
}

// A kubelet rejects a pod for good if it does not offer the pod's devices. The agent offers them
// again as soon as it observes the freed capacity. If it does not, it is not there, or is an
// earlier one, which withdraws nothing: a wait is then in vain.
asio::awaitable<void> Binder::offered(std::string uid) {
  const auto until = std::chrono::steady_clock::now() + kOffered;
  asio::steady_timer pause(co_await asio::this_coro::executor);
  while (!cache_.pods().withdrawnFrom(uid).empty() && std::chrono::steady_clock::now() < until) {
    pause.expires_after(kLook);
    co_await pause.async_wait(asio::as_tuple(asio::use_awaitable));
  }
}

asio::awaitable<std::string> Binder::lockAndBind(const BindingArgs& ask, const BindPlan& assigned) {
  const std::vector<std::string> keys =
      options_.locks ? options_.locks(assigned) : std::vector<std::string>();
  const LockHolder holder{ask.namespace_name, ask.name};
  BindOutcome end = BindOutcome::kRefused;
  if (!keys.empty()) {
    const std::function<bool()> still = [this] { return options_.why_not().empty(); };
    const Result<void> locked = co_await locks_.take(ask.node, keys, holder, still);
    ++(locked ? counts_.locked : counts_.lock_refused);
    if (!locked) {
      cache_.finishBinding(ask.uid, end);
      options_.changed();
      co_return locked.error().message();
    }
  }
  const std::string fault = co_await bind(ask, assigned, &end);
  // Its agent gives it back where it is bound, or may be.
  if (!keys.empty() && end == BindOutcome::kRefused) co_await locks_.give(ask.node, keys, holder);
  co_return fault;
}

asio::awaitable<std::string> Binder::bind(const BindingArgs& ask, const BindPlan& assigned,
                                          BindOutcome* end) {
  const Stopwatch watch(&counts_.bind_seconds);
  const std::string fence = election_.verdict().fence;
  kube::Call call = bindingOf(ask, assigned, fence, options_.deprecated_names);
  // It may wait for its turn, or for a connection, while the lease grows old or is lost.
  std::string late;
  call.still = [this, &fence, &late] {
    late = options_.why_not();
    if (late.empty() && election_.verdict().fence != fence)
      late = "another leader term has started";
    return late.empty();
  };
  const Result<json::value> bound = co_await client_.ask(std::move(call));
  *end = !late.empty() ? BindOutcome::kRefused : bound ? BindOutcome::kBound : endOf(bound.error());
  ++(*end == BindOutcome::kBound     ? counts_.bound
     : *end == BindOutcome::kRefused ? counts_.bind_refused
                                     : counts_.bind_uncertain);
  cache_.finishBinding(ask.uid, *end);
  options_.changed();
  if (!late.empty()) co_return "not bound: " + late;
  co_return bound ? "" : explainFenced(bound.error().message());
}

}  // namespace divvy::scheduler
