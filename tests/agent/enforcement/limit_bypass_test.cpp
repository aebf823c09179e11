// Who goes around what limits him, by tables of what a driver may say.
#include "enforcement/limit_bypass.h"

#include <gtest/gtest.h>

#include "pods/limit_bypass_report.h"
#include "tenant/tenant_record.h"

namespace divvy::agent {
namespace {

const Allowances kGiven{{"a", {{0, gib(4)}}}, {"b", {{0, gib(8)}, {1, gib(8)}}}};

std::map<std::string, Bypass> seen(const std::vector<DeviceProcess>& processes) {
  return bypassesIn(processes, kGiven);
}

TEST(BypassesIn, WithinAllowance_NoBypass) {
  EXPECT_TRUE(seen({}).empty());
  EXPECT_TRUE(seen({{0, 10, "a", true, gib(4)},
                    {0, 11, "b", true, gib(4)},
                    {0, 12, "b", true, gib(4)},
                    {1, 12, "b", true, gib(8)}})
                  .empty());
  EXPECT_TRUE(seen({{0, 10, "a", true, gib(4) + mib(256)}}).empty()) << "what the driver keeps";
  EXPECT_TRUE(seen({{0, 10, "a", true, {}}}).empty()) << "a driver that does not tell";
}

TEST(BypassesIn, SeveralKinds_GravestIsReported) {
  const Bypass other{BypassKind::kOtherDevice, 1, 10, {}, {}};
  const Bypass strange{BypassKind::kUnregistered, 0, 11, {}, {}};
  const Bytes much = gib(4) + mib(256) + Bytes{1};
  const Bypass memory{BypassKind::kMemory, 0, 0, much, gib(4)};
  EXPECT_EQ(seen({{1, 10, "a", true, {}}}).at("a"), other) << "registered, on another's card";
  EXPECT_EQ(seen({{0, 11, "a", false, {}}}).at("a"), strange);
  EXPECT_EQ(seen({{0, 10, "a", true, much}}).at("a"), memory);
  EXPECT_EQ(seen({{0, 10, "a", true, much}, {0, 11, "a", false, {}}}).at("a"), strange);
  EXPECT_EQ(
      seen({{0, 11, "a", false, much}, {1, 10, "a", true, {}}, {0, 12, "a", true, much}}).at("a"),
      other);
  // Of all its processes together, and of each card alone.
  EXPECT_EQ(seen({{0, 10, "a", true, gib(3)}, {0, 11, "a", true, gib(3)}}).at("a").bytes, gib(6));
  EXPECT_TRUE(seen({{0, 11, "b", true, gib(8)}, {1, 11, "b", true, gib(8)}}).empty());
  // A large share has more of what no ledger sees.
  const Allowances large{{"c", {{0, gib(64)}}}};
  EXPECT_TRUE(bypassesIn({{0, 1, "c", true, gib(68)}}, large).empty());
  EXPECT_FALSE(bypassesIn({{0, 1, "c", true, gib(69)}}, large).empty());
}

// After a shrink a tenant has more than its new limit until it frees some.
TEST(Shrinking, SeveralLooks_FallsToMaxAndNeverRises) {
  Shrinking shrinking;
  Bytes stood = gib(8);
  const auto observe = [&](Bytes seen) { return stood = shrinking.observe(stood, seen); };
  for (const Bytes seen : {gib(7), gib(6), Bytes{}, Bytes{}}) EXPECT_EQ(observe(seen), gib(8));
  EXPECT_EQ(observe(gib(5)), gib(7)) << "it is not seen for a moment now and then";
  for (unsigned i = 0; i + 1 < Shrinking::kLooks; ++i) EXPECT_EQ(observe(gib(9)), gib(7));
  EXPECT_EQ(observe(gib(9)), gib(7)) << "more is what bypasses are";
  for (unsigned i = 0; i < Shrinking::kLooks; ++i) observe(gib(2));
  EXPECT_EQ(stood, gib(2));
}

TEST(NoteShrunk, SeveralShrinks_LargestReserveStands) {
  TenantRecord record;
  const auto share = [](Bytes reserve) {
    return ShareRecord{"GPU-1", reserve, reserve, 0, reserve};
  };
  const auto becomes = [&](Bytes reserve) {
    noteShrunk(record, {share(reserve)});
    record.shares = {share(reserve)};
    return mostStood(record, record.shares[0]);
  };
  record.shares = {share(gib(4))};
  EXPECT_EQ(mostStood(record, record.shares[0]), gib(4));
  EXPECT_EQ(becomes(gib(2)), gib(4));
  EXPECT_EQ(becomes(gib(1)), gib(4));
  EXPECT_EQ(becomes(gib(3)), gib(4));
  EXPECT_EQ(becomes(gib(5)), gib(5));
  EXPECT_TRUE(record.stood.empty());
}

// Regression: the first of a pod's containers was accused of what another one did on its own
// device.
TEST(OwnerOn, ContainersOfPod_OwnerIsDeviceHolder) {
  const Allowances pod{{"first", {{0, gib(4)}}}, {"second", {{1, gib(4)}}}};
  const std::vector<std::string> both{"first", "second"};
  EXPECT_EQ(ownerOn(0, "first", both, pod), "first");
  EXPECT_EQ(ownerOn(1, "first", both, pod), "second");
  EXPECT_EQ(ownerOn(0, "second", both, pod), "first");
  EXPECT_EQ(ownerOn(2, "first", both, pod), "first") << "nobody's: it goes around its limit";
  EXPECT_EQ(ownerOn(1, "first", {"first"}, pod), "first") << "another pod's";
}

TEST(BypassesIn, PodWithoutAllowance_IsOtherDevice) {
  const std::string owner = podOwner("6b5c1a52-0d5c-4b0e-9d0b-0a6f6f3c2d11");
  EXPECT_EQ(seen({{1, 7, owner, false, gib(1)}}).at(owner).kind, BypassKind::kOtherDevice);
}

TEST(Bypass, Description_NamesProcessAndDevice) {
  EXPECT_EQ(describe({BypassKind::kOtherDevice, 1, 10, {}, {}}, "python3"),
            "process 10 (python3) uses device 1, which is not allocated to it");
  EXPECT_EQ(describe({BypassKind::kUnregistered, 0, 11, {}, {}}, "miner"),
            "process 11 (miner) uses device 0 without Divvy's library");
  EXPECT_EQ(describe({BypassKind::kMemory, 0, 0, gib(6), gib(4)}, ""),
            "its processes have 6 GiB of device 0, limit 4 GiB");
}

// Node annotations with other bytes are refused by API servers, and with them all that an agent
// says.
TEST(Bypass, ProgramNameNotUtf8_TextIsSanitized) {
  EXPECT_EQ(processWords(7, "a\xff\n\x1b[2J\xc3"), "process 7 (a???[2J?)");
  EXPECT_EQ(processWords(7, ""), "process 7 (ended)");
  const std::string what =
      describe({BypassKind::kUnregistered, 0, 7, {}, {}}, std::string(15, '\xff'));
  const kube::Complaints said{{"u", {"s", "p", 1, 0, what}}};
  EXPECT_EQ(kube::decodeComplaints(kube::encode(said)).value(), said);
}

TEST(BypassDebouncer, RepeatedLooks_BeginsAndEndsAfterSeveral) {
  BypassDebouncer judge;
  const std::map<std::string, Bypass> bad{{"a", {BypassKind::kUnregistered, 0, 11, {}, {}}}};
  const std::map<std::string, Bypass> none;
  std::int64_t wall = 100;
  // A program that registers late, however often.
  for (unsigned i = 0; i < 10; ++i) {
    EXPECT_TRUE(judge.observe(i % 3 == 2 ? none : bad, wall++).begun.empty());
  }
  EXPECT_TRUE(judge.observe(none, wall++).over.empty()) << "it had not begun";
  const std::int64_t first = wall;
  for (unsigned i = 1; i < BypassDebouncer::kLooks; ++i)
    EXPECT_TRUE(judge.observe(bad, wall++).begun.empty());
  EXPECT_EQ(judge.observe(bad, wall++).begun, std::vector<std::string>{"a"});
  EXPECT_EQ(judge.going().at("a").since, first);
  EXPECT_TRUE(judge.observe(bad, wall++).begun.empty()) << "told once";
  // One look in which the driver does not show it is no end.
  for (unsigned i = 1; i < BypassDebouncer::kClearLooks; ++i)
    EXPECT_TRUE(judge.observe(none, wall++).over.empty());
  EXPECT_TRUE(judge.observe(bad, wall++).begun.empty()) << "it never ended";
  EXPECT_EQ(judge.going().at("a").since, first);
  for (unsigned i = 1; i < BypassDebouncer::kClearLooks; ++i) judge.observe(none, wall++);
  EXPECT_EQ(judge.observe(none, wall++).over, std::vector<std::string>{"a"});
  EXPECT_TRUE(judge.going().empty());
  EXPECT_TRUE(judge.settled());
}

// Regression: a pod that got the units of one that was evicted was accused of what that one did.
TEST(BypassDebouncer, Forgotten_CountStartsAtZero) {
  BypassDebouncer judge;
  const std::map<std::string, Bypass> bad{{"a", {BypassKind::kUnregistered, 0, 11, {}, {}}}};
  std::int64_t wall = 100;
  for (unsigned i = 0; i < BypassDebouncer::kLooks; ++i) judge.observe(bad, wall++);
  ASSERT_TRUE(judge.going().contains("a"));
  judge.forget("a");
  EXPECT_TRUE(judge.going().empty());
  EXPECT_TRUE(judge.observe({}, wall++).over.empty()) << "of him nothing was said";
  // And is found by his own deeds.
  for (unsigned i = 1; i < BypassDebouncer::kLooks; ++i)
    EXPECT_TRUE(judge.observe(bad, wall++).begun.empty());
  EXPECT_EQ(judge.observe(bad, wall++).begun, std::vector<std::string>{"a"});
}

TEST(BypassPods, SeveralContainers_EarliestIsReported) {
  const std::vector<PodBypass> found{{"u", "s", "p", "second", 200},
                                     {"u", "s", "p", "first", 100},
                                     {"v", kSystemNamespace, "q", "third", 300}};
  kube::Complaints said = bypassPods(found, true, 400'000, {}, {});
  EXPECT_EQ(said.at("u"), (kube::EvictionRequest{"s", "p", 100, 0, "first", true}));
  EXPECT_EQ(said.at("v"), (kube::EvictionRequest{kSystemNamespace, "q", 300, 0, "third", false}))
      << "the cluster's own stay";
  EXPECT_FALSE(bypassPods(found, false, 400'000, {}, {}).at("u").evicts);
  // A later agent has seen it later.
  const kube::Complaints before{{"u", {"s", "p", 50, 0, "of old", true}}};
  said = bypassPods(found, true, 59'999, before, {{"u", {460, 60'000}}});
  EXPECT_EQ(said.at("u"), (kube::EvictionRequest{"s", "p", 50, 0, "of old", true}));
  said = bypassPods(found, true, 60'000, before, {{"u", {460, 60'000}}});
  EXPECT_EQ(said.at("u").confirmed, 460);
}

TEST(OnBypass, Names_RoundTripAndOthersRefused) {
  for (const OnBypass on : {OnBypass::kReport, OnBypass::kThrottle, OnBypass::kEvict})
    EXPECT_EQ(parseOnBypass(onBypassName(on)).value(), on);
  EXPECT_EQ(parseOnBypass("kill").error().message(),
            "\"kill\" is not known; accepted: report, throttle, evict");
}

}  // namespace
}  // namespace divvy::agent
