#include "controllers/pending_condition_controller.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <utility>
#include <vector>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/json.hpp>

#include "base/rfc3339.h"
#include "log/log.h"
#include "runtime/clock.h"
#include "runtime/log.h"
#include "scheduler/explain.h"

namespace divvy::scheduler {
namespace {

namespace asio = boost::asio;
namespace json = boost::json;

constexpr std::chrono::seconds kEvery{1};
// A pod that is placed sooner gets no condition.
constexpr std::int64_t kPatienceMs = 10'000;
// From one change of a pod's condition to the next.
constexpr std::int64_t kPauseMs = 60'000;
// In one round: each is a look at all nodes, and a write.
constexpr std::size_t kMaxTold = 8;

}  // namespace

std::string noticePatch(const std::string& uid, bool fits, const std::string& message,
                        std::int64_t seconds) {
  return json::serialize(json::object{
      {"metadata", json::object{{"uid", uid}}},
      {"status",
       json::object{{"conditions",
                     json::array{json::object{{"type", kDevicesFit},
                                              {"status", fits ? "True" : "False"},
                                              {"reason", fits ? "Placed" : "NoRoom"},
                                              {"message", message},
                                              {"lastTransitionTime", formatRfc3339(seconds)}}}}}}});
}

PendingConditionController::PendingConditionController(asio::any_io_executor executor,
                                                       kube::Client& client,
                                                       const SchedulerCache& cache,
                                                       std::function<std::string()> why_not,
                                                       const bool* stopped)
    : executor_(std::move(executor)),
      client_(client),
      cache_(cache),
      why_not_(std::move(why_not)),
      stopped_(stopped) {}

void PendingConditionController::onPodUpdate(const kube::Pod& pod) {
  for (const kube::PodCondition& one : pod.conditions) {
    if (one.type != kDevicesFit) continue;
    if (one.status != "False") {
      onPodDelete(pod.meta.uid);
    } else if (pod.node.empty()) {
      told_[pod.meta.uid] = one.message;
    } else if (!pod.ended()) {
      settled_[pod.meta.uid] = {pod.meta.uid, pod.meta.namespace_name, pod.meta.name};
    }
  }
}

void PendingConditionController::onPodDelete(const std::string& uid) {
  told_.erase(uid);
  settled_.erase(uid);
}

void PendingConditionController::keepWaiting(const std::vector<UnschedulablePod>& refused,
                                             engine::Instant now) {
  std::set<std::string> here;
  for (const UnschedulablePod& one : refused) {
    here.insert(one.uid);
    waiting_.try_emplace(one.uid, LastNotice{now, {now.ms + kPatienceMs}, ""});
  }
  std::erase_if(waiting_, [&](const auto& one) { return !here.contains(one.first); });
}

asio::awaitable<Result<void>> PendingConditionController::write(UnschedulablePod pod, bool fits,
                                                                std::string message) {
  kube::Call call{kube::Verb::kPatch,
                  "/api/v1/namespaces/" + pod.namespace_name + "/pods/" + pod.name + "/status"};
  call.type = kube::kStrategicPatch;
  call.body = noticePatch(pod.uid, fits, message, wallNanoseconds() / 1'000'000'000);
  call.still = [this] { return why_not_().empty(); };
  const Result<json::value> written = co_await client_.ask(std::move(call));
  if (written || written.error().code() == ErrorCode::kNotFound) co_return Result<void>();
  co_return written.error();
}

asio::awaitable<void> PendingConditionController::publishWaiting(engine::Instant now) {
  const std::vector<UnschedulablePod> refused = cache_.pods().refused();
  keepWaiting(refused, now);
  std::size_t told = 0;
  for (const UnschedulablePod& one : refused) {
    const auto waiting = waiting_.find(one.uid);
    if (told >= kMaxTold || waiting == waiting_.end()) break;
    if (waiting->second.next > now) continue;
    const engine::Request* request = cache_.pods().unschedulableRequest(one.uid);
    if (request == nullptr) continue;
    waiting->second.next = {now.ms + kPauseMs};
    ++told;
    const Result<std::string> text = summary(cache_, *request, {});
    if (!text || told_[one.uid] == *text) continue;
    std::string said = *text;
    const Result<void> written = co_await write(one, false, said);
    if (written) told_[one.uid] = *text;
    if (!written)
      log::warn(
          "cannot write the condition of a pending pod",
          {{"pod", one.namespace_name + '/' + one.name}, {"error", written.error().message()}});
  }
}

asio::awaitable<void> PendingConditionController::publishSettled() {
  // In turns: a pod with failing writes does not keep the others waiting.
  const std::size_t most = std::min(kMaxTold, settled_.size());
  for (std::size_t told = 0; told < most && !settled_.empty(); ++told) {
    auto next = settled_.upper_bound(last_settled_);
    if (next == settled_.end()) next = settled_.begin();
    const UnschedulablePod one = next->second;
    last_settled_ = one.uid;
    settled_.erase(next);
    const Result<void> written = co_await write(one, true, "");
    if (written) continue;
    log::warn("cannot clear the condition of a placed pod",
              {{"pod", one.namespace_name + '/' + one.name}, {"error", written.error().message()}});
    if (written.error().code() != ErrorCode::kUnavailable) continue;
    // The watch may report nothing more of a running pod.
    settled_.try_emplace(one.uid, one);
  }
}

asio::awaitable<void> PendingConditionController::run() {
  while (!*stopped_) {
    asio::steady_timer pause(executor_, kEvery);
    co_await pause.async_wait(asio::as_tuple(asio::use_awaitable));
    if (!why_not_().empty()) continue;
    co_await publishWaiting(now());
    co_await publishSettled();
  }
}

}  // namespace divvy::scheduler
