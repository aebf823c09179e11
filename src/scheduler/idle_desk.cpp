#include "idle_desk.h"

#include <chrono>
#include <utility>
#include <vector>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/json.hpp>

#include "clocks.h"
#include "kube/eviction.h"
#include "last_word.h"
#include "preemption_notes.h"
#include "timestamp.h"

// GCC 12 with -O2 takes the frame of a coroutine for one that another operator new made; both are
// Asio's.
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"

namespace divvy::scheduler {
namespace {

namespace asio = boost::asio;
namespace json = boost::json;

constexpr std::int64_t kAgain = 10;
constexpr const char* kIdleCondition = "divvy.dev/Idle";

IdleDesk::Terms withClock(IdleDesk::Terms terms) {
  if (!terms.seconds) terms.seconds = [] { return wallNanoseconds() / 1'000'000'000; };
  return terms;
}

std::optional<kube::IdleState> stateOf(const kube::Pod& pod) {
  const auto said = pod.meta.annotations.find(kube::kIdleStateKey);
  if (said == pod.meta.annotations.end()) return std::nullopt;
  const Result<kube::IdleState> state = kube::decodeIdleState(said->second);
  // Only we write it: what cannot be read is as if it was not there, and is written over.
  return state ? std::optional(*state) : std::nullopt;
}

std::string spanOf(std::int64_t span) {
  if (span >= 2 * 3600) return std::to_string(span / 3600) + " h";
  if (span >= 2 * 60) return std::to_string(span / 60) + " min";
  return std::to_string(span) + " s";
}

std::string conditionPatch(const std::string& uid, bool idle, const char* reason,
                           const std::string& message, std::int64_t now) {
  return json::serialize(json::object{
      {"metadata", json::object{{"uid", uid}}},
      {"status", json::object{{"conditions", json::array{json::object{
                                                 {"type", kIdleCondition},
                                                 {"status", idle ? "True" : "False"},
                                                 {"reason", reason},
                                                 {"message", message},
                                                 {"lastTransitionTime", timestamp(now)}}}}}}});
}

}  // namespace

IdleDesk::IdleDesk(asio::any_io_executor executor, kube::Client& client,
                   std::unique_ptr<Platform> platform, IdleCounts& counts, Terms terms)
    : executor_(std::move(executor)),
      client_(client),
      platform_(std::move(platform)),
      counts_(counts),
      terms_(withClock(std::move(terms))) {}

Result<std::unique_ptr<IdleDesk>> IdleDesk::make(asio::any_io_executor executor,
                                                 kube::Client& client,
                                                 const std::optional<kube::Access>& platform,
                                                 IdleCounts& counts, Terms terms) {
  std::unique_ptr<Platform> made;
  if (platform) {
    Result<std::unique_ptr<Platform>> opened = Platform::make(executor, *platform);
    if (!opened) return std::move(opened).error().context("the platform of idle pods");
    made = std::move(*opened);
  }
  return std::make_unique<IdleDesk>(std::move(executor), client, std::move(made), counts,
                                    std::move(terms));
}

void IdleDesk::heard(const kube::Node& node) {
  const auto said = node.meta.annotations.find(kube::kIdleKey);
  if (said == node.meta.annotations.end()) {
    if (!cases_.empty()) drop(node.meta.name, {});
    return;
  }
  const Result<kube::IdlePods> pods = kube::decodeIdlePods(said->second);
  if (!pods)
    return say("node " + node.meta.name + ", annotation " + kube::kIdleKey + ": " +
               pods.error().message());
  drop(node.meta.name, *pods);
  for (const auto& [uid, pod] : *pods) {
    Case& one = cases_[uid];
    // Of whichever node said so first: where the pod is is looked up before anything is done.
    if (one.node.empty()) one.node = node.meta.name;
    if (one.node != node.meta.name) continue;
    one.pod = pod;
    if (one.since != pod.since) one.not_before = 0;
    one.since = pod.since;
  }
  look();
}

void IdleDesk::gone(const std::string& node) {
  drop(node, {});
}

// Of those that the node does not name any more; each is looked at once more.
void IdleDesk::drop(const std::string& node, const kube::IdlePods& but) {
  bool any = false;
  for (auto& [uid, one] : cases_) {
    if (one.node != node || !one.since || but.contains(uid)) continue;
    one.since.reset();
    one.not_before = 0;
    any = true;
  }
  if (any) look();
}

void IdleDesk::see(const kube::Pod& pod) {
  if (!pod.meta.annotations.contains(kube::kIdleStateKey)) return;
  if (pod.node.empty() || pod.ended()) return forget(pod.meta.uid);
  if (cases_.contains(pod.meta.uid)) return;
  cases_[pod.meta.uid] = {
      pod.node, {pod.meta.space, pod.meta.name, 0}, {}, terms_.seconds() + kAgain, ""};
  look();
}

void IdleDesk::forget(const std::string& uid) {
  cases_.erase(uid);
}

void IdleDesk::look() {
  if (working_) return;
  working_ = true;
  asio::co_spawn(executor_, work(), rethrow);
}

asio::awaitable<void> IdleDesk::work() {
  while (!cases_.empty() && !*terms_.stopped) {
    std::vector<std::string> uids;
    for (const auto& [uid, one] : cases_)
      if (one.not_before <= terms_.seconds()) uids.push_back(uid);
    for (const std::string& uid : uids)
      if (terms_.why_not().empty()) co_await settle(uid);
    asio::steady_timer pause(executor_, terms_.every);
    co_await pause.async_wait(asio::as_tuple(asio::use_awaitable));
  }
  working_ = false;
}

asio::awaitable<Result<kube::Pod>> IdleDesk::podOf(std::string uid) {
  const Case& one = cases_.at(uid);
  kube::Call call{kube::Verb::kGet,
                  "/api/v1/namespaces/" + one.pod.space + "/pods/" + one.pod.name};
  const Result<json::value> object = co_await client_.ask(std::move(call));
  if (!object) co_return object.error();
  Result<kube::Pod> pod = kube::podOf(*object);
  if (pod && (pod->meta.uid != uid || pod->ended()))
    co_return Error{ErrorCode::kNotFound, "it has ended"};
  co_return pod;
}

// What is known of a pod may be of a while ago: what is done goes by what it says now.
asio::awaitable<void> IdleDesk::settle(std::string uid) {
  const auto known = cases_.find(uid);
  if (known == cases_.end()) co_return;
  // A notice that is not due needs no look.
  known->second.not_before = terms_.seconds() + 1;
  const Result<kube::Pod> pod = co_await podOf(uid);
  const auto now = cases_.find(uid);
  if (now == cases_.end()) co_return;
  if (!pod) {
    if (pod.error().code() == ErrorCode::kNotFound) co_return forget(uid);
    co_return trouble(uid, pod.error().message(), kAgain);
  }
  if (pod->node != now->second.node) {
    trouble(uid, "node " + now->second.node + " says it is idle, and it is on " + pod->node, 0);
    co_return forget(uid);
  }
  const std::optional<kube::IdleState> state = stateOf(*pod);
  switch (idleStep(now->second.since, state, terms_.seconds())) {
    case IdleStep::kNothing:
      if (!state) co_return forget(uid);
      // Nothing is due before; what its node says meanwhile is heard.
      now->second.not_before = state->deadline;
      co_return;
    case IdleStep::kNotice:
      co_return co_await notice(uid, *pod);
    case IdleStep::kCallOff:
      co_return co_await callOff(uid, *pod, *state);
    case IdleStep::kDue:
      co_return co_await due(uid, *pod, *state);
  }
}

asio::awaitable<void> IdleDesk::notice(std::string uid, kube::Pod pod) {
  const std::int64_t now = terms_.seconds();
  kube::IdleState state = noticedAt(*cases_.at(uid).since, now, terms_.idle);
  if (!co_await write(pod, state)) co_return;
  ++counts_.noticed;
  const std::optional<std::int64_t> more = co_await tellPlatform(PlatformNews::kNotice, uid, state);
  if (!cases_.contains(uid)) co_return;
  if (more.value_or(0) > 0) {
    const kube::IdleState later = extendedBy(state, *more, terms_.seconds(), terms_.idle);
    // The version is another by now: whatever else wrote it, this is ours alone.
    pod.meta.version.clear();
    if (later != state && co_await write(pod, later)) state = later;
  }
  if (!cases_.contains(uid)) co_return;
  co_await tell(uid, true, "Idle",
                "its devices are not used for " + spanOf(now - state.since) +
                    ": it is evicted at " + timestamp(state.deadline) + " unless it works");
}

asio::awaitable<void> IdleDesk::callOff(std::string uid, kube::Pod pod, kube::IdleState state) {
  if (!co_await write(pod, std::nullopt)) co_return;
  ++counts_.called_off;
  if (!cases_.contains(uid)) co_return;
  co_await tell(uid, false, "Works", "it works again, or may be idle for longer now");
  if (cases_.contains(uid)) co_await tellPlatform(PlatformNews::kCalledOff, uid, state);
  // Who is idle again by now is told again.
  const auto now = cases_.find(uid);
  if (now != cases_.end() && !now->second.since) cases_.erase(now);
}

asio::awaitable<void> IdleDesk::due(std::string uid, kube::Pod pod, kube::IdleState state) {
  if (platform_) {
    const std::optional<std::int64_t> more = co_await tellPlatform(PlatformNews::kDue, uid, state);
    if (!more || !cases_.contains(uid)) co_return;
    const kube::IdleState later = extendedBy(state, *more, terms_.seconds(), terms_.idle);
    if (later.deadline > terms_.seconds()) {
      if (!co_await write(pod, later) || !cases_.contains(uid)) co_return;
      co_await tell(uid, true, "Idle",
                    "its platform has asked for more time: it is evicted at " +
                        timestamp(later.deadline) + " unless it works");
      co_return;
    }
  }
  if (co_await stillIdle(uid, state)) co_await evict(uid, state);
}

asio::awaitable<bool> IdleDesk::stillIdle(std::string uid, kube::IdleState state) {
  if (!cases_.contains(uid)) co_return false;
  kube::Call call{kube::Verb::kGet, "/api/v1/nodes/" + cases_.at(uid).node};
  const Result<json::value> object = co_await client_.ask(std::move(call));
  const auto known = cases_.find(uid);
  if (known == cases_.end()) co_return false;
  const Result<kube::Node> node = object ? kube::nodeOf(*object) : object.error();
  if (!node) {
    trouble(uid, node.error().message(), kAgain);
    co_return false;
  }
  const auto said = node->meta.annotations.find(kube::kIdleKey);
  std::optional<std::int64_t> since;
  if (said != node->meta.annotations.end()) {
    const Result<kube::IdlePods> pods = kube::decodeIdlePods(said->second);
    if (pods && pods->contains(uid)) since = pods->at(uid).since;
  }
  known->second.since = since;
  co_return idleStep(since, state, terms_.seconds()) == IdleStep::kDue;
}

asio::awaitable<void> IdleDesk::evict(std::string uid, kube::IdleState state) {
  const kube::IdlePod pod = cases_.at(uid).pod;
  kube::EvictionAsk ask{pod.space, pod.name, uid, [this] { return terms_.why_not().empty(); }};
  const Result<kube::Eviction> done = co_await kube::evict(client_, std::move(ask));
  if (!cases_.contains(uid)) co_return;
  if (!done) co_return trouble(uid, done.error().message(), kAgain);
  switch (done->end) {
    case kube::EvictionEnd::kEvicted: {
      ++counts_.evicted;
      const std::string message =
          "its devices were not used for " + spanOf(terms_.seconds() - state.since);
      const PodNote note{pod.space, pod.name, uid, "EvictedIdle", message};
      kube::Call event = eventCall(note, terms_.name, wallNanoseconds());
      const Result<json::value> told = co_await client_.ask(std::move(event));
      if (!told) say(told.error().message());
      co_return forget(uid);
    }
    case kube::EvictionEnd::kGone:
      co_return forget(uid);
    case kube::EvictionEnd::kForbidden:
    case kube::EvictionEnd::kRefused:
      co_return trouble(uid, "it is not evicted: " + done->why, kAgain);
  }
}

asio::awaitable<std::optional<std::int64_t>> IdleDesk::tellPlatform(PlatformNews news,
                                                                    std::string uid,
                                                                    kube::IdleState state) {
  if (!platform_ || !cases_.contains(uid)) co_return std::nullopt;
  const Case& one = cases_.at(uid);
  std::string body = platformBody(news, uid, one.node, one.pod, state);
  const Result<std::int64_t> more = co_await platform_->tell(std::move(body));
  if (more) co_return *more;
  ++counts_.unheard;
  trouble(uid, "its platform was not told that it is idle: " + more.error().message(), kAgain);
  co_return std::nullopt;
}

asio::awaitable<bool> IdleDesk::write(const kube::Pod& pod, std::optional<kube::IdleState> state) {
  kube::Call call{kube::Verb::kPatch,
                  "/api/v1/namespaces/" + pod.meta.space + "/pods/" + pod.meta.name};
  call.type = kube::kMergePatch;
  json::object meta{{"uid", pod.meta.uid}};
  if (!pod.meta.version.empty()) meta["resourceVersion"] = pod.meta.version;
  meta["annotations"] = json::object{
      {kube::kIdleStateKey, state ? json::value(kube::encode(*state)) : json::value(nullptr)}};
  call.body = json::serialize(json::object{{"metadata", std::move(meta)}});
  call.still = [this] { return terms_.why_not().empty(); };
  const Result<json::value> done = co_await client_.ask(std::move(call));
  if (!done) trouble(pod.meta.uid, done.error().message(), 0);
  co_return done.has_value();
}

asio::awaitable<void> IdleDesk::tell(std::string uid, bool idle, const char* reason,
                                     std::string message) {
  const kube::IdlePod pod = cases_.at(uid).pod;
  kube::Call call{kube::Verb::kPatch,
                  "/api/v1/namespaces/" + pod.space + "/pods/" + pod.name + "/status"};
  call.type = kube::kStrategicPatch;
  call.body = conditionPatch(uid, idle, reason, message, terms_.seconds());
  const Result<json::value> written = co_await client_.ask(std::move(call));
  if (!written) say("pod " + pod.space + '/' + pod.name + ": " + written.error().message());
  const PodNote note{pod.space, pod.name, uid, reason, message};
  kube::Call event = eventCall(note, terms_.name, wallNanoseconds());
  const Result<json::value> told = co_await client_.ask(std::move(event));
  if (!told) say("pod " + pod.space + '/' + pod.name + ": " + told.error().message());
}

// The same is said once.
void IdleDesk::trouble(const std::string& uid, const std::string& what, std::int64_t wait) {
  const auto known = cases_.find(uid);
  if (known == cases_.end()) return;
  known->second.not_before = terms_.seconds() + wait;
  if (std::exchange(known->second.told, what) == what) return;
  say("pod " + known->second.pod.space + '/' + known->second.pod.name + ": " + what);
}

}  // namespace divvy::scheduler
