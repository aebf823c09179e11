// The connections of a server: how many there are, which one goes when there are too many, and what
// all of them hold in bodies. Pure: no socket is touched but through what was handed in. Private.
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
// busy while it is answered. When a bound is reached one that has been idle for long goes, never
// the newest; a busy one never does. For one thread.
class Connections {
 public:
  struct Terms {
    std::size_t most = 1024;
    // One peer's that are idle for `fresh` and longer: an API server opens a hundred at once, and
    // uses them all. Others are bounded by `most` alone.
    std::size_t idle_of_address = 128;
    std::chrono::milliseconds fresh{2000};
    std::uint64_t body_bytes = 64u << 20;
  };

  using Instant = std::chrono::steady_clock::time_point;
  struct Item {
    std::string address;
    std::function<void()> close;  // has the connection end soon; it is removed later
    Instant since;                // of being idle
    enum class State : std::uint8_t { kIdle, kBusy, kClosing } state = State::kIdle;
    std::uint64_t body = 0;
  };
  using Place = std::list<Item>::iterator;

  explicit Connections(const Terms& terms) : terms_(terms) {}

  // Makes room for one more: of the address that has the most idle ones the oldest goes. False: all
  // of them are busy.
  bool makeRoom();
  // After makeRoom(). It is idle; one idle connection too many of its address ends the oldest.
  Place add(std::string address, std::function<void()> close, Instant now);
  void remove(Place place);
  void becomesIdle(Place place, Instant now);
  void becomesBusy(Place place);
  // Something of a request has come: it counts as idle from now on.
  void hears(Place place, Instant now);
  // Notes a body of so many bytes, until the next request. Where all bodies together are too large,
  // connections end whose bodies have been under way for longest. False: it is too large all the
  // same.
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
  std::list<Item> idle_;  // the oldest first
  std::list<Item> busy_;
  std::list<Item> closing_;
  std::map<std::string, std::size_t> idle_of_;
  std::uint64_t bodies_ = 0;
  std::uint64_t closed_ = 0;
};

}  // namespace divvy::http
