#include "controllers/eviction_controller.h"

#include <chrono>
#include <utility>
#include <vector>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/json.hpp>

#include "asio/rethrow.h"
#include "base/duration.h"
#include "base/rfc3339.h"
#include "events/pod_events.h"
#include "kube/eviction.h"
#include "log/log.h"
#include "runtime/clock.h"
#include "runtime/log.h"

// GCC 12 with -O2 loses the frame of a coroutine in which the condition of an `if` awaits and the
// branch returns: such answers have names here.

namespace divvy::scheduler {
namespace {

namespace asio = boost::asio;
namespace json = boost::json;

constexpr std::int64_t kAgain = 10;
constexpr std::int64_t kLong = 600;

EvictionController::Options withClock(EvictionController::Options options) {
  if (!options.seconds) options.seconds = [] { return wallNanoseconds() / 1'000'000'000; };
  return options;
}

std::string conditionPatch(const std::string& uid, const char* type, bool so, const char* reason,
                           const std::string& message, std::int64_t now) {
  return json::serialize(json::object{
      {"metadata", json::object{{"uid", uid}}},
      {"status", json::object{{"conditions", json::array{json::object{
                                                 {"type", type},
                                                 {"status", so ? "True" : "False"},
                                                 {"reason", reason},
                                                 {"message", message},
                                                 {"lastTransitionTime", formatRfc3339(now)}}}}}}});
}

}  // namespace

const EvictionCause kIdleGround{
    kube::kIdleKey,
    kube::kIdleNoticeKey,
    "divvy.dev/Idle",
    "Idle",
    "Active",
    "EvictedIdle",
    "it resumed work, or has a longer idle limit now",
    [](const kube::Notice& notice, const std::string&, std::int64_t now, bool past) {
      return (past ? "its devices were not used for " : "its devices are not used for ") +
             formatDuration(now - notice.since, kSpacedUnitsToHours);
    },
    "unless it resumes work"};

const EvictionCause kBypassGround{
    kube::kBypassKey,
    kube::kBypassNoticeKey,
    "divvy.dev/Bypass",
    "Bypass",
    "LimitsRespected",
    "EvictedBypass",
    "limits are respected again",
    [](const kube::Notice&, const std::string& what, std::int64_t, bool) { return what; },
    "unless the bypass ends"};

EvictionController::EvictionController(const EvictionCause& ground, asio::any_io_executor executor,
                                       kube::Client& client,
                                       std::unique_ptr<PlatformCallback> platform,
                                       NoticeCounts& counts, Options options)
    : ground_(ground),
      executor_(std::move(executor)),
      client_(client),
      platform_(std::move(platform)),
      counts_(counts),
      options_(withClock(std::move(options))) {}

Result<std::unique_ptr<EvictionController>> EvictionController::make(
    const EvictionCause& ground, asio::any_io_executor executor, kube::Client& client,
    const std::optional<kube::Access>& platform, NoticeCounts& counts, Options options) {
  std::unique_ptr<PlatformCallback> made;
  if (platform) {
    Result<std::unique_ptr<PlatformCallback>> opened = PlatformCallback::make(executor, *platform);
    if (!opened) return std::move(opened).error().context("the platform of pods");
    made = std::move(*opened);
  }
  return std::make_unique<EvictionController>(ground, std::move(executor), client, std::move(made),
                                              counts, std::move(options));
}

void EvictionController::onNodeUpdate(const kube::Node& node) {
  const auto said = node.meta.annotations.find(ground_.node_key);
  if (said == node.meta.annotations.end()) return onNodeDelete(node.meta.name);
  Result<kube::Complaints> pods = kube::decodeComplaints(said->second);
  if (!pods) {
    log::warn("cannot read an annotation of a node", {{"node", node.meta.name},
                                                      {"annotation", ground_.node_key},
                                                      {"error", pods.error().message()}});
    return onNodeDelete(node.meta.name);
  }
  said_.insert_or_assign(node.meta.name, std::move(*pods));
  startWork();
}

void EvictionController::onNodeDelete(const std::string& node) {
  if (!said_.empty()) said_.erase(node);
}

std::optional<kube::Notice> EvictionController::noticeOf(const kube::Pod& pod) const {
  const auto said = pod.meta.annotations.find(ground_.pod_key);
  if (said == pod.meta.annotations.end()) return std::nullopt;
  const Result<kube::Notice> notice = kube::decodeNotice(said->second);
  // Only this controller writes it: an unreadable notice counts as none, and is written over.
  return notice ? std::optional(*notice) : std::nullopt;
}

void EvictionController::onPodUpdate(const kube::Pod& pod) {
  if (!pod.meta.annotations.contains(ground_.pod_key)) return;
  if (pod.node.empty() || pod.ended() || pod.meta.deleting) return onPodDelete(pod.meta.uid);
  const Key key{pod.meta.uid, pod.node};
  if (cases_.contains(key)) return;
  // The node's request may arrive a moment later.
  cases_[key] = {pod.meta.namespace_name, pod.meta.name, {}, now() + kAgain, false, ""};
  startWork();
}

void EvictionController::onPodDelete(const std::string& uid) {
  const auto first = cases_.lower_bound({uid, ""});
  auto last = first;
  while (last != cases_.end() && last->first.first == uid) ++last;
  cases_.erase(first, last);
}

void EvictionController::startWork() {
  if (working_) return;
  working_ = true;
  asio::co_spawn(executor_, work(), rethrow);
}

// Takes the nodes' present requests into the cases.
void EvictionController::merge() {
  for (auto& [key, one] : cases_) {
    const auto node = said_.find(key.second);
    const bool named = node != said_.end() && node->second.contains(key.first);
    if (named || !one.said) continue;
    one.said.reset();
    one.not_before = 0;
    one.denied = false;
  }
  for (const auto& [node, pods] : said_) {
    for (const auto& [uid, pod] : pods) {
      const auto [at, fresh] = cases_.try_emplace(
          {uid, node}, TrackedPod{pod.namespace_name, pod.name, {}, 0, false, ""});
      TrackedPod& one = at->second;
      if (one.said == pod) continue;
      one.said = pod;
      if (!one.denied) one.not_before = 0;
    }
  }
}

asio::awaitable<void> EvictionController::work() {
  while ((!said_.empty() || !cases_.empty()) && !*options_.stopped) {
    if (options_.why_not().empty()) {
      merge();
      // Withdrawn requests first: they do not wait behind calls of a platform.
      std::vector<Key> keys;
      for (const bool so : {false, true})
        for (const auto& [key, one] : cases_)
          if (one.said.has_value() == so && one.not_before <= now()) keys.push_back(key);
      for (const Key& key : keys)
        if (options_.why_not().empty()) co_await settle(key);
    } else {
      // Another replica continues; informers list all pods again when this one leads.
      cases_.clear();
    }
    asio::steady_timer pause(executor_, options_.every);
    co_await pause.async_wait(asio::as_tuple(asio::use_awaitable));
  }
  working_ = false;
}

asio::awaitable<std::optional<kube::Pod>> EvictionController::podOf(Key key) {
  const TrackedPod& one = cases_.at(key);
  kube::Call call{kube::Verb::kGet,
                  "/api/v1/namespaces/" + one.namespace_name + "/pods/" + one.name};
  const Result<json::value> object = co_await client_.ask(std::move(call));
  const bool gone = !object && object.error().code() == ErrorCode::kNotFound;
  Result<kube::Pod> pod = object ? kube::podOf(*object) : Result<kube::Pod>(object.error());
  const bool over =
      gone || (pod && (pod->meta.uid != key.first || pod->ended() || pod->meta.deleting));
  if (over) cases_.erase(key);
  if (!over && !pod) trouble(key, pod.error().message());
  if (over || !pod || !cases_.contains(key)) co_return std::nullopt;
  if (pod->node == key.second) co_return std::move(*pod);
  // Looked at again when it is not named any more.
  cases_.at(key).denied = true;
  trouble(key, "node " + key.second + " reports it, but it is on " + pod->node);
  rest(key, kLong);
  co_return std::nullopt;
}

// The cached pod may be old: each step follows the pod as the API server has it now.
asio::awaitable<void> EvictionController::settle(Key key) {
  if (!cases_.contains(key)) co_return;
  std::optional<kube::Pod> pod = co_await podOf(key);
  const auto known = cases_.find(key);
  if (!pod || known == cases_.end()) co_return;
  const std::optional<kube::EvictionRequest> said = known->second.said;
  const std::optional<kube::Notice> notice = noticeOf(*pod);
  const auto work = std::make_shared<Work>();
  work->key = key;
  work->pod = std::move(*pod);
  work->notice = notice.value_or(kube::Notice());
  if (said) work->what = said->what;
  switch (noticeStep(said, notice, now())) {
    case NoticeAction::kNothing:
      if (!notice) cases_.erase(known);
      // A request of its node ends the pause.
      if (notice) rest(key, notice->deadline > now() ? notice->deadline - now() : kLong);
      co_return;
    case NoticeAction::kNotice:
      work->notice = noticedAt(*said, now(), options_.notice);
      co_return co_await give(work);
    case NoticeAction::kTell:
      co_return co_await notify(work);
    case NoticeAction::kCallOff:
      co_return co_await callOff(work);
    case NoticeAction::kDue:
      co_return co_await due(work);
  }
}

asio::awaitable<void> EvictionController::give(WorkPtr work) {
  const bool written = co_await write(work, true);
  if (!written) co_return rest(work->key, kAgain);
  ++counts_.noticed;
  co_await notify(work);
}

std::string EvictionController::warning(const Work& work) const {
  if (work.notice.deadline == 0) return why(work);
  return why(work) + ": it is evicted at " + formatRfc3339(work.notice.deadline) + ' ' +
         ground_.unless;
}

// Repeated until it succeeds: after a kill a platform may get a notice twice, never none.
asio::awaitable<void> EvictionController::notify(WorkPtr work) {
  // The notice makes a new version of the pod; no other writer changes the annotation.
  work->pod.meta.version.clear();
  const std::optional<std::int64_t> more = co_await ask(CallbackKind::kNotice, work);
  if (more) work->notice = extendedBy(work->notice, *more, now(), options_.notice);
  const bool told = co_await publish(work, true, ground_.reason, warning(*work));
  if (!told || !more) co_return rest(work->key, kAgain);
  work->notice.told = true;
  const bool written = co_await write(work, true);
  if (!written) rest(work->key, kAgain);
}

// Calls off at the platform first, and removes the annotation then.
asio::awaitable<void> EvictionController::callOff(WorkPtr work) {
  work->pod.meta.version.clear();  // see notify()
  const bool told = co_await publish(work, false, ground_.over_reason, ground_.over);
  if (!told) co_return rest(work->key, kAgain);
  const std::optional<std::int64_t> heard = co_await ask(CallbackKind::kCalledOff, work);
  if (!heard) co_return rest(work->key, kAgain);
  const bool written = co_await write(work, false);
  if (!written) co_return rest(work->key, kAgain);
  ++counts_.called_off;
  const auto known = cases_.find(work->key);
  // A pod with a new request by now gets a new notice.
  if (known != cases_.end() && !known->second.said) cases_.erase(known);
}

asio::awaitable<void> EvictionController::due(WorkPtr work) {
  const std::optional<std::int64_t> more = co_await ask(CallbackKind::kDue, work);
  if (!more) co_return rest(work->key, kAgain);
  const kube::Notice later = extendedBy(work->notice, *more, now(), options_.notice);
  if (later.deadline > now()) {
    work->notice = later;
    const bool written = co_await write(work, true);
    if (!written) co_return rest(work->key, kAgain);
    co_await publish(work, true, ground_.reason,
                     "its platform requested more time: it is evicted at " +
                         formatRfc3339(later.deadline) + ' ' + ground_.unless);
    co_return;
  }
  const bool still = co_await stillSo(work);
  if (still) co_await evict(work);
}

asio::awaitable<bool> EvictionController::stillSo(const WorkPtr& work) {
  kube::Call call{kube::Verb::kGet, "/api/v1/nodes/" + work->key.second};
  const Result<json::value> object = co_await client_.ask(std::move(call));
  const Result<kube::Node> node =
      object ? kube::nodeOf(*object) : Result<kube::Node>(object.error());
  if (!node) {
    trouble(work->key, node.error().message());
    co_return false;
  }
  onNodeUpdate(*node);
  merge();
  const auto known = cases_.find(work->key);
  co_return known != cases_.end() &&
      noticeStep(known->second.said, work->notice, now()) == NoticeAction::kDue;
}

asio::awaitable<void> EvictionController::evict(WorkPtr work) {
  kube::EvictionOptions ask{work->pod.meta.namespace_name, work->pod.meta.name, work->pod.meta.uid,
                            [this] { return options_.why_not().empty(); }};
  const Result<kube::Eviction> done = co_await kube::evict(client_, std::move(ask));
  if (!done) co_return trouble(work->key, done.error().message());
  switch (done->end) {
    case kube::EvictionOutcome::kEvicted:
      ++counts_.evicted;
      cases_.erase(work->key);
      co_return co_await event(work, ground_.evicted_reason, why(*work, true));
    case kube::EvictionOutcome::kGone:
      cases_.erase(work->key);
      co_return;
    case kube::EvictionOutcome::kForbidden:
    case kube::EvictionOutcome::kRefused:
      co_return trouble(work->key, "it is not evicted: " + done->why);
  }
}

asio::awaitable<std::optional<std::int64_t>> EvictionController::ask(CallbackKind news,
                                                                     const WorkPtr& work) {
  if (!platform_) co_return std::int64_t{0};
  // One that does not answer costs ten seconds: the others are not kept waiting for it.
  if (now() < platform_again_) co_return std::nullopt;
  const kube::EvictionRequest pod{work->pod.meta.namespace_name, work->pod.meta.name,
                                  work->notice.since};
  std::string body = platformBody(news, work->key.first, work->key.second, pod, work->notice);
  const Result<std::int64_t> more = co_await platform_->post(std::move(body));
  if (more) co_return *more;
  platform_again_ = now() + kAgain;
  ++counts_.unheard;
  trouble(work->key, "its platform could not be notified: " + more.error().message());
  co_return std::nullopt;
}

asio::awaitable<bool> EvictionController::write(const WorkPtr& work, bool there) {
  const kube::Meta& pod = work->pod.meta;
  kube::Call call{kube::Verb::kPatch,
                  "/api/v1/namespaces/" + pod.namespace_name + "/pods/" + pod.name};
  call.type = kube::kMergePatch;
  json::object meta{{"uid", pod.uid}};
  if (!pod.version.empty()) meta["resourceVersion"] = pod.version;
  const json::value text = there ? json::value(kube::encode(work->notice)) : json::value(nullptr);
  meta["annotations"] = json::object{{ground_.pod_key, text}};
  call.body = json::serialize(json::object{{"metadata", std::move(meta)}});
  call.still = [this] { return options_.why_not().empty(); };
  const Result<json::value> done = co_await client_.ask(std::move(call));
  if (!done) trouble(work->key, done.error().message());
  co_return done.has_value();
}

asio::awaitable<bool> EvictionController::publish(const WorkPtr& work, bool so, const char* reason,
                                                  std::string message) {
  const kube::Meta& pod = work->pod.meta;
  kube::Call call{kube::Verb::kPatch,
                  "/api/v1/namespaces/" + pod.namespace_name + "/pods/" + pod.name + "/status"};
  call.type = kube::kStrategicPatch;
  call.body = conditionPatch(pod.uid, ground_.condition, so, reason, message, now());
  call.still = [this] { return options_.why_not().empty(); };
  const Result<json::value> written = co_await client_.ask(std::move(call));
  if (!written) trouble(work->key, written.error().message());
  if (written) co_await event(work, reason, std::move(message));
  co_return written.has_value();
}

asio::awaitable<void> EvictionController::event(const WorkPtr& work, const char* reason,
                                                std::string message) {
  const kube::Meta& pod = work->pod.meta;
  const PodEvent note{pod.namespace_name, pod.name, pod.uid, reason, std::move(message)};
  kube::Call call = eventCall(note, options_.name, wallNanoseconds());
  const Result<json::value> told = co_await client_.ask(std::move(call));
  if (!told)
    log::warn("cannot write an Event",
              {{"pod", pod.namespace_name + '/' + pod.name}, {"error", told.error().message()}});
}

void EvictionController::rest(const Key& key, std::int64_t seconds) {
  const auto known = cases_.find(key);
  if (known != cases_.end()) known->second.not_before = now() + seconds;
}

// Repeated later; the same error is logged once.
void EvictionController::trouble(const Key& key, const std::string& what) {
  rest(key, kAgain);
  const auto known = cases_.find(key);
  if (known == cases_.end() || std::exchange(known->second.told, what) == what) return;
  log::warn("cannot evict a pod; it is tried again",
            {{"pod", known->second.namespace_name + '/' + known->second.name}, {"error", what}});
}

}  // namespace divvy::scheduler
