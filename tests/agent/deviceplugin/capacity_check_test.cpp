// Who is given what others have not given back.
#include "deviceplugin/capacity_check.h"

#include <gtest/gtest.h>

namespace divvy::agent {
namespace {

std::vector<Device> cards() {
  std::vector<Device> devices(2);
  for (unsigned at = 0; at < 2; ++at) {
    devices[at].info.uuid = "GPU-" + std::to_string(at);
    devices[at].info.index = 4 + at;  // as NVML counts them, others before them
    devices[at].info.physical = gib(80);
  }
  return devices;
}

std::string cramped(Bytes wanted, const std::vector<HeldCapacity>& holdings,
                    unsigned permille = 1000, unsigned index = 4) {
  Decision decision;
  decision.shares.push_back({index, wanted, wanted, 0, wanted});
  std::vector<DeviceTerms> terms(2);
  for (DeviceTerms& one : terms) one.overcommit_permille = permille;
  return capacityShortfall(decision, cards(), terms, holdings);
}

TEST(CapacityShortfall, HoldingsOnDevice_RefusedOnlyBeyondRest) {
  EXPECT_EQ(cramped(gib(80), {}), "");
  EXPECT_EQ(cramped(gib(40), {{"a", "GPU-0", gib(40), false}}), "");
  EXPECT_EQ(cramped(gib(80), {{"a", "GPU-1", gib(80), false}}), "") << "on another card";
  EXPECT_EQ(cramped(gib(60), {{"a", "GPU-0", gib(60), true}}, 1500), "") << "twice promised";
  EXPECT_NE(cramped(gib(61), {{"a", "GPU-0", gib(60), false}}, 1500), "");
  EXPECT_EQ(cramped(gib(80), {{"a", "GPU-0", gib(80), true}}, 1000, 7), "") << "not a card of ours";
}

// Regression: a card was promised twice while processes of a pod that was deleted by force were
// there.
TEST(CapacityShortfall, EndedPodStillHolding_IsNamed) {
  EXPECT_EQ(cramped(gib(41), {{"a", "GPU-0", gib(30), false}, {"b", "GPU-0", gib(10), true}}),
            "too little memory for 41 GiB on GPU-0 yet: tenant b has 10 GiB: its pod has ended and "
            "its processes still run");
  EXPECT_EQ(cramped(gib(41), {{"a", "GPU-0", gib(30), false}, {"b", "GPU-0", gib(10), false}}),
            "too little memory for 41 GiB on GPU-0 yet: tenant a has 30 GiB");
}

TEST(CapacityShortfall, MebibyteRounding_IsTolerated) {
  const Bytes third{gib(80).count / 3 + mib(1).count - 1};
  EXPECT_EQ(cramped(third, {{"a", "GPU-0", third, false}, {"b", "GPU-0", third, false}}), "");
  EXPECT_NE(cramped(gib(80) + mib(2), {}), "");
}

std::set<std::string> full(const DeviceAllocations& allocations, unsigned permille = 1000) {
  std::vector<DeviceTerms> terms(2);
  for (DeviceTerms& one : terms) one.overcommit_permille = permille;
  return fullDevices(cards(), terms, allocations, 10);
}

TEST(FullDevices, LessThanAMiBLeft_IsFull) {
  EXPECT_TRUE(full({}).empty());
  EXPECT_TRUE(full({{"GPU-0", {gib(80) - mib(1), 1}}}).empty());
  EXPECT_EQ(full({{"GPU-0", {gib(80) - Bytes{mib(1).count - 1}, 1}}}),
            std::set<std::string>{"GPU-0"});
  EXPECT_TRUE(full({{"GPU-0", {gib(80), 1}}}, 1500).empty()) << "promised more than once";
}

TEST(FullDevices, AsManyTenantsAsMayShareIt_IsFull) {
  EXPECT_TRUE(full({{"GPU-1", {mib(9), 9}}}).empty());
  EXPECT_EQ(full({{"GPU-1", {mib(10), 10}}}), std::set<std::string>{"GPU-1"});
  EXPECT_TRUE(full({{"GPU-7", {gib(80), 10}}}).empty()) << "not a device of this node";
}

}  // namespace
}  // namespace divvy::agent
