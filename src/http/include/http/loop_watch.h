// Measures how late an event loop is.
#pragma once

#include <functional>
#include <memory>

#include <boost/asio/any_io_executor.hpp>

namespace divvy::http {

// Timer of 25 ms. Its lateness is how long the loop ran other work without a break. Used on the
// loop's thread only.
class LoopWatch {
 public:
  // `late` is called with seconds, 0 or more, first after 25 ms.
  LoopWatch(boost::asio::any_io_executor executor, std::function<void(double late)> late);
  ~LoopWatch();
  LoopWatch(const LoopWatch&) = delete;
  LoopWatch& operator=(const LoopWatch&) = delete;

 private:
  struct Inside;
  std::shared_ptr<Inside> inside_;
};

}  // namespace divvy::http
