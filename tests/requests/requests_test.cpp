// From vendors' words to where it goes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/engine.h"
#include "requests/models.h"
#include "requests/partitioning.h"
#include "requests/shape.h"

namespace divvy::requests {
namespace {

using engine::DeviceKind;
using engine::Engine;
using testing::HasSubstr;
using vendors::Annotations;
using vendors::Quantities;

const vendors::Catalog& catalog() {
  static const vendors::Catalog all = std::move(vendors::Catalog::of(vendors::builtIn())).value();
  return all;
}

// `count` devices of a kind, as whoever describes a node would.
engine::Node nodeOf(const std::string& kind, const std::string& model, unsigned count, Bytes memory,
                    engine::Mode mode = engine::Mode::kShared) {
  engine::Node node;
  node.name = engine::NodeName("n");
  node.cpu = {64'000};
  node.memory = gib(256);
  for (unsigned i = 0; i < count; ++i) {
    engine::Device device;
    device.uuid = engine::DeviceUuid(kind + "-" + std::to_string(i));
    device.model = engine::ModelName(model);
    device.memory = memory;
    device.kind = DeviceKind(kind);
    device.mode = mode;
    device.parting = partitioningOf(*catalog().kind(kind), model);
    node.devices.push_back(device);
  }
  return node;
}

engine::Shape shapeFor(const Quantities& limits, const Annotations& annotations = {}) {
  const auto asks = vendors::readRequests(catalog(), limits, {}, annotations);
  EXPECT_TRUE(asks) << asks.error().message();
  const std::vector<ContainerRequests> containers{{{1000}, gib(1), *asks}};
  engine::Shape shape = shapeOf({}, containers, annotations);
  const auto selected = selectModels({}, containers, &shape);
  EXPECT_TRUE(selected) << selected.error().message();
  return shape;
}

class RequestPlacementTest : public testing::Test {
 protected:
  // What it was given: "UUID part@start memory compute", one after the other; or why not.
  std::string placed(const Quantities& limits, const Annotations& annotations = {}) {
    const engine::Request request{engine::RequestId("r" + std::to_string(next_++)),
                                  shapeFor(limits, annotations)};
    const auto decision = engine_.explain(request);
    if (!decision) return decision.error().message();
    if (!decision->fits()) return said(decision->refusals);
    const auto given = engine_.place(request, engine::Instant{1});
    std::string all;
    for (const engine::Share& share : given->placement.containers.at(0)) {
      all += (all.empty() ? "" : ", ") + share.uuid.text;
      if (!share.part.empty()) all += " " + share.part.text + "@" + std::to_string(share.start);
      all += " " + std::to_string(share.memory.count >> 20) + "Mi " +
             std::to_string(share.compute.milli);
    }
    return all;
  }
  static std::string said(const std::vector<engine::NodeRefusal>& refusals) {
    std::string all = "no: " + engine::text(refusals.at(0));
    for (const engine::DeviceRefusal& one : refusals.at(0).devices) all += "; " + text(one);
    return all;
  }

  Engine engine_{engine::Config{}};
  unsigned next_ = 0;
};

TEST_F(RequestPlacementTest, NvidiaShares_PlacedByTime) {
  ASSERT_TRUE(engine_.setNode(nodeOf("NVIDIA", "NVIDIA A100-SXM4-40GB", 2, gib(40))));
  EXPECT_EQ(placed({{"nvidia.com/gpu", "1"}, {"nvidia.com/gpumem", "3000"}}), "NVIDIA-0 3000Mi 0");
  EXPECT_EQ(placed({{"nvidia.com/gpu", "1"}}), "NVIDIA-1 40960Mi 1000");
  EXPECT_EQ(placed({{"huawei.com/Ascend910A", "1"}}),
            "no: container 0 needs 1 device of kind Ascend910A, 0 fit; another kind of device "
            "was asked for; another kind of device was asked for");
  EXPECT_EQ(placed({{"nvidia.com/gpu", "1"}, {"nvidia.com/gpumem", "1"}},
                   {{"nvidia.com/use-gputype", "V100"}}),
            "no: container 0 needs 1 device of kind NVIDIA, 0 fit; another model was asked "
            "for; another model was asked for");
}

// The incumbent's example: two instances of 8000 MiB, which may be of one card.
TEST_F(RequestPlacementTest, NvidiaMig_PlacedInInstances) {
  ASSERT_TRUE(
      engine_.setNode(nodeOf("NVIDIA", "NVIDIA A100-SXM4-40GB", 1, gib(40), engine::Mode::kMig)));
  const Annotations mig{{"nvidia.com/vgpu-mode", "mig"}};
  EXPECT_EQ(placed({{"nvidia.com/gpu", "2"}, {"nvidia.com/gpumem", "8000"}}, mig),
            "NVIDIA-0 1g.10gb@6 9728Mi 142, NVIDIA-0 1g.10gb@4 9728Mi 142");
  EXPECT_EQ(placed({{"nvidia.com/mig-3g.20gb", "1"}}), "NVIDIA-0 3g.20gb@0 19456Mi 428");
  EXPECT_THAT(placed({{"nvidia.com/mig-1g.5gb", "1"}}), HasSubstr("no place for such a part"));
  EXPECT_THAT(placed({{"nvidia.com/gpu", "1"}, {"nvidia.com/gpumem", "100"}}),
              HasSubstr("partitioned (MIG)"));
}

TEST_F(RequestPlacementTest, FullMigCard_LargestInstance) {
  ASSERT_TRUE(
      engine_.setNode(nodeOf("NVIDIA", "NVIDIA H100 80GB HBM3", 1, gib(80), engine::Mode::kMig)));
  EXPECT_EQ(placed({{"nvidia.com/gpu", "1"}}, {{"nvidia.com/vgpu-mode", "mig"}}),
            "NVIDIA-0 7g.80gb@0 77824Mi 1000");
}

// Of 7 processors four, one and two; the memory is short first.
TEST_F(RequestPlacementTest, AscendMemory_TemplateIsChosen) {
  ASSERT_TRUE(engine_.setNode(nodeOf("Ascend310P", "Ascend310P", 1, mib(21527))));
  const auto asking = [&](const char* mebibytes) {
    return placed({{"huawei.com/Ascend310P", "1"}, {"huawei.com/Ascend310P-memory", mebibytes}});
  };
  EXPECT_EQ(asking("10000"), "Ascend310P-0 vir04@0 12288Mi 500");
  EXPECT_THAT(asking("7000"), HasSubstr("needs 12 GiB, 9.0 GiB free"));
  EXPECT_EQ(asking("2000"), "Ascend310P-0 vir01@0 3072Mi 125");
  EXPECT_EQ(asking("4000"), "Ascend310P-0 vir02@0 6144Mi 250");
  EXPECT_THAT(placed({{"huawei.com/Ascend310P", "1"}}), HasSubstr("in use in parts"));
}

TEST_F(RequestPlacementTest, NeuronCores_ShareDevice) {
  ASSERT_TRUE(engine_.setNode(nodeOf("AWSNeuron", "Trainium", 1, gib(32))));
  EXPECT_EQ(placed({{"aws.amazon.com/neuroncore", "1"}}), "AWSNeuron-0 0Mi 500");
  EXPECT_EQ(placed({{"aws.amazon.com/neuroncore", "1"}}), "AWSNeuron-0 0Mi 500");
  EXPECT_THAT(placed({{"aws.amazon.com/neuroncore", "1"}}), HasSubstr("no: "));
}

// What slices are is for the node to say.
TEST_F(RequestPlacementTest, EnflameSlices_FollowNode) {
  engine::Node node = nodeOf("Enflame", "S60", 1, gib(48));
  node.devices[0].parting = std::make_shared<engine::Partitioning>(engine::Partitioning{
      {{sliceName(1), gib(8), {166}, 0, 0, {}}, {sliceName(3), gib(24), {500}, 0, 0, {}}}, 0, 0});
  ASSERT_TRUE(engine_.setNode(node));
  EXPECT_EQ(placed({{"enflame.com/drs-gcu", "3"}}), "Enflame-0 3@0 24576Mi 500");
  EXPECT_THAT(placed({{"enflame.com/drs-gcu", "2"}}), HasSubstr("never has such a part"));
  EXPECT_EQ(placed({{"enflame.com/gcu-memory", "20"}, {"enflame.com/gcu-core", "40"}}),
            "Enflame-0 3@0 24576Mi 500");
  EXPECT_THAT(placed({{"enflame.com/drs-gcu", "1"}}), HasSubstr("needs 8 GiB, 0 B free"));
}

TEST_F(RequestPlacementTest, SeveralKinds_EachByItsSelection) {
  engine::Node node = nodeOf("NVIDIA", "A10", 2, gib(24));
  const engine::Node more = nodeOf("Ascend910B4", "Ascend910B4", 2, gib(32));
  node.devices.insert(node.devices.end(), more.devices.begin(), more.devices.end());
  ASSERT_TRUE(engine_.setNode(node));
  EXPECT_EQ(placed({{"nvidia.com/gpu", "1"}, {"huawei.com/Ascend910B4", "1"}},
                   {{"nvidia.com/use-gpuuuid", "NVIDIA-1"}}),
            "Ascend910B4-0 32768Mi 1000, NVIDIA-1 24576Mi 1000");
}

// A name is of whole words: an H20 is no H200.
TEST_F(RequestPlacementTest, ModelResource_SelectsModel) {
  engine::Node node = nodeOf("NVIDIA", "NVIDIA H200", 1, gib(141));
  node.devices.push_back(nodeOf("NVIDIA", "NVIDIA-H20", 1, gib(96)).devices[0]);
  node.devices.back().uuid = engine::DeviceUuid("h20");
  ASSERT_TRUE(engine_.setNode(node));
  EXPECT_EQ(placed({{"divvy.dev/gpu-h20", "1"}, {"divvy.dev/gpumem", "1Gi"}}), "h20 1024Mi 0");
  EXPECT_EQ(placed({{"divvy.dev/gpu-h20", "1"}, {"nvidia.com/gpumem", "1Gi"}}), "h20 1024Mi 0");
  EXPECT_EQ(placed({{"divvy.dev/gpu-h200", "1"}}), "NVIDIA-0 144384Mi 1000");
  EXPECT_THAT(placed({{"divvy.dev/gpu-h200", "1"}}), HasSubstr("another model was asked for"));
  EXPECT_THAT(placed({{"divvy.dev/gpu-h100", "1"}, {"divvy.dev/gpumem", "1Gi"}}),
              HasSubstr("no: "));
}

TEST(SelectModels, TwoModels_AreRefused) {
  const auto requestsFor = [](const Quantities& limits) {
    return ContainerRequests{{}, {}, *vendors::readRequests(catalog(), limits, {})};
  };
  const auto error = [&](const std::vector<ContainerRequests>& containers,
                         const Annotations& annotations) {
    engine::Shape shape = shapeOf({}, containers, annotations);
    const auto selected = selectModels({}, containers, &shape);
    return selected ? std::string() : selected.error().message();
  };
  const ContainerRequests a100 = requestsFor({{"divvy.dev/gpu-a100", "1"}});
  EXPECT_EQ(error({a100, a100}, {}), "");
  EXPECT_THAT(error({a100, requestsFor({{"divvy.dev/gpu-l20", "1"}})}, {}),
              HasSubstr("for divvy.dev/gpu-a100 and for divvy.dev/gpu-l20; accepted"));
  EXPECT_THAT(error({requestsFor({{"nvidia.com/gpu", "1"}}), a100}, {}),
              HasSubstr("for nvidia.com/gpu and for divvy.dev/gpu-a100; accepted"));
  EXPECT_THAT(error({a100}, {{"nvidia.com/use-gputype", "A100"}}),
              HasSubstr("so does an annotation; accepted"));
}

// Thousandths, rounded down, never let more cores in than the card has.
TEST(PartingOf, TemplateCores_ThousandthsAgree) {
  for (const vendors::Kind* kind : catalog().kinds()) {
    if (kind->templates.empty()) continue;
    const auto parting = partitioningOf(*kind, "");
    ASSERT_EQ(parting->parts.size(), kind->templates.size());
    const std::function<void(std::size_t, std::uint32_t, std::int32_t)> add =
        [&](std::size_t at, std::uint32_t cores, std::int32_t milli) {
          ASSERT_EQ(cores <= kind->card.cores, milli <= 1000) << kind->name << " " << cores;
          if (cores > kind->card.cores) return;
          for (std::size_t i = at; i < kind->templates.size(); ++i) {
            add(i, cores + kind->templates[i].cores, milli + parting->parts[i].compute.milli);
          }
        };
    add(0, 0, 0);
  }
}

// Every table is one that the engine takes, and models are found by their words.
TEST(PartingOf, EachGeometry_AcceptedByEngine) {
  const auto partsOf = [](const char* model) {
    const auto parting = partitioningOf(*catalog().kind("NVIDIA"), model);
    return parting == nullptr ? "none" : parting->parts.back().name.text;
  };
  EXPECT_EQ(partsOf("NVIDIA A100-SXM4-40GB"), "7g.40gb");
  EXPECT_EQ(partsOf("NVIDIA A100 80GB PCIe"), "7g.80gb");
  EXPECT_EQ(partsOf("NVIDIA H100 80GB HBM3"), "7g.80gb");
  EXPECT_EQ(partsOf("NVIDIA H100 NVL"), "7g.94gb");
  EXPECT_EQ(partsOf("NVIDIA H20"), "7g.96gb");
  EXPECT_EQ(partsOf("NVIDIA H200"), "7g.141gb");
  EXPECT_EQ(partsOf("NVIDIA A30"), "4g.24gb");
  EXPECT_EQ(partsOf("NVIDIA A3000"), "none");
  EXPECT_EQ(partsOf("Tesla T4"), "none");
  for (const vendors::Kind* kind : catalog().kinds()) {
    for (const vendors::Geometry& geometry : kind->geometries) {
      for (const std::string& model : geometry.models) {
        Engine engine{engine::Config{}};
        const auto set = engine.setNode(nodeOf(kind->name, model, 1, gib(200)));
        ASSERT_TRUE(set) << set.error().message();
        EXPECT_EQ(partitioningOf(*kind, model)->parts.size(), geometry.instances.size());
        EXPECT_EQ(partitioningOf(*kind, model)->parts[0].name.text, geometry.instances[0].name);
      }
    }
  }
}

}  // namespace
}  // namespace divvy::requests
