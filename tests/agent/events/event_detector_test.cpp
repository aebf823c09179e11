// What happened between two looks.
#include "events/event_detector.h"

#include <gtest/gtest.h>

#include "base/bytes.h"
#include "events/event_log.h"

namespace divvy::agent {
namespace {

using Kinds = std::vector<std::string>;

TenantView tenantOf(const std::string& name) {
  TenantView tenant;
  tenant.id = "id-" + name;
  tenant.name = name;
  tenant.memory = "resident";
  ShareView share;
  share.device = 1;
  share.limit = gib(4).count;
  share.used = share.allowed = gib(2).count;
  tenant.shares.push_back(share);
  return tenant;
}

class EventDetectorTest : public ::testing::Test {
 protected:
  EventDetectorTest() { node_.tenants = {tenantOf("web"), tenantOf("high")}; }

  TenantView& web() { return node_.tenants[0]; }
  void out(const char* reason, std::uint64_t swapped, std::uint64_t allowed) {
    web().memory = "out";
    web().memory_reason = reason;
    web().shares[0].swapped = swapped;
    web().shares[0].allowed = allowed;
  }
  void back() {
    web().memory = "resident";
    web().memory_reason = "fits";
    web().shares[0].swapped = 0;
  }
  // The reason of the only one, "" if there is none.
  std::string only(const std::string& kind, std::uint64_t now_s) {
    const std::vector<EventView> events = watch_.detect(node_, now_s * 1000);
    EXPECT_LE(events.size(), 1u);
    if (events.empty()) return "";
    EXPECT_EQ(events[0].kind, kind);
    EXPECT_EQ(events[0].device, 1);
    EXPECT_EQ(events[0].tenant, "id-web");
    EXPECT_EQ(events[0].name, "web");
    return events[0].reason;
  }

  Snapshot node_;
  EventDetector watch_;
};

TEST_F(EventDetectorTest, NothingChanged_NoEvent) {
  EXPECT_EQ(only("", 1), "");
  EXPECT_EQ(only("", 2), "");
}

TEST_F(EventDetectorTest, Yielded_ReportedOnceThenSwappedIn) {
  out("higher-class", mib(100).count, gib(1).count);
  web().lent_to = "id-high";
  EXPECT_EQ(only("yielded", 10),
            "1 GiB swapped out for high; it is swapped in again automatically");
  web().shares[0].swapped = gib(1).count;
  EXPECT_EQ(only("", 11), "");
  back();
  EXPECT_EQ(only("swapped-in", 100), "1 GiB back after 90s");
  EXPECT_EQ(only("", 101), "");
}

TEST_F(EventDetectorTest, EachSwapReason_HasItsText) {
  out("unused", gib(2).count, 0);
  web().idle_s = 8 * 3600;
  EXPECT_EQ(only("reclaimed", 1), "idle for 8h: 2 GiB swapped out; swapped in at its next work");
  out("idle", gib(2).count, 0);
  EXPECT_EQ(only("swapped-out", 2), "2 GiB: idle, and others needed the memory");
  out("others-turn", gib(2).count, 0);
  web().lent_to = "id-gone";
  EXPECT_EQ(only("swapped-out", 3), "2 GiB: the turn of id-gone");
}

TEST_F(EventDetectorTest, RefusalsAndWaits_AreCounted) {
  EXPECT_EQ(only("", 1), "");
  web().refused = 2;
  web().refused_bytes = gib(5).count;
  EXPECT_EQ(only("refused", 2), "2 requests beyond its limit of 4 GiB; the last of 5 GiB");
  web().refused = 3;
  EXPECT_EQ(only("refused", 3), "1 request of 5 GiB beyond its limit of 4 GiB");
  web().refused_short = 1;
  web().refused_short_bytes = gib(1).count;
  EXPECT_EQ(only("device-full", 4),
            "1 request of 1 GiB within its limit of 4 GiB: the device has no memory that could be "
            "freed");
  web().refused_short = 3;
  web().refused_short_bytes = 0;
  EXPECT_EQ(only("device-full", 5),
            "2 requests within its limit of 4 GiB: the device has no memory that could be freed");
  web().pressure_waits = 1;
  web().pressure_wait_ms = 300'000;
  EXPECT_EQ(only("waited", 6),
            "1 allocation waited up to 5m: the device is short of memory that is never swapped");
  web().refusal = "it captures a graph";
  EXPECT_EQ(only("kept", 7), "could not release memory on request: it captures a graph");
  EXPECT_EQ(only("", 8), "");
  web().refusal = "the host has too little memory for it";
  EXPECT_NE(only("host-short", 9), "");
}

// Another agent told of what was counted before the first look; of who came since, all is ours.
TEST_F(EventDetectorTest, FirstLook_EarlierCountsIgnored) {
  web().refused = 5;
  EXPECT_EQ(only("", 1), "");
  TenantView late = tenantOf("late");
  late.refused = 1;
  node_.tenants.push_back(late);
  EXPECT_EQ(watch_.detect(node_, 2000).size(), 1u);
}

TEST_F(EventDetectorTest, TenantEnds_RefusalsSinceLastLookReported) {
  web().refused = 5;
  EXPECT_TRUE(watch_.detectEnd(web()).empty()) << "before the first look: not known since when";
  EXPECT_EQ(only("", 1), "");
  web().refused = 6;
  EXPECT_EQ(only("refused", 2), "1 request beyond its limit of 4 GiB");
  web().refused = 9;
  const std::vector<EventView> last = watch_.detectEnd(web());
  ASSERT_EQ(last.size(), 1u);
  EXPECT_EQ(last[0].kind, "refused");
  EXPECT_EQ(last[0].tenant, "id-web");
  EXPECT_EQ(last[0].reason, "3 requests beyond its limit of 4 GiB");
  TenantView brief = tenantOf("brief");
  brief.refused = 2;
  brief.refused_short = 7;
  EXPECT_EQ(watch_.detectEnd(brief).size(), 2u) << "began and ended between two looks";
  EXPECT_EQ(watch_.refusedAllocations(), (RefusedAllocations{6, 7}));
}

TEST_F(EventDetectorTest, ThrashRisk_EventOfDevice) {
  DeviceView device;
  device.index = 3;
  device.thrash_risk = true;
  device.swap_predicted_ms = 2000;
  device.quantum_ms = 12'000;
  node_.devices.push_back(device);
  const std::vector<EventView> events = watch_.detect(node_, 1000);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].device, 3);
  EXPECT_NE(events[0].reason.find("a swap takes 2s, a turn 12s"), std::string::npos);
  EXPECT_TRUE(watch_.detect(node_, 2000).empty());
}

TEST(EventLog, Full_KeepsNewestAndSequence) {
  EventLog log;
  for (std::size_t i = 0; i < EventLog::kMax + 10; ++i) {
    EventView event;
    event.tenant = i % 2 == 0 ? "a" : "b";
    event.name = i % 2 == 0 ? "web" : "";
    event.kind = "waited";
    log.add(event);
  }
  EXPECT_EQ(log.last(), EventLog::kMax + 10);
  const std::vector<EventView> all = log.since(0, "");
  ASSERT_EQ(all.size(), EventLog::kMax);
  EXPECT_EQ(all.front().seq, 11u);
  EXPECT_GT(all.front().time_ms, 0);
  EXPECT_EQ(log.since(0, "a").size(), EventLog::kMax / 2);
  EXPECT_EQ(log.since(0, "web").size(), EventLog::kMax / 2);
  EXPECT_EQ(log.since(log.last() - 3, "").size(), 3u);
  EXPECT_TRUE(log.since(log.last(), "").empty());
}

}  // namespace
}  // namespace divvy::agent
