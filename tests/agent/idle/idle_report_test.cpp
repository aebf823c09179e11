// Which pods of a node use nothing of what they were given.
#include "idle/idle_report.h"

#include <gtest/gtest.h>

namespace divvy::agent {
namespace {

constexpr std::int64_t kNow = 1'000'000;
constexpr std::uint64_t kHour = 3'600'000;

IdleContainer container(const std::string& uid, const std::string& name, std::uint64_t idle_ms,
                        std::uint64_t after_ms, bool known = true) {
  return {{uid, "s", "pod-" + uid, name}, known, idle_ms, after_ms};
}

// What an idle pod with these deadlines is confirmed with.
std::int64_t confirmed(const Deadlines& deadlines, const Instant& now) {
  return idlePods({container("a", "x", kHour, 1)}, now, {}, deadlines).at("a").confirmed;
}

TEST(IdlePods, SeveralContainers_AllMustBeIdle) {
  EXPECT_TRUE(idlePods({}, {kNow}, {}, {}).empty());
  const kube::Complaints idle =
      idlePods({container("a", "x", 2 * kHour, kHour), container("a", "y", 3 * kHour, 3 * kHour),
                container("b", "x", 2 * kHour, kHour), container("b", "y", kHour - 1, kHour)},
               {kNow}, {}, {});
  ASSERT_EQ(idle.size(), 1u);
  EXPECT_EQ(idle.at("a"), (kube::EvictionRequest{"s", "pod-a", kNow - 7'200}))
      << "since the last of them";
}

TEST(IdlePods, ContainerWithoutIdleLimit_PodStays) {
  EXPECT_TRUE(
      idlePods({container("a", "x", kHour, 0), container("a", "y", kHour, 1)}, {kNow}, {}, {})
          .empty());
}

TEST(IdlePods, UnknownActivity_IsNotIdle) {
  EXPECT_TRUE(idlePods({container("a", "x", kHour, 1, false)}, {kNow}, {}, {}).empty());
}

TEST(IdlePods, AgentRestarted_SinceIsKept) {
  const kube::Complaints before{{"a", {"s", "pod-a", kNow - 3'600}}};
  const auto since = [&](std::uint64_t idle_ms) {
    return idlePods({container("a", "x", idle_ms, 1)}, {kNow}, before, {}).at("a").since;
  };
  EXPECT_EQ(since(kHour - 4'000), kNow - 3'600);
  EXPECT_EQ(since(kHour + 4'000), kNow - 3'600);
  EXPECT_EQ(since(kHour - 60'000), kNow - 3'540) << "it has worked meanwhile";
}

// An agent that has gone says nothing new: a deadline is confirmed when it is over, and not before.
TEST(IdlePods, DeadlineOver_IsConfirmed) {
  Deadlines deadlines;
  noteDeadline(&deadlines, "a", kNow + 60, kNow, 5'000);
  const auto confirmedAt = [&](std::int64_t wall, std::uint64_t steady_ms) {
    return confirmed(deadlines, {wall, steady_ms});
  };
  EXPECT_EQ(confirmedAt(kNow + 59, 64'999), 0);
  EXPECT_EQ(confirmedAt(kNow + 60, 65'000), kNow + 60);
  noteDeadline(&deadlines, "a", kNow + 60, kNow + 50, 55'000);
  EXPECT_EQ(confirmedAt(kNow + 60, 65'000), kNow + 60) << "it is told again, and is the same";
  noteDeadline(&deadlines, "a", kNow + 90, kNow + 60, 65'000);
  EXPECT_EQ(confirmedAt(kNow + 60, 65'000), 0) << "it was extended";
  noteDeadline(&deadlines, "a", 0, kNow + 60, 65'000);
  EXPECT_EQ(confirmedAt(kNow + 100, 100'000), 0) << "it was called off";
  noteDeadline(&deadlines, "a", kNow - 100, kNow, 5'000);
  EXPECT_EQ(confirmedAt(kNow, 5'000), kNow - 100) << "an agent that was away hears of it late";
}

// Regression: a clock that was set an hour ahead ended the notice of each idle pod at once.
TEST(IdlePods, ClockSet_NoticeKeepsItsLength) {
  Deadlines deadlines;
  noteDeadline(&deadlines, "a", kNow + 60, kNow, 5'000);
  const auto confirmedAt = [&](std::int64_t wall, std::uint64_t steady_ms) {
    return confirmed(deadlines, {wall, steady_ms});
  };
  EXPECT_EQ(confirmedAt(kNow + 3'600, 6'000), 0);
  EXPECT_EQ(confirmedAt(kNow - 3'600, 65'000), kNow + 60);
}

}  // namespace
}  // namespace divvy::agent
