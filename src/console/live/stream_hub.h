// The open streams of viewers.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "http/stream.h"
#include "live/topic_log.h"

namespace divvy::console {

// Sends each viewer the changes of its topics. A viewer that does not read loses its messages and
// is told to read the lists again when it does. Used on the server's thread only.
class StreamHub {
 public:
  // Returns whether the session of this cookie lasts.
  using Lasts = std::function<bool(const std::string& cookie)>;

  StreamHub(std::string epoch, Lasts lasts, std::size_t max_bytes = TopicLog::kMaxBytes)
      : log_(std::move(epoch), max_bytes), lasts_(std::move(lasts)) {}

  // Adds a viewer of these topics. `last_id`: the last message that it had; empty: none, it has
  // read the lists. A viewer that missed messages is told to read the lists again.
  std::shared_ptr<http::Stream> add(const std::string& cookie, std::vector<std::string> topics,
                                    std::string_view last_id);

  void publish(const std::vector<ViewChange>& changes);
  // Sends the difference of two views.
  void publish(const ConsoleView& before, const ConsoleView& after);

  // To be called every 15 s: keeps connections open, and ends those of ended sessions.
  void beat();

  // Ends the streams of a session.
  void endSession(const std::string& cookie, std::string_view reason);

  // Closes them without a last message.
  void dropSession(const std::string& cookie);

  // Returns whether the session has an open stream.
  bool has(const std::string& cookie) const;
  std::size_t size() const { return viewers_.size(); }

 private:
  struct Viewer {
    std::shared_ptr<http::Stream> stream;
    std::string cookie;
    std::vector<std::string> topics;
    std::uint64_t seen = 0;  // number of the last message
    bool behind = false;     // has to read its lists again
  };

  void feed(Viewer& viewer);
  void sendResync(Viewer& viewer);
  // Tells viewers that were too slow, once they have received what was sent before.
  void resyncBehind();
  void removeClosed();

  TopicLog log_;
  Lasts lasts_;
  std::list<Viewer> viewers_;
  // When a viewer was there last: messages are kept for one that comes again.
  std::chrono::steady_clock::time_point followed_{};
};

}  // namespace divvy::console
