// A server's connections: their number, the bytes of their bodies, and which is closed at a bound.
// Pure: it touches sockets only by the functions that it is given. Private.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <string>

namespace divvy::http {

// A connection is idle while it waits for its peer (a handshake, a request, a part of a body), and
// busy while its request is answered. At a limit the connection that was idle longest is closed,
// never the newest and never a busy one. For one thread.
class Connections {
 public:
  struct Terms {
    std::size_t most = 1024;
    // Bound on connections of one address that were idle for `fresh` or longer. An API server opens
    // a hundred at once and uses them all. Younger ones are bounded by `most` only.
    std::size_t idle_of_address = 128;
    std::chrono::milliseconds fresh{2000};
    std::uint64_t body_bytes = 64u << 20;
  };

  using Instant = std::chrono::steady_clock::time_point;
  struct Item {
    std::string address;
    std::function<void()> close;  // asks the connection to end soon; remove() follows later
    Instant since;                // start of being idle
    enum class State : std::uint8_t { kIdle, kBusy, kClosing } state = State::kIdle;
    std::uint64_t body = 0;
  };
  using Place = std::list<Item>::iterator;

  explicit Connections(const Terms& terms) : terms_(terms) {}

  // Makes room for one connection: closes the oldest idle one of the address that has the most.
  // Returns false if all are busy.
  bool makeRoom();
  // Adds an idle connection, after makeRoom(). If its address then has too many idle ones, its
  // oldest is closed.
  Place add(std::string address, std::function<void()> close, Instant now);
  void remove(Place place);
  void becomesIdle(Place place, Instant now);
  void becomesBusy(Place place);
  // Closes all idle connections.
  void closeIdle();
  // Restarts the idle time, after a part of a request arrived.
  void hears(Place place, Instant now);
  // Records a body of so many bytes, until the next request. If all bodies are too large together,
  // connections with the longest-running bodies are closed. Returns false if it is still too large.
  bool holdsBody(Place place, std::uint64_t bytes);
  void dropsBody(Place place);

  std::size_t size() const { return idle_.size() + busy_.size(); }
  std::uint64_t bodies() const { return bodies_; }
  std::uint64_t closed() const { return closed_; }

 private:
  std::list<Item>& listOf(Item::State state);
  void move(Place place, Item::State to);
  void close(Place place);
  Place oldestOf(const std::string& address);

  const Terms terms_;
  std::list<Item> idle_;  // oldest first
  std::list<Item> busy_;
  std::list<Item> closing_;
  std::map<std::string, std::size_t> idle_of_;
  std::uint64_t bodies_ = 0;
  std::uint64_t closed_ = 0;
};

}  // namespace divvy::http
