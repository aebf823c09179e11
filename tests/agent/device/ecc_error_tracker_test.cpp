#include "device/ecc_error_tracker.h"

#include <gtest/gtest.h>

namespace divvy::agent {
namespace {

using driver::MemoryErrors;

MemoryErrors counted(std::uint64_t uncorrected, bool pending = false, bool failed = false) {
  return {uncorrected, pending, failed};
}

// One look at card 0.
DriverHealth look(const MemoryErrors& errors, std::vector<driver::DeviceFault> faults = {}) {
  return {std::move(faults), {{0, true}}, {{0, errors}}};
}

// "48 away: 2 uncorrected memory errors", a line each.
std::string told(const EccErrorTracker::Seen& seen) {
  std::string all;
  for (const MissedFault& fault : seen.faults)
    all +=
        std::to_string(fault.growth.xid()) + (fault.away ? " away: " : ": ") + fault.growth.words();
  for (const auto& [index, growth] : seen.old) all += "old: " + growth.words();
  return all;
}

TEST(EccErrorDelta, HigherCount_DeltaIsDifference) {
  EXPECT_FALSE(grownSince(counted(2), counted(2)).any());
  EXPECT_EQ(grownSince(counted(2), counted(5)), (EccErrorDelta{3, false, false}));
  EXPECT_EQ(grownSince(counted(0), counted(0, true, true)), (EccErrorDelta{0, true, true}));
  EXPECT_FALSE(grownSince(counted(2, true, true), counted(2)).any()) << "the card was reset";
}

TEST(EccErrorDelta, CountReset_DeltaIsAll) {
  EXPECT_EQ(grownSince(counted(5), counted(2)).uncorrected, 2u);
  EXPECT_FALSE(grownSince(counted(5), counted(0)).any());
  EXPECT_EQ(grownSince(reloaded(counted(2)), counted(2)).uncorrected, 2u);
  EXPECT_EQ(reloaded(counted(2, true, true)), counted(0, true, true)) << "the card keeps these";
  EXPECT_EQ(reloaded({}), MemoryErrors());
}

TEST(EccErrorDelta, UnreportedCount_DeltaIsNone) {
  EXPECT_FALSE(grownSince({}, counted(5, true, true)).any());
  EXPECT_FALSE(grownSince(counted(5), {}).any());
  EXPECT_EQ(laterOf(counted(5, true), {7, std::nullopt, std::nullopt}), counted(7, true));
  EXPECT_EQ(laterOf({}, counted(7)), counted(7));
}

TEST(EccErrorDelta, SeveralErrors_XidOfGravest) {
  EXPECT_EQ((EccErrorDelta{1, true, true}).xid(), 64u);
  EXPECT_EQ((EccErrorDelta{1, true, false}).xid(), 48u);
  EXPECT_EQ((EccErrorDelta{0, true, false}).xid(), 63u);
  EXPECT_EQ((EccErrorDelta{1, true, true}).words(),
            "1 uncorrected memory error, memory that could not be remapped, memory that is "
            "remapped at the next reset of the device");
  for (const std::uint64_t xid : {48, 63, 64, 94, 95, 140}) EXPECT_TRUE(isOfMemory(xid));
  for (const std::uint64_t xid : {13, 31, 79}) EXPECT_FALSE(isOfMemory(xid));
}

TEST(EccErrorTracker, GrownWhileAgentAbsent_OneFaultAtFirstLook) {
  EccErrorTracker watch;
  watch.recall(0, counted(1));
  EXPECT_EQ(told(watch.observe(look(counted(3)))), "48 away: 2 uncorrected memory errors");
  EXPECT_EQ(watch.known().at(0), counted(3));
  for (int i = 0; i < 5; ++i) EXPECT_EQ(told(watch.observe(look(counted(3)))), "");
  EccErrorTracker next;
  next.recall(0, watch.known().at(0));
  EXPECT_EQ(told(next.observe(look(counted(3)))), "");
}

TEST(EccErrorTracker, FirstLookEver_CountIsOld) {
  EccErrorTracker watch;
  EXPECT_EQ(told(watch.observe(look(counted(3)))), "old: 3 uncorrected memory errors");
  EXPECT_EQ(told(watch.observe(look(counted(3)))), "");
  EXPECT_EQ(watch.known().at(0), counted(3));
  EccErrorTracker good;
  EXPECT_EQ(told(good.observe(look(counted(0)))), "");
  EXPECT_EQ(good.known().at(0), counted(0)) << "what comes is held against that";
}

// Drivers tell and count at different times.
TEST(EccErrorTracker, EventNearCount_NoMissedFault) {
  const std::vector<driver::DeviceFault> event{{0, 48}, {0, 48}};
  for (const int when : {-1, 0, 1}) {
    EccErrorTracker watch;
    watch.recall(0, counted(0));
    watch.observe(look(counted(0)));
    for (int at = -2; at < 5; ++at) {
      const DriverHealth said =
          look(counted(at < 0 ? 0 : 2), at == when ? event : std::vector<driver::DeviceFault>());
      EXPECT_EQ(told(watch.observe(said)), "") << when << " at " << at;
    }
    EXPECT_EQ(watch.known().at(0), counted(2)) << when;
  }
}

TEST(EccErrorTracker, CountWithoutEvent_FaultAfterTwoLooks) {
  for (const std::uint64_t other : {0, 13, 79}) {
    EccErrorTracker watch;
    watch.observe(look(counted(0)));
    const std::vector<driver::DeviceFault> event{{0, other}, {1, 48}};
    EXPECT_EQ(told(watch.observe(look(counted(2), event))), "") << "it may still come";
    EXPECT_EQ(watch.known().at(0), counted(0)) << "the next agent would find it";
    EXPECT_EQ(told(watch.observe(look(counted(2)))), "48: 2 uncorrected memory errors");
    EXPECT_EQ(told(watch.observe(look(counted(2)))), "");
  }
}

// An event covers one growth, not whatever comes later.
TEST(EccErrorTracker, OldEvent_CoversNoLaterGrowth) {
  EccErrorTracker watch;
  watch.observe(look(counted(0)));
  watch.observe(look(counted(1), {{0, 48}}));
  EXPECT_EQ(told(watch.observe(look(counted(2)))), "");
  EXPECT_EQ(told(watch.observe(look(counted(2)))), "48: 1 uncorrected memory error");
  watch.observe(look(counted(2), {{0, 48}}));
  watch.observe(look(counted(2)));
  EXPECT_EQ(told(watch.observe(look(counted(3)))), "");
  EXPECT_EQ(told(watch.observe(look(counted(3)))), "48: 1 uncorrected memory error");
}

TEST(EccErrorTracker, DeviceNotReporting_KnownCountKept) {
  EccErrorTracker watch;
  watch.recall(0, counted(1));
  EXPECT_EQ(told(watch.observe(look({}))), "");
  EXPECT_EQ(watch.known().at(0), counted(1));
  EXPECT_EQ(told(watch.observe(look(counted(2)))), "48 away: 1 uncorrected memory error");
  EccErrorTracker none;
  EXPECT_EQ(told(none.observe(look({}))), "");
  EXPECT_TRUE(none.known().empty());
}

TEST(EccErrorTracker, LowerCount_BecomesKnown) {
  EccErrorTracker watch;
  watch.recall(0, counted(5));
  EXPECT_EQ(told(watch.observe(look(counted(0)))), "");
  EXPECT_EQ(watch.known().at(0), counted(0));
  EccErrorTracker next;
  next.recall(0, counted(5));
  EXPECT_EQ(told(next.observe(look(counted(2)))), "48 away: 2 uncorrected memory errors");
}

}  // namespace
}  // namespace divvy::agent
