#include "placement/wait_queue.h"

#include <gtest/gtest.h>

namespace divvy::agent {
namespace {

Waiting of(Priority priority) {
  Waiting waiting;
  waiting.priority = priority;
  return waiting;
}

TEST(WaitQueue, SeveralTickets_PriorityThenArrival) {
  WaitQueue queue;
  const auto low = queue.join(of(Priority::kLow));
  const auto first = queue.join(of(Priority::kNormal));
  const auto second = queue.join(of(Priority::kNormal));
  const auto high = queue.join(of(Priority::kHigh));
  EXPECT_EQ(queue.position(high), 1u);
  EXPECT_EQ(queue.position(first), 2u);
  EXPECT_EQ(queue.position(second), 3u);
  EXPECT_EQ(queue.position(low), 4u);
  EXPECT_TRUE(queue.isHead(high));
  queue.leave(high);
  EXPECT_TRUE(queue.isHead(first));
}

TEST(WaitQueue, LeaveTwice_IsHarmless) {
  WaitQueue queue;
  const auto ticket = queue.join(of(Priority::kNormal));
  queue.leave(ticket);
  queue.leave(ticket);
  EXPECT_TRUE(queue.empty());
  EXPECT_EQ(queue.position(ticket), 0u);
  EXPECT_FALSE(queue.isHead(ticket));
}

}  // namespace
}  // namespace divvy::agent
