#include "controllers/resize_controller.h"

#include <chrono>
#include <utility>
#include <vector>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/json.hpp>

#include "annotations/pending_resize.h"
#include "asio/rethrow.h"
#include "base/http_status.h"
#include "controllers/resize_plan.h"
#include "kube/renamed_annotation.h"
#include "log/log.h"
#include "runtime/clock.h"
#include "runtime/log.h"

namespace divvy::scheduler {
namespace {

namespace asio = boost::asio;
namespace json = boost::json;

constexpr std::chrono::seconds kAgain{1};
// An agent that starts again takes a second; the wait for an absent one ends after this.
constexpr std::int64_t kMaxSeconds = 60;
constexpr std::int64_t kNano = 1'000'000'000;
constexpr std::size_t kShownOfUid = 8;

bool hasWork(const kube::Pod& pod) {
  return !pod.node.empty() && !pod.ended() && (pendingChange(pod) || askedChange(pod));
}

}  // namespace

ResizeController::ResizeController(asio::any_io_executor executor, kube::Client& client,
                                   const vendors::Catalog& catalog, SchedulerCache& cache,
                                   ShareChangeCounts& counts, Options options)
    : executor_(executor),
      client_(client),
      catalog_(catalog),
      cache_(cache),
      counts_(counts),
      options_(std::move(options)),
      pause_(executor) {}

void ResizeController::onPodUpdate(const kube::Pod& pod) {
  // Almost no pod ever has a request.
  const bool says = kube::findRenamed(pod.meta.annotations, kube::kResizeKey) != nullptr ||
                    kube::findRenamed(pod.meta.annotations, kube::kResizeStateKey) != nullptr;
  if (!says || !hasWork(pod)) {
    if (!pods_.empty()) pods_.erase(pod.meta.uid);
    return;
  }
  pods_.insert_or_assign(pod.meta.uid, pod);
  startWork();
}

void ResizeController::onNodeUpdate(const kube::Node& node) {
  const std::string* said = kube::findRenamed(node.meta.annotations, kube::kResizeResultsKey);
  if (said == nullptr) {
    if (!results_.empty()) results_.erase(node.meta.name);
    return;
  }
  Result<kube::ChangeResults> results = kube::decodeChangeResults(*said);
  if (!results)
    return log::warn("cannot read an annotation of a node", {{"node", node.meta.name},
                                                             {"annotation", kube::kChangesKey},
                                                             {"error", results.error().message()}});
  results_.insert_or_assign(node.meta.name, std::move(*results));
  if (!pods_.empty()) startWork();
}

void ResizeController::startWork() {
  if (working_) {
    pause_.cancel();
    return;
  }
  working_ = true;
  asio::co_spawn(executor_, work(), rethrow);
}

asio::awaitable<void> ResizeController::work() {
  while (!pods_.empty() && !*options_.stopped) {
    std::vector<std::string> uids;
    for (const auto& [uid, pod] : pods_) uids.push_back(uid);
    const bool may = options_.why_not().empty();
    bool soon = false;
    for (const std::string& uid : may ? uids : std::vector<std::string>())
      if (co_await settle(uid)) soon = true;
    if (pods_.empty()) break;
    // An update meanwhile cuts it short.
    pause_.expires_after(soon ? std::chrono::milliseconds(0) : kAgain);
    co_await pause_.async_wait(asio::as_tuple(asio::use_awaitable));
  }
  working_ = false;
}

asio::awaitable<bool> ResizeController::settle(const std::string& uid) {
  const auto known = pods_.find(uid);
  if (known == pods_.end()) co_return false;
  kube::Pod pod = known->second;
  if (pendingChange(pod)) co_return co_await finish(std::move(pod));
  if (askedChange(pod)) co_return co_await admit(std::move(pod));
  pods_.erase(uid);
  co_return false;
}

// Where it is admitted it is booked.
Result<kube::ResizeState> ResizeController::decide(const kube::Pod& pod) {
  const std::optional<RequestedResize> asked = askedChange(pod);
  if (asked->unreadable) return *asked->unreadable;
  const vendors::Kind* kind = changeableKind(catalog_);
  if (kind == nullptr || options_.others(pod.node))
    return Error{ErrorCode::kUnsupported,
                 "the devices of node " + pod.node + " are handed out by another's plugin"};
  const Result<std::string> assignment = assignmentWith(pod, asked->change, *kind);
  if (!assignment) return assignment.error();
  kube::ResizeState state;
  state.id = asked->change.id;
  // No other pod's, and not this one's of before or of another scheduler.
  state.token = pod.meta.uid.substr(0, kShownOfUid) + '-' + std::to_string(wallNanoseconds()) +
                '-' + std::to_string(++admitted_);
  state.change = asked->change;
  state.term = options_.term();
  state.assignment = *assignment;
  state.since = wallNanoseconds() / kNano;
  kube::Pod then = pod;
  then.meta.annotations.insert_or_assign(kube::kChangeStateKey, kube::encode(state));
  if (const Result<void> admitted = cache_.admitChange(then); !admitted) return admitted.error();
  if (const std::string why = options_.beyond_queue(pod.meta.uid); !why.empty()) {
    options_.restore(pod);
    return Error{ErrorCode::kNoRoom, why};
  }
  return state;
}

asio::awaitable<bool> ResizeController::admit(kube::Pod pod) {
  const std::optional<RequestedResize> asked = askedChange(pod);
  const std::string id = asked->change.id;
  const Result<kube::ResizeState> state = decide(pod);
  const kube::ResizeState told = state ? *state : refusedChange(id, state.error());
  kube::Labels annotations;
  annotations[kube::kChangeStateKey] = kube::encode(told);
  const Written written = co_await write(pod, annotations);
  if (written == Written::kYes) ++(state ? counts_.admitted : counts_.refused);
  if (written != Written::kNo || !state) co_return false;
  // Not the earlier pod: it may have ended or changed meanwhile. If the outcome of the
  // write is unknown the resize stays booked, and is written again.
  if (const auto now = pods_.find(pod.meta.uid); now != pods_.end()) options_.restore(now->second);
  co_return false;
}

asio::awaitable<bool> ResizeController::finish(kube::Pod pod) {
  const kube::ResizeState admitted = *pendingChange(pod);
  const vendors::Kind* kind = changeableKind(catalog_);
  if (kind == nullptr) co_return false;
  std::optional<kube::ResizeResult> result;
  if (const auto node = results_.find(pod.node); node != results_.end())
    if (const auto found = node->second.find(admitted.token); found != node->second.end())
      result = found->second;
  const std::int64_t waited = wallNanoseconds() / kNano - admitted.since;
  if (!result && waited > kMaxSeconds)
    result = kube::ResizeResult{false, "NoAnswer",
                                "the agent of node " + pod.node + " did not answer within " +
                                    std::to_string(kMaxSeconds) + " s"};
  if (!result) co_return false;
  const kube::Labels annotations = settledBy(admitted, *result, *kind, pod.meta.annotations);
  const Written written = co_await write(pod, annotations);
  if (written == Written::kYes) ++(result->done ? counts_.done : counts_.refused);
  co_return false;
}

// Returns whether it is written. The watch reports a change meanwhile; then it is read again.
asio::awaitable<ResizeController::Written> ResizeController::write(
    const kube::Pod& pod, const kube::Labels& annotations) {
  kube::Call call{kube::Verb::kPatch,
                  "/api/v1/namespaces/" + pod.meta.namespace_name + "/pods/" + pod.meta.name};
  call.type = kube::kMergePatch;
  json::object written;
  for (const auto& [key, value] : annotations) written[key] = value;
  call.body = json::serialize(
      json::object{{"metadata", json::object{{"uid", pod.meta.uid},
                                             {"resourceVersion", pod.meta.version},
                                             {"annotations", std::move(written)}}}});
  call.still = [this] { return options_.why_not().empty(); };
  const std::string path = call.path;
  const Result<kube::Reply> reply = co_await client_.send(std::move(call));
  if (!reply || !reply->good()) {
    const Error fault = (reply ? kube::errorOf(*reply) : Error(reply.error())).context(path);
    log::warn("cannot write the state of a resize",
              {{"pod", pod.meta.namespace_name + '/' + pod.meta.name},
               {"annotation", kube::kChangeStateKey},
               {"error", fault.message()}});
    // A conflict may be a write of ours before, of which the reply was lost.
    const bool conflict = reply && reply->status == http_status::kConflict;
    const bool unknown = conflict || fault.code() == ErrorCode::kUnavailable;
    co_return unknown ? Written::kUnknown : Written::kNo;
  }
  // The watch reports the result.
  const auto known = pods_.find(pod.meta.uid);
  if (known != pods_.end() && known->second.meta.version == pod.meta.version) pods_.erase(known);
  co_return Written::kYes;
}

}  // namespace divvy::scheduler
