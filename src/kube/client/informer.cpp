#include "kube/informer.h"

#include <algorithm>
#include <unordered_map>

#include "client/list.h"
#include "kube/object.h"
#include "objects/members.h"

namespace divvy::kube {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kFirstPause{200};
constexpr milliseconds kLongestPause{30'000};
constexpr milliseconds kShortWatch{1'000};
constexpr unsigned kMaxStuck = 3;
constexpr milliseconds kLookWhetherTold{2};

}  // namespace

class Reflector {
 public:
  Reflector(Client& client, EventHandlers follower, Informer& informer, const bool* stopped)
      : client_(client), follower_(std::move(follower)), informer_(informer), stopped_(stopped) {}

  asio::awaitable<void> run() {
    while (!*stopped_) {
      const std::uint64_t asked = informer_.asked_;
      const bool good = co_await round();
      // A request for a relist does not wait for the pause after an error.
      const bool hurry = asked != informer_.asked_;
      pause_ = good || hurry ? kFirstPause : std::min(pause_ * 2, kLongestPause);
      if (good || hurry) continue;
      asio::steady_timer timer(co_await asio::this_coro::executor, pause_);
      informer_.wake_ = [&timer] { timer.cancel(); };
      co_await timer.async_wait(kNoThrow);
      informer_.wake_ = nullptr;
    }
  }

 private:
  // Lists if there is no version to continue from or a relist was requested; then watches.
  asio::awaitable<bool> round() {
    if (version_.empty() || !informer_.fresh()) {
      co_await waitForOthers();
      std::uint64_t asked = 0;
      const Listing all = listing(&asked);
      Result<std::string> version = co_await listed(client_, all);
      if (!version) co_return fail(version.error());
      forgetOthers();
      version_ = std::move(*version);
      informer_.told_ = asked;
      clearFault();
      if (!informer_.fresh()) co_return true;
      follower_.synced();
    }
    const auto began = std::chrono::steady_clock::now();
    const std::string from = version_;
    WatchHold hold;
    hold.opened = [&] {
      clearFault();
      if (!informer_.fresh()) hold.cut();
    };
    informer_.wake_ = [&hold] {
      if (hold.cut) hold.cut();
    };
    const Result<WatchEnd> end = co_await client_.watch(
        follower_.path, follower_.query, &version_,
        [this](const WatchEvent& event) { return onEvent(event); }, &hold);
    informer_.wake_ = nullptr;
    if (!informer_.fresh()) co_return true;
    if (end && *end == WatchEnd::kTooOld) version_.clear();
    // An item that cannot be read would fail again in each watch.
    stuck_ = !end && version_ == from ? stuck_ + 1 : 0;
    if (stuck_ == kMaxStuck) version_.clear();
    if (!end) co_return fail(end.error());
    co_return std::chrono::steady_clock::now() - began > kShortWatch;
  }

  asio::awaitable<void> waitForOthers() {
    const auto until = std::chrono::steady_clock::now() + kBehind;
    asio::steady_timer timer(co_await asio::this_coro::executor);
    while (follower_.behind != nullptr && !follower_.behind->fresh() && !*stopped_ &&
           std::chrono::steady_clock::now() < until) {
      timer.expires_after(kLookWhetherTold);
      co_await timer.async_wait(kNoThrow);
    }
  }

  // `asked`: number of the last relist request before the list began. A request during the list
  // restarts it, so that only one complete list is read.
  Listing listing(std::uint64_t* asked) {
    Listing made{follower_.path, follower_.query, {}, {}};
    made.begin = [this, asked] {
      ++round_;
      *asked = informer_.asked_;
    };
    made.each = [this](const json::value& item) { take(item); };
    made.relist_requested = [this, asked] { return *asked != informer_.asked_; };
    if (!follower_.pod) return made;
    made.pod = [this](const Pod& pod) {
      know(pod.meta);
      follower_.pod(pod);
    };
    made.trouble = follower_.trouble;
    return made;
  }

  void clearFault() {
    informer_.failing_.reset();
    informer_.fault_.clear();
  }

  bool onEvent(const WatchEvent& event) {
    if (event.type == "ADDED" || event.type == "MODIFIED") {
      take(event.object);
    } else if (event.type == "DELETED") {
      const Result<Meta> meta = metaOf(event.object);
      if (meta && known_.erase(meta->uid) > 0) follower_.gone(meta->uid, meta->name);
    }
    return !*stopped_;
  }

  void take(const json::value& object) {
    const Result<Meta> meta = metaOf(object);
    if (!meta) return follower_.trouble(meta.error());
    know(*meta);
    follower_.set(object);
  }

  // Also recorded during a list: if the list breaks off, its objects must still be removed later.
  void know(const Meta& meta) {
    Known& known = known_[meta.uid];
    known.name = meta.name;
    known.round = round_;
  }

  // Objects that were deleted while there was no watch.
  void forgetOthers() {
    for (auto at = known_.begin(); at != known_.end();) {
      const auto one = at++;
      if (one->second.round == round_) continue;
      const auto gone = known_.extract(one);
      follower_.gone(gone.key(), gone.mapped().name);
    }
  }

  bool fail(const Error& error) {
    if (!informer_.failing_) informer_.failing_ = std::chrono::steady_clock::now();
    informer_.fault_ = error.message();
    if (!*stopped_) follower_.trouble(error);
    return false;
  }

  Client& client_;
  EventHandlers follower_;
  Informer& informer_;
  const bool* stopped_;
  std::string version_;
  struct Known {
    std::string name;
    std::uint64_t round = 0;  // of the last list that contained it, or that a watch continued from
  };

  std::unordered_map<std::string, Known> known_;  // by UID
  std::uint64_t round_ = 0;                       // lists begun
  milliseconds pause_ = kFirstPause;
  unsigned stuck_ = 0;  // consecutive watches that failed before their first event
};

void Informer::relist() {
  ++asked_;
  // A copy, because the callback may replace wake_.
  if (const std::function<void()> wake = wake_) wake();
}

asio::awaitable<void> runReflector(Client& client, EventHandlers follower, Informer& informer,
                                   const bool* stopped) {
  Reflector course(client, std::move(follower), informer, stopped);
  co_await course.run();
}

}  // namespace divvy::kube
