// Devices that are given as a whole only, and models that are named by whole words.
#include <gtest/gtest.h>

#include "engine/engine.h"
#include "some.h"

namespace divvy::engine {
namespace {

Request asking(const std::string& id, std::int32_t compute, DeviceMemory memory) {
  Request request = some::request(id, 1, compute);
  request.shape.containers[0].devices.memory = memory;
  return request;
}

class UnsharedDeviceTest : public testing::Test {
 protected:
  void SetUp() override {
    Node node = some::node("n", 2);
    for (Device& device : node.devices) {
      device.mode = Mode::kWhole;
      device.memory = Bytes{};  // nobody says how much it is
    }
    ASSERT_TRUE(engine_.setNode(node));
  }
  Engine engine_{Config{}};
};

TEST_F(UnsharedDeviceTest, RequestsForAll_OnePerDevice) {
  EXPECT_TRUE(engine_.place(asking("a", 1000, Percent{100}), Instant{1}));
  EXPECT_TRUE(engine_.place(asking("b", 1000, Percent{100}), Instant{1}));
  EXPECT_FALSE(engine_.decide(asking("c", 1000, Percent{100}))->fits());
}

TEST_F(UnsharedDeviceTest, RequestsForShare_RefusedWithReason) {
  for (const Request& share :
       {asking("a", 0, Percent{100}), asking("b", 300, Percent{100}),
        asking("c", 1000, Percent{50}), asking("d", 1000, mib(100)), asking("e", 0, Bytes{})}) {
    const auto decided = engine_.explain(share);
    ASSERT_TRUE(decided);
    ASSERT_FALSE(decided->fits()) << share.id.text;
    EXPECT_EQ(decided->refusals.at(0).devices.at(0).why, DeviceWhy::kExclusiveOnly);
    EXPECT_EQ(text(decided->refusals[0].devices[0]),
              "is given as a whole only, and a share was asked for");
  }
}

// A pool may say that its devices are shared: of these they are not.
TEST_F(UnsharedDeviceTest, SharedPool_StillNotShared) {
  Pool pool{PoolName("p"), {}, Mode::kShared};
  ASSERT_TRUE(engine_.setPools({pool}));
  Request share = asking("a", 300, Percent{50});
  share.shape.pool = PoolName("p");
  EXPECT_FALSE(engine_.decide(share)->fits());
}

TEST(ModelMatch, Words_MatchFullWordsOnly) {
  const auto fits = [](const std::string& model, const std::string& words) {
    Engine engine{Config{}};
    Node node = some::node("n", 1);
    node.devices[0].model = ModelName(model);
    EXPECT_TRUE(engine.setNode(node));
    Request request = some::request("a", 1, 1000);
    request.shape.selector.match = ModelMatch::kWords;
    request.shape.selector.models = {ModelName(words)};
    return engine.decide(request)->fits();
  };
  for (const char* model : {"NVIDIA H20", "h20", "NVIDIA-H20-96GB", "H200 or H20", "H 20"})
    EXPECT_TRUE(fits(model, "H20")) << model;
  for (const char* model : {"NVIDIA H200", "GH20", "2H 0", ""})
    EXPECT_FALSE(fits(model, "H20")) << model;
  EXPECT_TRUE(fits("NVIDIA GeForce RTX 4090 D", "4090 D"));
}

}  // namespace
}  // namespace divvy::engine
