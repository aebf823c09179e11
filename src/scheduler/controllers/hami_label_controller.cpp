#include "controllers/hami_label_controller.h"

#include <chrono>
#include <utility>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/json.hpp>

#include "annotations/assignment.h"
#include "asio/rethrow.h"
#include "log/log.h"
#include "runtime/log.h"

namespace divvy::scheduler {
namespace {

namespace asio = boost::asio;
namespace json = boost::json;

// From the first pod to the writes, and after one that failed.
constexpr std::chrono::milliseconds kGather{20};
constexpr std::chrono::seconds kPause{5};
constexpr std::size_t kMaxAtOnce = 16;

bool named(const kube::Labels& in, const std::string& node) {
  const auto found = in.find(kAssignedNode);
  return found != in.end() && found->second == node;
}

}  // namespace

void UnlabelledPods::set(const kube::Pod& pod, const HamiAgentNodes& agents) {
  remove(pod.meta.uid);
  const bool holds = !pod.node.empty() && !pod.ended() && named(pod.meta.annotations, pod.node);
  if (where_ == WhereAgents::kNever || !holds || named(pod.meta.labels, pod.node)) return;
  Pod one{pod.meta.uid, pod.meta.namespace_name, pod.meta.name, pod.node};
  if (where_ == WhereAgents::kAlways || agents.on(pod.node)) {
    wanted_.insert_or_assign(pod.meta.uid, std::move(one));
  } else {
    on_[pod.meta.uid] = pod.node;
    others_[pod.node].insert_or_assign(pod.meta.uid, std::move(one));
  }
}

void UnlabelledPods::remove(const std::string& uid) {
  wanted_.erase(uid);
  const auto found = on_.find(uid);
  if (found == on_.end()) return;
  const auto there = others_.find(found->second);
  there->second.erase(uid);
  if (there->second.empty()) others_.erase(there);
  on_.erase(found);
}

void UnlabelledPods::agentCame(const std::string& node) {
  const auto there = others_.find(node);
  if (there == others_.end()) return;
  for (auto& [uid, one] : there->second) {
    on_.erase(uid);
    wanted_.insert_or_assign(uid, std::move(one));
  }
  others_.erase(there);
}

std::vector<UnlabelledPods::Pod> UnlabelledPods::wanted(std::size_t most) const {
  std::vector<Pod> some;
  for (const auto& [uid, pod] : wanted_) {
    if (some.size() == most) break;
    some.push_back(pod);
  }
  return some;
}

HamiLabelController::HamiLabelController(asio::any_io_executor executor, kube::Client& client,
                                         HamiAgentNodes& agents, Counters& counts,
                                         WhereAgents where, std::function<std::string()> why_not)
    : executor_(std::move(executor)),
      client_(client),
      agents_(agents),
      counts_(counts),
      pods_(where),
      why_not_(std::move(why_not)) {}

void HamiLabelController::onPodUpdate(const kube::Pod& pod) {
  const bool agent_came = agents_.set(pod);
  pods_.set(pod, agents_);
  if (agent_came) pods_.agentCame(pod.node);
  reconcile();
}

void HamiLabelController::onPodDelete(const std::string& uid) {
  agents_.remove(uid);
  pods_.remove(uid);
}

void HamiLabelController::reconcile() {
  if (writing_ || !why_not_().empty() || pods_.wanted(1).empty()) return;
  writing_ = true;
  asio::co_spawn(executor_, write(), rethrow);
}

asio::awaitable<void> HamiLabelController::write() {
  asio::steady_timer pause(executor_, kGather);
  co_await pause.async_wait(asio::as_tuple(asio::use_awaitable));
  while (why_not_().empty()) {
    const std::vector<UnlabelledPods::Pod> some = pods_.wanted(kMaxAtOnce);
    if (some.empty()) break;
    for (const UnlabelledPods::Pod& one : some) {
      kube::Call call{kube::Verb::kPatch,
                      "/api/v1/namespaces/" + one.namespace_name + "/pods/" + one.name};
      call.type = kube::kMergePatch;
      call.body = json::serialize(json::object{
          {"metadata",
           json::object{{"uid", one.uid}, {"labels", json::object{{kAssignedNode, one.node}}}}}});
      call.still = [this] { return why_not_().empty(); };
      const Result<json::value> done = co_await client_.ask(std::move(call));
      if (done) ++counts_.labelled;
      // Gone, or another of that name.
      const bool never = !done && done.error().code() != ErrorCode::kUnavailable;
      if (done || never) pods_.remove(one.uid);
      if (!done && done.error().code() != ErrorCode::kNotFound)
        log::warn("cannot label a pod", {{"error", done.error().message()}});
      if (done || never) continue;
      pause.expires_after(kPause);
      co_await pause.async_wait(asio::as_tuple(asio::use_awaitable));
      break;
    }
  }
  writing_ = false;
}

}  // namespace divvy::scheduler
