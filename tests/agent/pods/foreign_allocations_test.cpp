// Cards that containers hold which another plugin gave them.
#include "pods/foreign_allocations.h"

#include <gtest/gtest.h>

#include "device/device_health.h"

namespace divvy::agent {
namespace {

constexpr const char* kResource = "nvidia.com/gpu";

std::vector<Device> cards() {
  std::vector<Device> cards(3);
  for (unsigned i = 0; i < 3; ++i) {
    cards[i].info.index = i;
    cards[i].info.uuid = "GPU-" + std::to_string(i) + "00";
  }
  return cards;
}

Holders holders(const std::vector<kubelet::PodDevices>& held) {
  const ForeignAllocations ours{
      [](const std::string& namespace_name, const std::string& pod) {
        return namespace_name == "s" && pod == "ours";
      },
      [](const kubelet::PodDevices& one) { return one.container == "lodged"; },
      [](const std::string&, const std::string& pod) {
        return pod == "before" ? std::set<std::string>{"GPU-200"} : std::set<std::string>();
      },
      [](const std::string&, const std::string& pod) {
        return pod == "hamis" ? std::set<std::string>{"GPU-100"} : std::set<std::string>();
      }};
  return holdersOf(held, cards(), {kResource, "divvy.dev/gpu"}, ours);
}

TEST(HoldersOf, OwnPodsIds_AreNotForeign) {
  EXPECT_TRUE(holders({{"s", "ours", "c", kResource, {"GPU-000::0", "GPU-100::9"}}}).empty());
}

// Regression: an agent that served a name no more took who runs by it for another plugin's, and
// gave nobody anything of his card.
TEST(HoldersOf, ResourceNoLongerServed_OwnTenantNotForeign) {
  const auto by = [](const std::string& pod, const std::string& container) {
    return holders({{"s", pod, container, "divvy.dev/gpu-h100", {"GPU-100::0"}}});
  };
  EXPECT_TRUE(by("ours", "lodged").empty());
  EXPECT_EQ(by("ours", "c"), (Holders{{1, "pod s/ours"}})) << "another plugin's of that name";
  EXPECT_EQ(by("theirs", "lodged"), (Holders{{1, "pod s/theirs"}})) << "of another scheduler's";
}

TEST(HoldersOf, FullDeviceOrReplicaId_IsForeign) {
  for (const char* unit : {"GPU-100", "GPU-100::0", "GPU-100-3"}) {
    EXPECT_EQ(holders({{"s", "theirs", "c", kResource, {unit}}}), (Holders{{1, "pod s/theirs"}}))
        << unit;
  }
}

// HAMi's pods say in the same annotation what they were given; what they hold is not of our making.
TEST(HoldersOf, HamiReplicaOnOwnPod_IsForeign) {
  EXPECT_EQ(holders({{"s", "ours", "c", kResource, {"GPU-200-0"}}}), (Holders{{2, "pod s/ours"}}));
  EXPECT_EQ(holders({{"s", "ours", "c", kResource, {"GPU-200"}}}), (Holders{{2, "pod s/ours"}}));
}

// Regression: HAMi's plugin gives what the pod was assigned, whatever units the kubelet took: other
// cards were closed than those that its pods work on.
TEST(HoldersOf, HamiPod_AssignedDeviceIsHeld) {
  EXPECT_EQ(holders({{"s", "hamis", "c", kResource, {"GPU-200-0"}}}),
            (Holders{{1, "pod s/hamis"}}));
  // A whole card of NVIDIA's plugin is that card.
  EXPECT_EQ(holders({{"s", "hamis", "c", kResource, {"GPU-200"}}}), (Holders{{2, "pod s/hamis"}}));
}

TEST(HoldersOf, OtherResourceName_IsForeign) {
  EXPECT_EQ(holders({{"s", "ours", "c", "other.com/gpu", {"GPU-000::1"}}}),
            (Holders{{0, "pod s/ours"}}));
}

// The node served another scheduler before, maybe under another name: units need not be of the card
// that the pod has.
TEST(HoldersOf, OtherSchedulersPod_AnnotatedDeviceIsHeld) {
  EXPECT_EQ(holders({{"s", "before", "c", "volcano.sh/vgpu-number", {"GPU-000::1"}}}),
            (Holders{{2, "pod s/before"}}));
  EXPECT_EQ(holders({{"s", "before", "c", kResource, {"GPU-000::1"}}}),
            (Holders{{2, "pod s/before"}}));
}

TEST(HoldersOf, UnknownDeviceId_IsIgnored) {
  EXPECT_TRUE(holders({{"s", "theirs", "c", "hugepages-2Mi", {"GPU-1000", "", "NIC-0"}}}).empty());
}

TEST(DeviceHealth, HeldOrUsedByOthers_UnhealthyWithReason) {
  DeviceHealth health;
  EXPECT_FALSE(health.held({}));
  EXPECT_TRUE(health.held({{1, "pod s/p"}}));
  EXPECT_TRUE(health.good(0));
  EXPECT_EQ(health.why(1), "pod s/p holds it from another plugin");
  EXPECT_FALSE(health.held({{1, "pod s/q"}})) << "the card is as bad as before";
  EXPECT_EQ(health.why(1), "pod s/q holds it from another plugin");
  EXPECT_TRUE(health.used({{0, "process 12 (python3)"}}));
  EXPECT_FALSE(health.used({{0, "process 13 (python3)"}})) << "of the same card";
  EXPECT_EQ(health.why(0), "process 13 (python3), an unmanaged process, uses it");
  EXPECT_EQ(health.heldBy(0), "") << "no plugin gave it";
  EXPECT_TRUE(health.used({}));
  EXPECT_TRUE(health.good(0));
  EXPECT_TRUE(health.held({}));
  EXPECT_TRUE(health.good(1));
}

}  // namespace
}  // namespace divvy::agent
