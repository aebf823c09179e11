// Nodes that the vendor's own plugin serves, and nodes whose driver is being changed.
#include <gtest/gtest.h>

#include "codec/vendor_plugin.h"
#include "controllers/unassigned_pod_reporter.h"
#include "engine/selection.h"
#include "kube/registration.h"
#include "scheduler/cache.h"
#include "world.h"

namespace divvy::scheduler {
namespace {

constexpr engine::Instant kLater{120'000};

// As the GPU Operator leaves it: nothing is registered.
kube::Node served(const std::string& name, const std::string& count,
                  const kube::Labels& labels = {}) {
  kube::Node node;
  node.meta.name = node.meta.uid = name;
  node.meta.labels = labels;
  node.capacity = node.allocatable = {{"nvidia.com/gpu", count}};
  return node;
}

kube::Pod podOf(const std::string& uid, const Texts& limits, const Texts& annotations = {}) {
  kube::Pod pod = *kube::podOf(podObject({limits}, annotations));
  pod.meta.uid = pod.meta.name = uid;
  return pod;
}

const Texts kOne{{"nvidia.com/gpu", "1"}};

class VendorPluginTest : public ::testing::Test {
 protected:
  std::string filterAndReserve(const kube::Pod& pod,
                               std::vector<std::string_view> nodes = {"own"}) {
    const Result<FilterResult> choice = cache.filterAndReserve(pod, nodes, kLater);
    if (!choice) return choice.error().message();
    if (choice->node) return *choice->node;
    for (const auto& [node, why] : choice->why) return why.text();
    for (const auto& [node, why] : choice->never) return why.text();
    return "";
  }
  kube::Pod bound(kube::Pod pod, const kube::Labels& annotations = {}) {
    pod.node = "own";
    pod.meta.annotations = annotations;
    EXPECT_TRUE(cache.setPod(pod));
    return pod;
  }

  SchedulerCache cache{allVendors(), {}};
};

TEST_F(VendorPluginTest, FullDevices_GivenAndCounted) {
  ASSERT_TRUE(cache.setNode(served("own", "2")));
  EXPECT_EQ(filterAndReserve(podOf("a", kOne)), "own");
  const Result<BindPlan> assigned = cache.assume("a", "own", 1);
  ASSERT_TRUE(assigned);
  // Which card it gets is not ours to say.
  EXPECT_FALSE(assigned->annotations.contains("hami.io/vgpu-devices-allocated"));
  EXPECT_EQ(assigned->annotations.at("hami.io/vgpu-node"), "own");
  cache.finishBinding("a", BindOutcome::kBound);
  const kube::Pod a = bound(podOf("a", kOne), assigned->annotations);
  EXPECT_TRUE(cache.pods().countedForPlugin("a"));
  EXPECT_FALSE(isStray(a, allVendors()));
  EXPECT_EQ(filterAndReserve(podOf("b", kOne)), "own");
  EXPECT_NE(filterAndReserve(podOf("c", kOne)), "own");
  cache.removePod("a");
  EXPECT_EQ(filterAndReserve(podOf("c", kOne)), "own");
}

// What is there by others' hands, or from before, in whatever order it is told.
TEST_F(VendorPluginTest, PodBoundByOthers_IsCounted) {
  kube::Pod both = podOf("a", {{"nvidia.com/gpu", "2"}});
  both.node = "own";
  ASSERT_TRUE(cache.setPod(both));
  ASSERT_TRUE(cache.setNode(served("own", "3")));
  EXPECT_TRUE(cache.pods().countedForPlugin("a"));
  EXPECT_NE(filterAndReserve(podOf("b", {{"nvidia.com/gpu", "2"}})), "own");
  EXPECT_EQ(filterAndReserve(podOf("b", kOne)), "own");
  EXPECT_NE(filterAndReserve(podOf("c", kOne)), "own");
  // One that is broken, and one that is added.
  ASSERT_TRUE(cache.setNode(served("own", "2")));
  EXPECT_NE(filterAndReserve(podOf("c", kOne)), "own");
  ASSERT_TRUE(cache.setNode(served("own", "4")));
  EXPECT_EQ(filterAndReserve(podOf("c", kOne)), "own");
  // The node goes and comes back.
  cache.removeNode("own", "own");
  EXPECT_FALSE(cache.pods().countedForPlugin("a"));
  ASSERT_TRUE(cache.setNode(served("own", "2")));
  EXPECT_NE(filterAndReserve(podOf("d", kOne)), "own");
  both.phase = kube::PodPhase::kSucceeded;
  ASSERT_TRUE(cache.setPod(both));
  EXPECT_EQ(filterAndReserve(podOf("d", {{"nvidia.com/gpu", "2"}})), "own");
}

TEST_F(VendorPluginTest, ShareRequest_IsRefused) {
  ASSERT_TRUE(cache.setNode(served("own", "8")));
  for (const Texts& limits :
       {Texts{{"nvidia.com/gpu", "1"}, {"nvidia.com/gpumem", "1000"}},
        Texts{{"nvidia.com/gpu", "1"}, {"nvidia.com/gpucores", "30"}},
        Texts{{"nvidia.com/gpu", "1"}, {"nvidia.com/gpumem-percentage", "50"}},
        Texts{{"nvidia.com/mig-1g.10gb", "1"}}, Texts{{"divvy.dev/gpu", "1"}},
        Texts{{"divvy.dev/gpu-a100", "1"}}})
    EXPECT_NE(filterAndReserve(podOf("a", limits)), "own") << limits.begin()->first;
}

TEST_F(VendorPluginTest, NodeLabels_ModelIsKnown) {
  ASSERT_TRUE(cache.setNode(served(
      "own", "1",
      {{"nvidia.com/gpu.product", "NVIDIA-A100-SXM4-80GB"}, {"nvidia.com/gpu.memory", "81920"}})));
  EXPECT_EQ(
      filterAndReserve(podOf("a", kOne, {{"nvidia.com/use-gputype", "H100"}})),
      "devices of models that were not asked for (1 device of kind NVIDIA wanted); model asked "
      "for: H100");
  EXPECT_EQ(filterAndReserve(podOf("a", kOne, {{"nvidia.com/use-gputype", "L4,H100,B200,H20"}})),
            "devices of models that were not asked for (1 device of kind NVIDIA wanted); models "
            "asked for: B200, H100, H20, ...");
  EXPECT_EQ(filterAndReserve(podOf("a", kOne, {{"nvidia.com/use-gputype", "A100"}})), "own");
}

TEST_F(VendorPluginTest, MarkedOrRegisteredNode_IsRefused) {
  for (const kube::Labels& labels :
       {kube::Labels{{"gpu", "on"}}, kube::Labels{{"nvidia.com/gpu.sharing-strategy", "mps"}}}) {
    ASSERT_TRUE(cache.setNode(served("own", "8", labels)));
    EXPECT_NE(filterAndReserve(podOf("a", kOne)), "own");
  }
  kube::Node ours = nodeWith("hygon");
  ours.meta.name = ours.meta.uid = "own";
  ours.meta.annotations["hami.io/node-nvidia-register"] =
      kube::encode(std::vector<kube::RegisteredDevice>{});
  ours.allocatable = {{"nvidia.com/gpu", "80"}};
  ASSERT_TRUE(cache.setNode(ours));
  EXPECT_NE(filterAndReserve(podOf("a", kOne)), "own");
}

// HAMi's agent serves one name, and ours those that it was told: the kubelet would start a
// container that asks by another one without its devices.
TEST_F(VendorPluginTest, ResourceNameNotServed_NodeIsRefused) {
  kube::Node node = nodeWith("nvidia");
  node.meta.name = node.meta.uid = "own";
  const std::vector<std::string> names{"nvidia.com/gpu", "divvy.dev/gpu", "divvy.dev/gpu-h100"};
  // Of each set of names, those that were served once among them.
  for (unsigned served = 1; served < 1u << names.size(); ++served) {
    node.capacity.clear();
    for (unsigned at = 0; at < names.size(); ++at)
      if (served >> at & 1)
        node.capacity[names[at]] = "20";
      else if (served % 2 == 0)
        node.capacity[names[at]] = "0";
    node.allocatable = node.capacity;
    ASSERT_TRUE(cache.setNode(node));
    for (unsigned at = 0; at < names.size(); ++at) {
      const Texts share{{names[at], "1"}, {"nvidia.com/gpumem", "1000"}};
      EXPECT_EQ(filterAndReserve(podOf("a", share)) == "own", (served >> at & 1) != 0)
          << names[at] << " of " << served;
    }
    const std::vector<Texts> both{{{names[0], "1"}, {"nvidia.com/gpumem", "1000"}},
                                  {{names[1], "1"}, {"nvidia.com/gpumem", "1000"}}};
    EXPECT_EQ(filterAndReserve(*kube::podOf(podObject(both, {}))) == "own", (served & 3) == 3)
        << served;
  }
}

// NVIDIA's plugin serves other cards of that node: its capacity has both names.
TEST_F(VendorPluginTest, ServedAnnotation_LimitsAgentsNames) {
  kube::Node node = nodeWith("nvidia");
  node.meta.name = node.meta.uid = "own";
  node.capacity = node.allocatable = {{"nvidia.com/gpu", "4"}, {"divvy.dev/gpu", "20"}};
  node.meta.annotations["divvy.dev/served-resources"] = "divvy.dev/gpu";
  ASSERT_TRUE(cache.setNode(node));
  const std::string memory = "nvidia.com/gpumem";
  EXPECT_NE(filterAndReserve(podOf("a", {{"nvidia.com/gpu", "1"}, {memory, "1000"}})), "own");
  EXPECT_EQ(filterAndReserve(podOf("b", {{"divvy.dev/gpu", "1"}, {memory, "1000"}})), "own");
  // HAMi's plugin has the node now, and left the annotation where it was.
  node.capacity = node.allocatable = {{"nvidia.com/gpu", "20"}, {"divvy.dev/gpu", "0"}};
  node.meta.annotations["divvy.dev/served-resources"] = "divvy.dev/gpu,nvidia.com/gpu";
  ASSERT_TRUE(cache.setNode(node));
  EXPECT_EQ(filterAndReserve(podOf("a", {{"nvidia.com/gpu", "1"}, {memory, "1000"}})), "own");
  EXPECT_NE(filterAndReserve(podOf("b", {{"divvy.dev/gpu", "1"}, {memory, "1000"}})), "own");
}

// Regression: a name's words were found in those of a longer one where models are matched loosely.
TEST_F(VendorPluginTest, NamesWithCommonPrefix_DoNotMatch) {
  const std::string one = notServedBy("divvy.dev/gpu");
  const std::string other = notServedBy("divvy.dev/gpu-h100");
  for (const auto match :
       {engine::ModelMatch::kExact, engine::ModelMatch::kWords, engine::ModelMatch::kContains})
    for (const auto& [word, model] : {std::pair(one, other), std::pair(other, one)})
      EXPECT_FALSE(engine::namesModel({engine::ModelName(word)}, match, engine::ModelName(model)));
  EXPECT_TRUE(isNotServedBy(one));
  EXPECT_FALSE(isNotServedBy("NVIDIA H100 " + one));
}

// Regression: cards that were full by other names left none to have by the plugin's, and with that
// their agent was taken to be gone.
TEST_F(VendorPluginTest, FullByOtherNames_StillServed) {
  kube::Node full = nodeWith("nvidia");
  full.meta.name = full.meta.uid = "own";
  full.capacity = {{"nvidia.com/gpu", "20"}, {"divvy.dev/gpu", "20"}, {"divvy.dev/gpu-h100", "20"}};
  full.allocatable = {{"nvidia.com/gpu", "0"}, {"divvy.dev/gpu", "0"}, {"divvy.dev/gpu-h100", "3"}};
  ASSERT_TRUE(cache.setNode(full));
  const Texts share{{"nvidia.com/gpu", "1"}, {"nvidia.com/gpumem", "1000"}};
  EXPECT_EQ(filterAndReserve(podOf("a", share)), "own") << "by then there is room again";
  full.allocatable["divvy.dev/gpu-h100"] = "0";
  ASSERT_TRUE(cache.setNode(full));
  EXPECT_NE(filterAndReserve(podOf("a", share)), "own");
}

TEST_F(VendorPluginTest, DriverUpgrade_NodeIsRefused) {
  const std::string label = "nvidia.com/gpu-driver-upgrade-state";
  for (const char* state : {"drain-required", "pod-restart-required", "upgrade-failed"}) {
    ASSERT_TRUE(cache.setNode(served("own", "2", {{label, state}})));
    EXPECT_EQ(filterAndReserve(podOf("a", kOne)),
              "its driver is being changed (" + label + ": " + state + ')');
  }
  for (const char* state : {"upgrade-done", ""}) {
    ASSERT_TRUE(cache.setNode(served("own", "2", {{label, state}})));
    EXPECT_EQ(filterAndReserve(podOf("a", kOne)), "own");
  }
  kube::Node node = served("own", "2", {{label, "cordon-required"}});
  kube::RegisteredDevice device;
  device.id = "GPU-0";
  device.count = 10;
  device.mebibytes = 1000;
  device.cores = 100;
  device.healthy = true;
  node.meta.annotations["hami.io/node-nvidia-register"] = kube::encode({device});
  ASSERT_TRUE(cache.setNode(node));
  EXPECT_NE(filterAndReserve(podOf("a", kOne)).find("cordon-required"), std::string::npos);
}

}  // namespace
}  // namespace divvy::scheduler
