#include "device/device_health.h"

#include <gtest/gtest.h>

namespace divvy::agent {
namespace {

DriverHealth said(std::vector<driver::DeviceFault> faults, bool answers = true) {
  return {std::move(faults), {{0, true}, {1, answers}}};
}

TEST(DeviceHealth, NoAnswer_UnhealthyUntilAnswer) {
  DeviceHealth health;
  EXPECT_TRUE(health.good(1)) << "nothing was ever said of it";
  EXPECT_FALSE(health.observe(said({}), 0));
  EXPECT_TRUE(health.observe(said({}, false), 1));
  EXPECT_EQ(health.why(1), "the device does not answer");
  EXPECT_TRUE(health.good(0));
  EXPECT_FALSE(health.observe(said({}, false), 2));
  EXPECT_TRUE(health.observe(said({}), 3));
  EXPECT_TRUE(health.good(1));
}

TEST(DeviceHealth, DeviceFault_UnhealthyUntilQuiet) {
  DeviceHealth health;
  EXPECT_TRUE(health.observe(said({{1, 48}}), 1000));
  EXPECT_EQ(health.why(1), "Xid 48");
  EXPECT_FALSE(health.observe(said({}), 1000 + kQuietMs - 1));
  EXPECT_FALSE(health.observe(said({{1, 63}}), 1000 + kQuietMs - 1)) << "it was bad, and still is";
  EXPECT_FALSE(health.observe(said({}), 1000 + 2 * kQuietMs - 2));
  EXPECT_TRUE(health.observe(said({}), 1000 + 2 * kQuietMs));
  EXPECT_TRUE(health.good(1));
}

// Regression: an agent that began anew gave out at once what the one before it had found faulty.
TEST(DeviceHealth, RecalledFault_HoldsUntilQuiet) {
  DeviceHealth before, health;
  before.observe(said({{1, 48}}), 1000);
  EXPECT_EQ(before.pending(), (std::map<unsigned, KnownFault>{{1, {48, 1000}}}));
  health.recall(1, before.pending().at(1), 2000);
  EXPECT_TRUE(health.faulty(1));
  EXPECT_TRUE(health.faults(1).empty()) << "this agent has not heard of it";
  EXPECT_FALSE(health.observe(said({}), 1000 + kQuietMs - 1));
  EXPECT_TRUE(health.observe(said({}), 1000 + kQuietMs));
  EXPECT_TRUE(health.pending().empty());
}

TEST(DeviceHealth, ExpiredOrFutureRecall_GoodAfterQuietTime) {
  DeviceHealth health;
  health.recall(0, {48, 1000}, 1000 + kQuietMs);
  EXPECT_TRUE(health.good(0));
  health.recall(1, {79, 5000}, 1000);
  EXPECT_FALSE(health.good(1));
  EXPECT_TRUE(health.observe(said({}), 1000 + kQuietMs));
}

// A simulated card's time may run faster.
TEST(DeviceHealth, CustomQuietTime_IsUsed) {
  DeviceHealth health(100);
  EXPECT_TRUE(health.observe(said({{1, 48}}), 1000));
  EXPECT_FALSE(health.observe(said({}), 1099));
  EXPECT_TRUE(health.observe(said({}), 1100));
  EXPECT_TRUE(health.good(1));
}

// Else a card that fell off the bus would be good the moment it is back.
// Regression: pods that had some of a card were turned away by a kubelet that began anew, for
// somebody else had come to it.
TEST(DeviceHealth, OtherHolderOrUser_IsNotFault) {
  DeviceHealth health;
  health.held({{0, "pod a/b"}});
  health.used({{1, "process 7 (x)"}});
  for (const unsigned index : {0u, 1u}) {
    EXPECT_FALSE(health.good(index));
    EXPECT_FALSE(health.faulty(index));
  }
  health.observe({{{2, 79}}, {{0, true}, {1, false}, {2, true}}}, 1000);
  EXPECT_FALSE(health.faulty(0));
  EXPECT_TRUE(health.faulty(1));
  EXPECT_TRUE(health.faulty(2));
}

TEST(DeviceHealth, NotAnswering_QuietTimeDoesNotRun) {
  DeviceHealth health;
  EXPECT_TRUE(health.observe(said({{1, 79}}, false), 0));
  EXPECT_FALSE(health.observe(said({}, false), 3 * kQuietMs));
  EXPECT_FALSE(health.observe(said({}), 3 * kQuietMs + 1));
  EXPECT_EQ(health.why(1), "Xid 79");
  EXPECT_TRUE(health.observe(said({}), 4 * kQuietMs));
}

TEST(DeviceHealth, FaultWhileAgentAbsent_ReasonSaysSo) {
  DeviceHealth health, next;
  const KnownFault fault{48, 1000, 1795762692, 1795763712};
  EXPECT_TRUE(health.found(1, fault));
  EXPECT_EQ(health.why(1),
            "Xid 48 while no agent ran, between 2026-11-27T06:58:12Z and 2026-11-27T07:15:12Z");
  EXPECT_EQ(health.faults(1).at(48), 1u);
  EXPECT_FALSE(health.found(1, fault)) << "it was bad already";
  next.recall(1, health.pending().at(1), 2000);
  EXPECT_EQ(next.why(1), health.why(1));
  EXPECT_FALSE(health.observe(said({}), 1000 + kQuietMs - 1));
  EXPECT_TRUE(health.observe(said({}), 1000 + kQuietMs)) << "as after any fault";
  // What is heard then is another one.
  next.observe(said({{1, 94}}), 3000);
  EXPECT_EQ(next.why(1), "Xid 94");
  EXPECT_TRUE(health.found(0, {63, 3000, 0, 1795763712}));
  EXPECT_EQ(health.why(0), "Xid 63 while no agent ran, before 2026-11-27T07:15:12Z");
  EXPECT_TRUE(next.found(0, {48, 3000})) << "an agent ran, and the driver sent no event";
  EXPECT_EQ(next.why(0), "Xid 48");
}

TEST(DeviceHealth, ApplicationXid_CountedButHealthy) {
  DeviceHealth health;
  for (const std::uint64_t xid : {13, 31, 43, 45, 68, 109}) {
    EXPECT_TRUE(isProgramsOwn(xid));
    EXPECT_FALSE(health.observe(said({{0, xid}, {0, xid}}), xid));
    EXPECT_EQ(health.faults(0).at(xid), 2u);
  }
  EXPECT_TRUE(health.good(0));
  EXPECT_TRUE(health.faults(1).empty());
}

}  // namespace
}  // namespace divvy::agent
