// What is said to those who ask why, and that what would help helps.
#include "scheduler/explain.h"

#include <gtest/gtest.h>

#include "controllers/pending_condition_controller.h"
#include "engine/engine.h"
#include "kube/registration.h"
#include "world.h"

namespace divvy::scheduler {
namespace {

kube::Node cards(const std::string& name, std::uint64_t mebibytes) {
  kube::RegisteredDevice device;
  device.id = "GPU-" + name;
  device.count = 10;
  device.mebibytes = mebibytes;
  device.cores = 100;
  device.type = "NVIDIA H100";
  device.healthy = true;
  kube::Node node;
  node.meta.name = node.meta.uid = name;
  node.meta.annotations["hami.io/node-nvidia-register"] = kube::encode(std::vector{device});
  return node;
}

kube::Pod asking(const std::string& mebibytes) {
  return *kube::podOf(podObject({{{"nvidia.com/gpu", "1"}, {"nvidia.com/gpumem", mebibytes}}}, {}));
}

TEST(NodeVerdicts, Refusal_SaysReasonAndNearestFix) {
  SchedulerCache cache(allVendors(), {});
  ASSERT_TRUE(cache.setNode(cards("a", 10'000)));
  ASSERT_TRUE(cache.setNode(cards("b", 20'000)));
  const auto request = *cache.pods().requestFor(asking("30000"));
  ASSERT_TRUE(request);
  const std::vector<std::string> names{"a", "b", "elsewhere"};
  const auto verdicts = explainNodes(cache, *request, names, {"main"});
  ASSERT_TRUE(verdicts) << verdicts.error().message();
  ASSERT_EQ(verdicts->size(), 3u);
  EXPECT_EQ(verdicts->at(0).refusal->devices.at(0).why, engine::DeviceWhy::kTooLarge);
  EXPECT_EQ(verdicts->at(0).why, "container main needs 1 device of kind NVIDIA, 0 fit");
  EXPECT_TRUE(engine::isPermanent(*verdicts->at(0).refusal));
  EXPECT_EQ(verdicts->at(2).why, "no devices are registered");
  const std::vector<Suggestion> fixes = nearestFixes(*verdicts);
  ASSERT_FALSE(fixes.empty());
  // Of both nodes' the one that gives up less.
  EXPECT_EQ(fixes.front().node, "b");
  EXPECT_EQ(fixes.front().nodes, 1u);
  engine::Request less = *request;
  less.shape = engine::changed(less.shape, fixes.front().remedy);
  EXPECT_EQ(cache.pods().engine().decide(less)->placement->node.text, "b");
  EXPECT_EQ(
      *summary(cache, *request, {}),
      "0 of 2 nodes fit: devices with too little memory (1 device of kind NVIDIA wanted) on 2 "
      "nodes");
  EXPECT_TRUE(
      explainNodes(cache, *cache.pods().requestFor(asking("20000")).value(), names)->at(1).fits);
}

// That a container with two devices gets no instances of partitioned cards is no wish of the pod's.
TEST(NodeVerdicts, ImplicitExclusion_NoFixSuggestsLifting) {
  kube::Node node = cards("a", 10'000);
  auto devices = *kube::decodeRegistration(node.meta.annotations["hami.io/node-nvidia-register"]);
  devices.front().type = "NVIDIA H100 80GB HBM3 MIG 1g.10gb";
  devices.push_back(devices.front());
  devices.back().id = "MIG-b";
  node.meta.annotations["hami.io/node-nvidia-register"] = kube::encode(devices);
  SchedulerCache cache(allVendors(), {});
  ASSERT_TRUE(cache.setNode(node));
  const auto changesFor = [&](const std::string& count, const Texts& annotations) {
    const kube::Pod pod = *kube::podOf(
        podObject({{{"nvidia.com/gpu", count}, {"nvidia.com/gpumem", "1000"}}}, annotations));
    const auto verdicts =
        explainNodes(cache, **cache.pods().requestFor(pod), std::vector<std::string>{"a"});
    EXPECT_EQ(verdicts->at(0).refusal->devices.at(0).why, engine::DeviceWhy::kModelExcluded);
    unsigned lifting = 0;
    for (const engine::Remedy& remedy : verdicts->at(0).remedies)
      for (const engine::Change& change : remedy)
        lifting += change.kind == engine::ChangeKind::kNotModels ? 1 : 0;
    return lifting;
  };
  EXPECT_EQ(changesFor("2", {}), 0u);
  EXPECT_EQ(changesFor("2", {{"nvidia.com/nouse-gputype", "1g.10gb"}}), 0u)
      << "both are in its way";
  EXPECT_EQ(changesFor("1", {{"nvidia.com/nouse-gputype", "1g.10gb"}}), 1u);
}

TEST(NodeVerdicts, UnschedulablePod_RequestIsKnown) {
  SchedulerCache cache(allVendors(), {});
  ASSERT_TRUE(cache.setNode(cards("a", 10'000)));
  const std::vector<std::string_view> names{"a"};
  ASSERT_TRUE(cache.filterAndReserve(asking("30000"), names, {1000}));
  ASSERT_EQ(cache.pods().refused().size(), 1u);
  EXPECT_EQ(cache.pods().refused().front().uid, "u");
  ASSERT_NE(cache.pods().unschedulableRequest("u"), nullptr);
  cache.removePod("u");
  EXPECT_EQ(cache.pods().unschedulableRequest("u"), nullptr);
}

TEST(PendingConditionController, NoticePatch_WritesOneCondition) {
  EXPECT_EQ(boost::json::parse(noticePatch("u", false, "no \"room\"", 1'700'000'000)),
            boost::json::parse(
                R"({"metadata":{"uid":"u"},"status":{"conditions":[{"type":"divvy.dev/DevicesFit",)"
                R"("status":"False","reason":"NoRoom","message":"no \"room\"",)"
                R"("lastTransitionTime":"2023-11-14T22:13:20Z"}]}})"));
}

}  // namespace
}  // namespace divvy::scheduler
