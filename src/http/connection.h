// One connection: reads requests, calls handlers, writes replies. Private.
#pragma once

#include <memory>
#include <string>

#include <boost/asio/awaitable.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/ssl/ssl_stream.hpp>

#include "server_state.h"

namespace divvy::http {

using PlainWire = boost::beast::tcp_stream;
using SecureWire = boost::beast::ssl_stream<boost::beast::tcp_stream>;

// Serve requests until the connection must end. All but `state` outlive the coroutine. `peer` is
// the client's address.
boost::asio::awaitable<void> serve(PlainWire& wire, std::shared_ptr<ServerState> state,
                                   Booked* booked, const std::string& peer);
boost::asio::awaitable<void> serve(SecureWire& wire, std::shared_ptr<ServerState> state,
                                   Booked* booked, const std::string& peer);

}  // namespace divvy::http
