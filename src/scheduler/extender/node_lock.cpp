#include "extender/node_lock.h"

#include <set>
#include <utility>

#include <boost/json.hpp>

#include "base/http_status.h"
#include "base/rfc3339.h"
#include "runtime/clock.h"

namespace divvy::scheduler {
namespace {

namespace asio = boost::asio;
namespace json = boost::json;

constexpr const char* kShared = "hami.io/mutex.lock";
constexpr std::chrono::seconds kSharedLife = std::chrono::minutes(5);
constexpr std::chrono::seconds kOwnLife = std::chrono::minutes(2);
// The node may change between the look and the write, as often as that.
constexpr unsigned kRounds = 3;
constexpr std::int64_t kNanoseconds = 1'000'000'000;

std::string pathOf(const std::string& node) {
  return "/api/v1/nodes/" + node;
}

// No lock is older than its life, and none is of the future: clocks differ by less.
bool expired(const std::string& key, const LockValue& lock, std::int64_t now) {
  const std::int64_t life = lockLife(key).count();
  return now - lock.seconds >= life || lock.seconds - now >= life;
}

// An error has the reason.
Result<kube::Meta> metaFrom(const Result<json::value>& object) {
  if (!object) return object.error();
  return kube::metaOf(*object);
}

kube::Call patchOf(const std::string& node, const kube::Meta& seen, json::object annotations) {
  kube::Call call{kube::Verb::kPatch, pathOf(node)};
  call.type = kube::kMergePatch;
  // Refused where the node has changed since.
  call.body = json::serialize(
      json::object{{"metadata", json::object{{"resourceVersion", seen.version},
                                             {"annotations", std::move(annotations)}}}});
  return call;
}

}  // namespace

std::string lockText(const std::string& key, std::int64_t seconds, const LockHolder& holder) {
  const std::string text = formatRfc3339(seconds);
  return key == kShared ? text + ',' + holder.namespace_name + ',' + holder.pod : text;
}

LockValue parseLock(const std::string& text) {
  LockValue said;
  const std::size_t first = text.find(',');
  said.seconds = rfc3339Seconds(text.substr(0, first), Rfc3339Form::kAnyOffset);
  const std::size_t second = first == std::string::npos ? first : text.find(',', first + 1);
  if (second == std::string::npos) return said;
  said.holder = {text.substr(first + 1, second - first - 1), text.substr(second + 1)};
  return said;
}

std::chrono::seconds lockLife(const std::string& key) {
  return key == kShared ? kSharedLife : kOwnLife;
}

std::vector<std::string> locksOf(const std::vector<const vendors::Kind*>& kinds, bool hami) {
  std::set<std::string> keys;
  for (const vendors::Kind* kind : kinds)
    if (!kind->wire.lock.empty() && (kind->vendor != "nvidia" || hami))
      keys.insert(kind->wire.lock);
  return {keys.begin(), keys.end()};
}

asio::awaitable<bool> NodeLocks::gone(LockHolder holder) {
  if (holder.pod.empty()) co_return false;
  kube::Call call{kube::Verb::kGet,
                  "/api/v1/namespaces/" + holder.namespace_name + "/pods/" + holder.pod};
  const Result<json::value> found = co_await client_.ask(std::move(call));
  co_return !found && found.error().code() == ErrorCode::kNotFound;
}

asio::awaitable<Result<void>> NodeLocks::takeOnce(const std::string& node,
                                                  const std::vector<std::string>& keys,
                                                  const LockHolder& holder,
                                                  const std::function<bool()>& still, bool* again) {
  *again = false;
  kube::Call get{kube::Verb::kGet, pathOf(node)};
  const Result<json::value> object = co_await client_.ask(std::move(get));
  const Result<kube::Meta> seen = metaFrom(object);
  if (!seen)
    co_return Error{ErrorCode::kUnavailable, "node " + node + ": " + seen.error().message()};
  const std::int64_t now = wallNanoseconds() / kNanoseconds;
  json::object fresh;
  for (const std::string& key : keys) {
    const auto old = seen->annotations.find(key);
    const LockValue said = old == seen->annotations.end() ? LockValue{} : parseLock(old->second);
    const bool own = said.holder == holder;
    const bool held = !own && !expired(key, said, now);
    const bool left = held && co_await gone(said.holder);
    if (held && !left) {
      const std::string whose = said.holder.pod.empty()
                                    ? "another pod"
                                    : said.holder.namespace_name + '/' + said.holder.pod;
      co_return Error{ErrorCode::kUnavailable,
                      "node " + node + " is locked for " + whose + " (" + key + "): retry"};
    }
    fresh[key] = lockText(key, now, holder);
  }
  kube::Call patch = patchOf(node, *seen, std::move(fresh));
  patch.still = still;
  const Result<kube::Reply> reply = co_await client_.send(std::move(patch));
  if (!reply) co_return reply.error();
  *again = reply->status == http_status::kConflict;
  if (reply->good()) co_return Result<void>();
  const Error fault = kube::errorOf(*reply);
  co_return Error{ErrorCode::kUnavailable, "locking node " + node + ": " + fault.message()};
}

asio::awaitable<Result<void>> NodeLocks::take(std::string node, std::vector<std::string> keys,
                                              LockHolder holder, std::function<bool()> still) {
  for (unsigned round = 1;; ++round) {
    bool again = false;
    Result<void> taken = co_await takeOnce(node, keys, holder, still, &again);
    if (taken || !again || round == kRounds) co_return taken;
  }
}

asio::awaitable<void> NodeLocks::give(std::string node, std::vector<std::string> keys,
                                      LockHolder holder) {
  for (unsigned round = 0; round < kRounds; ++round) {
    kube::Call get{kube::Verb::kGet, pathOf(node)};
    const Result<json::value> object = co_await client_.ask(std::move(get));
    const Result<kube::Meta> seen = metaFrom(object);
    if (!seen) co_return;  // it expires
    const std::int64_t now = wallNanoseconds() / kNanoseconds;
    json::object none;
    for (const std::string& key : keys) {
      const auto old = seen->annotations.find(key);
      if (old == seen->annotations.end()) continue;
      const LockValue said = parseLock(old->second);
      // A lock without a name was free when this pod took it.
      const bool own = said.holder.pod.empty() ? !expired(key, said, now) : said.holder == holder;
      if (own) none[key] = nullptr;
    }
    if (none.empty()) co_return;
    kube::Call patch = patchOf(node, *seen, std::move(none));
    const Result<kube::Reply> reply = co_await client_.send(std::move(patch));
    if (!reply || reply->status != http_status::kConflict) co_return;
  }
}

}  // namespace divvy::scheduler
