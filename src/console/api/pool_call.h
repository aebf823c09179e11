// Blocking calls of coroutines.
#pragma once

#include <functional>
#include <optional>
#include <utility>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace divvy::console {

// Runs a blocking call on the pool. `call` must last until then. (A result of co_spawn needs a
// default value. The closure has no destructor: GCC 12 destroys one in a co_await twice.)
template <typename T>
boost::asio::awaitable<T> onPool(boost::asio::thread_pool& pool, const std::function<T()>& call) {
  const std::function<T()>* const work = &call;
  std::optional<T> result = co_await boost::asio::co_spawn(
      pool, [work]() -> boost::asio::awaitable<std::optional<T>> { co_return (*work)(); },
      boost::asio::use_awaitable);
  co_return std::move(*result);
}

}  // namespace divvy::console
