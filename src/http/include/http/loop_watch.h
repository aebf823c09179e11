// Tells how late an event loop is.
#pragma once

#include <functional>
#include <memory>

#include <boost/asio/any_io_executor.hpp>

namespace divvy::http {

// A timer that is due every 25 ms. How late it runs is how long the loop did something else without
// a break. For the loop's thread.
class LoopWatch {
 public:
  // `late`: seconds, 0 or more. The first call comes after 25 ms.
  LoopWatch(boost::asio::any_io_executor executor, std::function<void(double late)> late);
  ~LoopWatch();
  LoopWatch(const LoopWatch&) = delete;
  LoopWatch& operator=(const LoopWatch&) = delete;

 private:
  struct Inside;
  std::shared_ptr<Inside> inside_;
};

}  // namespace divvy::http
