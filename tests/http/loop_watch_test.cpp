#include "http/loop_watch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

namespace divvy::http {
namespace {

using Clock = std::chrono::steady_clock;

TEST(LoopWatch, LongTurn_LatenessReported) {
  boost::asio::io_context loop;
  std::vector<double> told;
  const LoopWatch watch(loop.get_executor(), [&](double late) { told.push_back(late); });
  boost::asio::post(loop, [] {
    for (const auto until = Clock::now() + std::chrono::milliseconds(300); Clock::now() < until;) {
    }
  });
  const auto most = [&] { return told.empty() ? 0 : *std::max_element(told.begin(), told.end()); };
  for (const auto until = Clock::now() + std::chrono::seconds(20);
       told.size() < 3 && Clock::now() < until;)
    loop.run_one_for(std::chrono::seconds(1));
  EXPECT_GE(most(), 0.25) << "the timer was due after 25 ms of 300";
  EXPECT_GE(*std::min_element(told.begin(), told.end()), 0.0);
}

TEST(LoopWatch, Destroyed_ReportsNothing) {
  boost::asio::io_context loop;
  unsigned told = 0;
  {
    const LoopWatch watch(loop.get_executor(), [&](double) { ++told; });
  }
  loop.run();
  EXPECT_EQ(told, 0u);
}

}  // namespace
}  // namespace divvy::http
