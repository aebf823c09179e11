#include "kube/follow.h"

#include <algorithm>
#include <map>

#include "asio.h"
#include "kube/object.h"
#include "members.h"

namespace divvy::kube {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kFirstPause{200};
constexpr milliseconds kLongestPause{30'000};
constexpr milliseconds kShortWatch{1'000};
constexpr unsigned kMostStuck = 3;

class Course {
 public:
  Course(Client& client, Follower follower, const bool* stopped)
      : client_(client), follower_(std::move(follower)), stopped_(stopped) {}

  asio::awaitable<void> run() {
    while (!*stopped_) {
      const bool good = co_await round();
      pause_ = good ? kFirstPause : std::min(pause_ * 2, kLongestPause);
      if (good) continue;
      asio::steady_timer timer(co_await asio::this_coro::executor, pause_);
      co_await timer.async_wait(kNoThrow);
    }
  }

 private:
  // A list where there is no version to go on from, then a watch.
  asio::awaitable<bool> round() {
    if (version_.empty()) {
      Result<std::string> version = co_await client_.list(
          follower_.path, follower_.query, [this] { listed_.clear(); },
          [this](const json::value& item) { take(item, &listed_); });
      if (!version) co_return fail(version.error());
      forgetOthers();
      version_ = std::move(*version);
      follower_.synced();
    }
    const auto began = std::chrono::steady_clock::now();
    const std::string from = version_;
    const Result<WatchEnd> end =
        co_await client_.watch(follower_.path, follower_.query, &version_,
                               [this](const WatchEvent& event) { return hear(event); });
    if (end && *end == WatchEnd::kTooOld) version_.clear();
    // What cannot be read would come again and again.
    stuck_ = !end && version_ == from ? stuck_ + 1 : 0;
    if (stuck_ == kMostStuck) version_.clear();
    if (!end) co_return fail(end.error());
    co_return std::chrono::steady_clock::now() - began > kShortWatch;
  }

  bool hear(const WatchEvent& event) {
    if (event.type == "ADDED" || event.type == "MODIFIED") {
      take(event.object, nullptr);
    } else if (event.type == "DELETED") {
      const Result<Meta> meta = metaOf(event.object);
      if (meta && known_.erase(meta->uid) > 0) follower_.gone(meta->uid, meta->name);
    }
    return !*stopped_;
  }

  void take(const json::value& object, std::map<std::string, std::string>* into) {
    const Result<Meta> meta = metaOf(object);
    if (!meta) return follower_.trouble(meta.error());
    // Also while a list is under way: it may break off, and what was told has to be forgotten.
    known_[meta->uid] = meta->name;
    if (into != nullptr) (*into)[meta->uid] = meta->name;
    follower_.set(object);
  }

  // Who went while nobody watched.
  void forgetOthers() {
    for (const auto& [uid, name] : known_)
      if (!listed_.contains(uid)) follower_.gone(uid, name);
    known_ = std::move(listed_);
    listed_.clear();
  }

  bool fail(const Error& error) {
    if (!*stopped_) follower_.trouble(error);
    return false;
  }

  Client& client_;
  Follower follower_;
  const bool* stopped_;
  std::string version_;
  std::map<std::string, std::string> known_;   // name by UID
  std::map<std::string, std::string> listed_;  // likewise, while a list is under way
  milliseconds pause_ = kFirstPause;
  unsigned stuck_ = 0;  // watches in a row that failed before they told anything
};

}  // namespace

asio::awaitable<void> follow(Client& client, Follower follower, const bool* stopped) {
  Course course(client, std::move(follower), stopped);
  co_await course.run();
}

}  // namespace divvy::kube
