// The parts of Boost.Asio that the agent's loop uses, and short names for them. Private.
#pragma once

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include "asio/rethrow.h"

namespace divvy::agent {

namespace asio = boost::asio;
using boost::system::error_code;

// Errors are the first element of the result; nothing is thrown into a coroutine.
inline constexpr auto kNoThrow = asio::as_tuple(asio::use_awaitable);

}  // namespace divvy::agent
