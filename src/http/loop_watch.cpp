#include "http/loop_watch.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include <boost/asio/steady_timer.hpp>

namespace divvy::http {
namespace {

using Clock = std::chrono::steady_clock;

// 40 times a second costs 0.1 % of a processor, and shows any stall of the bar's 50 ms.
constexpr std::chrono::milliseconds kEvery{25};

}  // namespace

struct LoopWatch::Inside : std::enable_shared_from_this<Inside> {
  Inside(boost::asio::any_io_executor executor, std::function<void(double)> told)
      : timer(std::move(executor)), late(std::move(told)) {}

  void await() {
    timer.expires_after(kEvery);
    timer.async_wait([self = shared_from_this()](const boost::system::error_code& fault) {
      if (fault || !self->late) return;
      const std::chrono::duration<double> passed = Clock::now() - self->timer.expiry();
      self->late(std::max(passed.count(), 0.0));
      self->await();
    });
  }

  boost::asio::steady_timer timer;
  std::function<void(double)> late;
};

LoopWatch::LoopWatch(boost::asio::any_io_executor executor, std::function<void(double late)> late)
    : inside_(std::make_shared<Inside>(std::move(executor), std::move(late))) {
  inside_->await();
}

LoopWatch::~LoopWatch() {
  inside_->late = nullptr;
  inside_->timer.cancel();
}

}  // namespace divvy::http
