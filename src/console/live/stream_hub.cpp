#include "live/stream_hub.h"

#include <algorithm>

namespace divvy::console {

namespace {

// Above it a viewer is behind: twice the largest message.
constexpr std::size_t kMaxOutstanding = 2 * kMaxDelta;

constexpr std::chrono::minutes kKeptForViewer{1};

bool follows(const std::vector<std::string>& topics, std::string_view topic) {
  return std::find(topics.begin(), topics.end(), topic) != topics.end();
}

}  // namespace

std::shared_ptr<http::Stream> StreamHub::add(const std::string& cookie,
                                             std::vector<std::string> topics,
                                             std::string_view last_id) {
  removeClosed();
  Viewer viewer{http::Stream::make(kMaxOutstanding), cookie, std::move(topics), log_.last()};
  if (!last_id.empty()) {
    const std::optional<std::uint64_t> number = log_.numberOf(last_id);
    viewer.behind = !number || *number > log_.last();
    if (number && !viewer.behind) viewer.seen = *number;
  }
  followed_ = std::chrono::steady_clock::now();
  // The first bytes tell the browser that the stream is open. A viewer that continues has a number.
  static_cast<void>(viewer.stream->push(last_id.empty() ? log_.begin() : "retry: 3000\n\n"));
  viewers_.push_back(std::move(viewer));
  feed(viewers_.back());
  return viewers_.back().stream;
}

void StreamHub::sendResync(Viewer& viewer) {
  if (viewer.stream->outstanding() != 0) return;
  std::string all;
  for (const std::string& topic : viewer.topics) all += log_.resync(topic);
  if (viewer.stream->push(all) != http::Stream::Push::kQueued) return;
  viewer.behind = false;
  viewer.seen = log_.last();
}

void StreamHub::feed(Viewer& viewer) {
  if (viewer.behind) return sendResync(viewer);
  const std::optional<std::vector<const TopicChange*>> changes = log_.since(viewer.seen);
  if (!changes) {
    viewer.behind = true;
    return sendResync(viewer);
  }
  for (const TopicChange* change : *changes) {
    if (follows(viewer.topics, change->topic) &&
        viewer.stream->push(change->message) != http::Stream::Push::kQueued) {
      viewer.behind = true;
      return;
    }
    viewer.seen = change->number;
  }
}

void StreamHub::resyncBehind() {
  for (Viewer& viewer : viewers_)
    if (viewer.behind) sendResync(viewer);
}

void StreamHub::removeClosed() {
  viewers_.remove_if([](const Viewer& viewer) { return !viewer.stream->open(); });
}

void StreamHub::publish(const ConsoleView& before, const ConsoleView& after) {
  publish(changesBetween(before, after).list);
}

void StreamHub::publish(const std::vector<ViewChange>& changes) {
  removeClosed();
  const auto now = std::chrono::steady_clock::now();
  if (!viewers_.empty()) followed_ = now;
  const bool kept =
      followed_ != std::chrono::steady_clock::time_point{} && now - followed_ < kKeptForViewer;
  // Without a change the rows of a viewer that was too slow would stay old.
  if (changes.empty()) return resyncBehind();
  if (!kept) return log_.skip();
  log_.append(changes);
  for (Viewer& viewer : viewers_) feed(viewer);
}

void StreamHub::beat() {
  removeClosed();
  resyncBehind();
  for (Viewer& viewer : viewers_) {
    if (!lasts_(viewer.cookie)) {
      static_cast<void>(viewer.stream->push(TopicLog::end("the session has ended")));
      viewer.stream->close();
      continue;
    }
    static_cast<void>(viewer.stream->push(": still here\n\n"));
  }
  removeClosed();
}

void StreamHub::endSession(const std::string& cookie, std::string_view reason) {
  for (Viewer& viewer : viewers_) {
    if (viewer.cookie != cookie) continue;
    static_cast<void>(viewer.stream->push(TopicLog::end(reason)));
    viewer.stream->close();
  }
  removeClosed();
}

void StreamHub::dropSession(const std::string& cookie) {
  for (Viewer& viewer : viewers_)
    if (viewer.cookie == cookie) viewer.stream->close();
  removeClosed();
}

bool StreamHub::has(const std::string& cookie) const {
  return std::any_of(viewers_.begin(), viewers_.end(), [&](const Viewer& viewer) {
    return viewer.cookie == cookie && viewer.stream->open();
  });
}

}  // namespace divvy::console
