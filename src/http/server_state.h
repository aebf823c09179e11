// What the connections of a server share. Private.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "connections.h"
#include "http/server.h"
#include "route_table.h"
#include "stream_slots.h"

namespace divvy::http {

inline constexpr auto kNoThrow = boost::asio::as_tuple(boost::asio::use_awaitable);

// The largest body of any route still leaves space for another request.
inline Connections::Terms boundsOf(const std::vector<Route>& routes) {
  Connections::Terms terms;
  for (const Route& route : routes)
    terms.body_bytes = std::max(terms.body_bytes, 2 * route.most_body);
  return terms;
}

// For the executor's thread.
struct ServerState {
  ServerState(boost::asio::any_io_executor where, Listen how, std::vector<Route> what)
      : executor(std::move(where)),
        listen(std::move(how)),
        routes(std::move(what)),
        book(boundsOf(routes)),
        slots(listen.max_streams_of_address, listen.max_streams) {}

  const boost::asio::any_io_executor executor;
  const Listen listen;
  const std::vector<Route> routes;
  RouteTable table;  // indices of `routes`
  Connections book;
  StreamSlots slots;
  std::set<std::shared_ptr<Stream::State>> streams;
  bool stopped = false;  // no connection gets a further request
};

// Keeps a connection in the table while it lives.
class Booked {
 public:
  Booked(Connections* book, std::string address, std::function<void()> close)
      : book_(*book),
        place_(book->add(std::move(address), std::move(close), std::chrono::steady_clock::now())) {}
  ~Booked() { book_.remove(place_); }
  Booked(const Booked&) = delete;
  Booked& operator=(const Booked&) = delete;

  void idle() { book_.becomesIdle(place_, std::chrono::steady_clock::now()); }
  void busy() { book_.becomesBusy(place_); }
  void hears() { book_.hears(place_, std::chrono::steady_clock::now()); }
  bool holds(std::uint64_t bytes) { return book_.holdsBody(place_, bytes); }
  void dropsBody() { book_.dropsBody(place_); }
  // Returns true if the connection was closed to make space for another one. Its request is not
  // answered.
  bool closing() const { return place_->state == Connections::Item::State::kClosing; }

 private:
  Connections& book_;
  const Connections::Place place_;
};

}  // namespace divvy::http
