#include "deviceplugin/preferred_allocation.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <set>

namespace divvy::agent {
namespace {

using DeviceIds = std::vector<std::string>;

// "a::0" to "d::N-1".
DeviceIds unitsOf(const std::string& cards, unsigned each) {
  DeviceIds units;
  for (const char card : cards)
    for (unsigned at = 0; at < each; ++at)
      units.push_back(std::string(1, card) + "::" + std::to_string(at));
  return units;
}

std::string cardsOf(const DeviceIds& units) {
  std::string cards;
  for (const std::string& unit : units) cards += unit.substr(0, unit.find("::"));
  std::sort(cards.begin(), cards.end());
  return cards;
}

const kube::DeviceScores kTwoPairs{{{"a", "b"}, 20}, {{"a", "c"}, 420}, {{"a", "d"}, 20},
                                   {{"b", "c"}, 20}, {{"b", "d"}, 220}, {{"c", "d"}, 20}};

TEST(UnitsByScore, ScoredPairs_BestLinkedDevicesChosen) {
  EXPECT_EQ(cardsOf(unitsByScore({unitsOf("abcd", 2), {}, 2}, kTwoPairs)), "ac");
  EXPECT_EQ(cardsOf(unitsByScore({unitsOf("abd", 2), {}, 2}, kTwoPairs)), "bd");
  EXPECT_EQ(cardsOf(unitsByScore({unitsOf("abcd", 2), {"d::1"}, 2}, kTwoPairs)), "bd");
  EXPECT_EQ(cardsOf(unitsByScore({unitsOf("abcd", 1), {}, 4}, kTwoPairs)), "abcd");
}

// Several units of one card are one card.
TEST(UnitsByScore, SeveralDevices_DistinctDevicesFirst) {
  EXPECT_EQ(cardsOf(unitsByScore({unitsOf("ab", 5), {}, 2}, {})), "ab");
  EXPECT_EQ(cardsOf(unitsByScore({unitsOf("ab", 2), {}, 3}, {})).size(), 3u);
}

TEST(UnitsByScore, SingleId_DeviceWithMostLeft) {
  EXPECT_EQ(unitsByScore({{"a::3", "b::1", "b::2", "c::0"}, {}, 1}, kTwoPairs),
            (DeviceIds{"b::1"}));
}

// Whatever is asked: what the kubelet takes is a part of what is available, all that is required in
// it, as many as it asks, or all there are.
RC_GTEST_PROP(UnitsByScore, RandomQuery_AnswerIsValidForKubelet, ()) {
  DeviceIds all = unitsOf("abcd", 4);
  for (const char* other : {"strange", "b::99", "::"}) all.emplace_back(other);
  kubelet::PreferredAllocationQuery ask;
  for (const std::string& unit : all)
    if (*rc::gen::arbitrary<bool>()) ask.available.push_back(unit);
  ask.count = *rc::gen::inRange<std::size_t>(0, 20);
  for (const std::string& unit : ask.available)
    if (ask.required.size() < ask.count && *rc::gen::inRange(0, 4) == 0)
      ask.required.push_back(unit);
  const DeviceIds given = unitsByScore(ask, kTwoPairs);
  const std::set<std::string> distinct(given.begin(), given.end());
  const std::set<std::string> available(ask.available.begin(), ask.available.end());
  RC_ASSERT(distinct.size() == given.size());
  RC_ASSERT(given.size() == std::min(ask.count, available.size()));
  RC_ASSERT(std::includes(available.begin(), available.end(), distinct.begin(), distinct.end()));
  for (const std::string& unit : ask.required) RC_ASSERT(distinct.contains(unit));
}

kube::Pod podWith(const std::string& assigned) {
  kube::Pod pod;
  pod.meta.uid = "u";
  pod.meta.annotations["hami.io/vgpu-devices-allocated"] = assigned;
  pod.init.resize(1);
  pod.init[0].name = "prepare";
  pod.containers.resize(2);
  pod.containers[0].name = "main";
  pod.containers[1].name = "side";
  return pod;
}

TEST(WaitingOf, PendingAssignedPod_ContainersWithDevices) {
  const kube::Pod pod = podWith(";GPU-a,NVIDIA,10,1:GPU-b,NVIDIA,10,1:;GPU-c,NVIDIA,5,0:;");
  EXPECT_EQ(waitingOf(pod, {}),
            (std::vector<WaitingContainer>{{"main", {"GPU-a", "GPU-b"}}, {"side", {"GPU-c"}}}));
  kube::Pod begun = pod;
  begun.phase = kube::PodPhase::kRunning;
  EXPECT_TRUE(waitingOf(begun, {}).empty());
  EXPECT_TRUE(waitingOf(podWith("rubbish"), {}).empty());
  EXPECT_TRUE(waitingOf(kube::Pod(), {}).empty());
  // More containers than the pod has.
  EXPECT_EQ(waitingOf(podWith(";;;GPU-a,NVIDIA,10,1:;"), {}).size(), 0u);
}

TEST(WaitingOf, ResourceLimits_ResourceNameIsKept) {
  kube::Pod pod = podWith(";GPU-a,NVIDIA,10,1:;GPU-c,NVIDIA,5,0:;");
  pod.containers[0].limits = {{"cpu", "1"}, {"divvy.dev/gpu-h100", "1"}};
  pod.containers[1].limits = {{"nvidia.com/gpu", "1"}};
  EXPECT_EQ(waitingOf(pod, {"nvidia.com/gpu", "divvy.dev/gpu-h100"}),
            (std::vector<WaitingContainer>{{"main", {"GPU-a"}, "divvy.dev/gpu-h100"},
                                           {"side", {"GPU-c"}, "nvidia.com/gpu"}}));
}

class PreferredAllocationTest : public ::testing::Test {
 protected:
  std::string given(const DeviceIds& available, std::size_t count, const DeviceIds& required = {}) {
    const auto units = choice_.assigned("", {available, required, count});
    return units ? cardsOf(*units) : "none";
  }
  PreferredAllocation choice_{kTwoPairs};
};

TEST_F(PreferredAllocationTest, AssignedDevices_AreGivenOnce) {
  choice_.waits("u", {{"main", {"a", "d"}}});
  EXPECT_EQ(given(unitsOf("abcd", 2), 1), "none") << "nobody waits for one";
  EXPECT_EQ(given(unitsOf("abcd", 2), 2), "ad");
  EXPECT_EQ(given(unitsOf("abcd", 2), 2), "none") << "it has them now";
}

TEST_F(PreferredAllocationTest, TwoPodsWaiting_FirstHeardGoesFirst) {
  choice_.waits("z", {{"one", {"b"}}, {"two", {"c"}}});
  choice_.waits("a", {{"main", {"a"}}});
  choice_.waits("z", {{"one", {"b"}}, {"two", {"c"}}});
  EXPECT_EQ(given(unitsOf("abcd", 2), 1), "b");
  EXPECT_EQ(given(unitsOf("abcd", 2), 1), "c");
  EXPECT_EQ(given(unitsOf("abcd", 2), 1), "a");
}

// The pod's status changes all the time: what was answered is not answered again.
TEST_F(PreferredAllocationTest, PodHeardAgain_IsNotAnsweredAgain) {
  choice_.waits("u", {{"main", {"a"}}});
  EXPECT_EQ(given(unitsOf("abcd", 2), 1), "a");
  choice_.waits("u", {{"main", {"a"}}});
  EXPECT_EQ(given(unitsOf("abcd", 2), 1), "none");
  choice_.waits("u", {});
  choice_.waits("v", {{"main", {"b"}}});
  choice_.forget("v");
  EXPECT_EQ(given(unitsOf("abcd", 2), 1), "none");
}

TEST_F(PreferredAllocationTest, DeviceWithoutIds_NextPodIsMeant) {
  choice_.waits("u", {{"main", {"a"}}});
  choice_.waits("v", {{"main", {"b"}}});
  EXPECT_EQ(given(unitsOf("bcd", 2), 1), "b");
  EXPECT_EQ(given(unitsOf("cd", 2), 1), "none");
  EXPECT_EQ(given(unitsOf("abcd", 2), 1, {"c::1"}), "none") << "another one is required";
  EXPECT_EQ(given(unitsOf("abcd", 2), 1, {"a::1"}), "a");
}

// Regression: the kubelet was kept waiting for 250 ms where an init container had had a unit of
// another card: of whom it asks is known, and waiting changes nothing.
TEST_F(PreferredAllocationTest, RequiredElsewhere_PodStaysAwaited) {
  EXPECT_FALSE(choice_.awaits("", 1)) << "he may be told of yet";
  choice_.waits("u", {{"init", {"c"}}, {"main", {"a", "b"}}});
  EXPECT_EQ(given(unitsOf("abcd", 2), 2, {"c::1"}), "none");
  EXPECT_TRUE(choice_.awaits("", 2));
  EXPECT_FALSE(choice_.awaits("other", 2));
  EXPECT_FALSE(choice_.awaits("", 3));
  EXPECT_EQ(given(unitsOf("abcd", 2), 2), "ab");
  EXPECT_FALSE(choice_.awaits("", 2)) << "he has them";
}

// Regression: where a kubelet admits pods in another order than they are heard of, the last one's
// question was kept waiting for 250 ms: it had been answered, to somebody else.
TEST_F(PreferredAllocationTest, IdsTakenByOtherPod_OwnerStillWaits) {
  choice_.waits("u", {{"main", {"a"}}});
  choice_.waits("v", {{"main", {"b"}}});
  const auto units = choice_.assigned("", {unitsOf("abcd", 2), {}, 1});  // v's question
  ASSERT_TRUE(units);
  EXPECT_EQ(cardsOf(*units), "a");
  choice_.taken("u", {"c::0"});
  choice_.taken("v", *units);
  choice_.waits("v", {});
  EXPECT_EQ(given(unitsOf("abcd", 2), 1), "a");
  choice_.taken("u", *units);
  EXPECT_EQ(given(unitsOf("abcd", 2), 1), "none") << "they are its own";
}

TEST_F(PreferredAllocationTest, TwoSharesOfOneDevice_NeedTwoIds) {
  choice_.waits("u", {{"main", {"a", "a"}}});
  EXPECT_EQ(given(unitsOf("a", 1), 2), "none");
  EXPECT_EQ(given(unitsOf("a", 2), 2), "aa");
}

// Units of one card are called alike by every name.
TEST_F(PreferredAllocationTest, OtherResourceName_IsNotMatched) {
  choice_.waits("u", {{"main", {"a"}, "by/one"}, {"side", {"b"}, "by/other"}});
  const auto by = [&](const char* name) {
    const auto units = choice_.assigned(name, {unitsOf("abcd", 2), {}, 1});
    return units ? cardsOf(*units) : "none";
  };
  EXPECT_EQ(by("by/other"), "b");
  EXPECT_EQ(by("by/other"), "none");
  EXPECT_EQ(by("by/one"), "a");
}

}  // namespace
}  // namespace divvy::agent
