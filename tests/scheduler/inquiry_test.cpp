// What is said to those who ask why, and that what would help helps.
#include "scheduler/inquiry.h"

#include <gtest/gtest.h>

#include "engine/engine.h"
#include "kube/registration.h"
#include "notices.h"
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

TEST(Inquiry, SaysWhyAndWhatWouldFit) {
  Books books(allVendors(), {});
  ASSERT_TRUE(books.setNode(cards("a", 10'000)));
  ASSERT_TRUE(books.setNode(cards("b", 20'000)));
  const auto request = *books.requestFor(asking("30000"));
  ASSERT_TRUE(request);
  const std::vector<std::string> names{"a", "b", "elsewhere"};
  const auto verdicts = inquire(books, *request, names);
  ASSERT_TRUE(verdicts) << verdicts.error().message();
  ASSERT_EQ(verdicts->size(), 3u);
  EXPECT_EQ(verdicts->at(0).refusal->devices.at(0).why, engine::DeviceWhy::kTooLarge);
  EXPECT_EQ(verdicts->at(2).why, "no devices are registered");
  const std::vector<Fix> fixes = nearestFixes(*verdicts);
  ASSERT_FALSE(fixes.empty());
  // Of both nodes' the one that gives up less.
  EXPECT_EQ(fixes.front().node, "b");
  EXPECT_EQ(fixes.front().nodes, 1u);
  engine::Request less = *request;
  less.shape = engine::changed(less.shape, fixes.front().remedy);
  EXPECT_EQ(books.engine().decide(less)->placement->node.text, "b");
  EXPECT_EQ(*summary(books, *request, {}),
            "0 of 2 nodes have room: 2 devices with too little memory (1 device of kind NVIDIA "
            "wanted)");
  EXPECT_TRUE(inquire(books, *books.requestFor(asking("20000")).value(), names)->at(1).fits);
}

TEST(Inquiry, KnowsWhoWaitsAndForWhat) {
  Books books(allVendors(), {});
  ASSERT_TRUE(books.setNode(cards("a", 10'000)));
  const std::vector<std::string_view> names{"a"};
  ASSERT_TRUE(books.choose(asking("30000"), names, {1000}));
  ASSERT_EQ(books.refused().size(), 1u);
  EXPECT_EQ(books.refused().front().uid, "u");
  ASSERT_NE(books.askOf("u"), nullptr);
  books.removePod("u");
  EXPECT_EQ(books.askOf("u"), nullptr);
}

TEST(Notices, WriteOneConditionOfAPodsStatus) {
  EXPECT_EQ(boost::json::parse(noticePatch(false, "no \"room\"", 1'700'000'000)),
            boost::json::parse(R"({"status":{"conditions":[{"type":"divvy.dev/DevicesFit",)"
                               R"("status":"False","reason":"NoRoom","message":"no \"room\"",)"
                               R"("lastTransitionTime":"2023-11-14T22:13:20Z"}]}})"));
}

}  // namespace
}  // namespace divvy::scheduler
