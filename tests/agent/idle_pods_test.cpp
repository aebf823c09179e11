// Which pods of a node use nothing of what they were given.
#include "idle_pods.h"

#include <gtest/gtest.h>

namespace divvy::agent {
namespace {

constexpr std::int64_t kNow = 1'000'000;
constexpr std::uint64_t kHour = 3'600'000;

Resting container(const std::string& uid, const std::string& name, std::uint64_t idle_ms,
                  std::uint64_t after_ms, bool known = true) {
  return {{uid, "s", "pod-" + uid, name}, known, idle_ms, after_ms};
}

TEST(IdlePods, AllOfItsContainersHaveToBeIdle) {
  EXPECT_TRUE(idlePods({}, kNow, {}, {}).empty());
  const kube::Complaints idle =
      idlePods({container("a", "x", 2 * kHour, kHour), container("a", "y", 3 * kHour, 3 * kHour),
                container("b", "x", 2 * kHour, kHour), container("b", "y", kHour - 1, kHour)},
               kNow, {}, {});
  ASSERT_EQ(idle.size(), 1u);
  EXPECT_EQ(idle.at("a"), (kube::Complaint{"s", "pod-a", kNow - 7'200}))
      << "since the last of them";
}

TEST(IdlePods, WhoMayBeIdleForEverKeepsItsPod) {
  EXPECT_TRUE(idlePods({container("a", "x", kHour, 0), container("a", "y", kHour, 1)}, kNow, {}, {})
                  .empty());
}

TEST(IdlePods, WhoIsNotSeenToWorkIsNotIdle) {
  EXPECT_TRUE(idlePods({container("a", "x", kHour, 1, false)}, kNow, {}, {}).empty());
}

TEST(IdlePods, AnotherAgentSaysTheSameInstant) {
  const kube::Complaints before{{"a", {"s", "pod-a", kNow - 3'600}}};
  const auto since = [&](std::uint64_t idle_ms) {
    return idlePods({container("a", "x", idle_ms, 1)}, kNow, before, {}).at("a").since;
  };
  EXPECT_EQ(since(kHour - 4'000), kNow - 3'600);
  EXPECT_EQ(since(kHour + 4'000), kNow - 3'600);
  EXPECT_EQ(since(kHour - 60'000), kNow - 3'540) << "it has worked meanwhile";
}

// An agent that has gone says nothing new: a deadline is confirmed when it is over, and not before.
TEST(IdlePods, ADeadlineIsConfirmedWhenItIsOver) {
  const auto confirmed = [](std::int64_t deadline) {
    return idlePods({container("a", "x", kHour, 1)}, kNow, {}, {{"a", deadline}, {"b", kNow}})
        .at("a")
        .confirmed;
  };
  EXPECT_EQ(confirmed(kNow + 1), 0);
  EXPECT_EQ(confirmed(kNow), kNow);
  EXPECT_EQ(confirmed(kNow - 100), kNow - 100);
}

}  // namespace
}  // namespace divvy::agent
