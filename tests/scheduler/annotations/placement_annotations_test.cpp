// How a pod wants to be placed, by its annotations.
#include <gtest/gtest.h>

#include "annotations/placement_annotations.h"

namespace divvy::scheduler {
namespace {

engine::DevicePolicy spread() {
  engine::DevicePolicy policy;
  policy.order = engine::DeviceOrder::kSpread;
  return policy;
}

engine::Shape shapeOf(const kube::Labels& annotations) {
  engine::Shape shape;
  const Result<void> read = readPreferences(annotations, spread(), &shape);
  EXPECT_TRUE(read.has_value()) << read.error().message();
  return shape;
}

TEST(PlacementAnnotations, NoAnnotations_ClusterDefaultsApply) {
  EXPECT_EQ(shapeOf({}), engine::Shape{});
  EXPECT_EQ(shapeOf({{"nvidia.com/numa-bind", "false"}, {"hami.io/gpu-scheduler-policy", " "}}),
            engine::Shape{});
}

TEST(PlacementAnnotations, BothDialects_SameShape) {
  engine::Shape expected;
  expected.policy = engine::Policy::kBinpack;
  expected.devices.emplace();
  expected.devices->order = engine::DeviceOrder::kBinpack;
  expected.devices->mutex = true;
  expected.devices->numa = engine::Preference::kPreferred;
  EXPECT_EQ(shapeOf({{"hami.io/node-scheduler-policy", "binpack"},
                     {"hami.io/gpu-scheduler-policy", "numa,mutex,binpack"}}),
            expected);
  expected.pool = engine::PoolName("training");
  EXPECT_EQ(shapeOf({{"use.divvy.dev/node-policy", "binpack"},
                     {"hami.io/node-scheduler-policy", "spread"},  // ours count
                     {"use.divvy.dev/device-policy", "binpack,mutex,numa"},
                     {"use.divvy.dev/pool", "training"}}),
            expected);
  EXPECT_EQ(shapeOf({{"use.divvy.dev/pool", "none"}}).pool, engine::PoolName());
  const auto day = shapeOf({{"use.divvy.dev/expected-use", " 9-18=80%,else=10% "}}).daily;
  ASSERT_TRUE(day);
  EXPECT_EQ(day->permille[9], 800);
  EXPECT_EQ(day->permille[18], 100);
}

// A part of it leaves the rest as the cluster has it.
TEST(PlacementAnnotations, PartialAnnotations_AddToDefaults) {
  engine::DevicePolicy expected = spread();
  expected.use = {0, 1, 3};
  expected.numa = engine::Preference::kRequired;
  EXPECT_EQ(shapeOf({{"hami.io/device-scoring-weights", "slot=0, core=1, memory=3"},
                     {"nvidia.com/numa-bind", "t"}})
                .devices,
            expected);
}

TEST(PlacementAnnotations, InvalidValue_ErrorNamesKey) {
  for (const auto& [key, value] : std::vector<std::pair<std::string, std::string>>{
           {"hami.io/node-scheduler-policy", "binpak"},
           {"use.divvy.dev/node-policy", "tightest"},
           {"hami.io/gpu-scheduler-policy", "spread,,mutex!"},
           {"use.divvy.dev/device-policy", "binpack,fast"},
           {"nvidia.com/numa-bind", "yes"},
           {"use.divvy.dev/expected-use", "9-18"},
           {"hami.io/device-scoring-weights", "slot=1"},
           {"hami.io/device-scoring-weights", "slot=1,core=1,memory=1,slot=1"},
           {"hami.io/device-scoring-weights", "slot=0,core=0,memory=0"},
           {"hami.io/device-scoring-weights", "slot=1,core=-1,memory=1"},
           {"hami.io/device-scoring-weights", "slot=1,core=1,memory=4294967296"}}) {
    engine::Shape shape;
    const Result<void> read = readPreferences({{key, value}}, {}, &shape);
    ASSERT_FALSE(read.has_value()) << key << ' ' << value;
    EXPECT_EQ(read.error().code(), ErrorCode::kUsage);
    EXPECT_NE(read.error().message().find(key), std::string::npos) << read.error().message();
  }
}

}  // namespace
}  // namespace divvy::scheduler
