// What is written is what is read again: of every kind, whatever the pods.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "annotations/assignment.h"
#include "cache/core_masks.h"
#include "codec/pod_request.h"
#include "engine/engine.h"
#include "world.h"

namespace divvy::scheduler {
namespace {

// What a container may ask for of each node's devices.
std::vector<Texts> textsOf(const std::string& node) {
  if (node == "nvidia")
    return {{{"nvidia.com/gpu", "1"}, {"nvidia.com/gpumem", "3000"}, {"nvidia.com/gpucores", "7"}},
            {{"nvidia.com/gpu", "2"}, {"nvidia.com/gpumem-percentage", "30"}},
            {{"nvidia.com/gpu", "1"}}};
  if (node == "nvidia-mig")
    return {{{"nvidia.com/gpu", "1"}, {"nvidia.com/gpumem", "8000"}},
            {{"nvidia.com/mig-1g.5gb", "2"}},
            {{"nvidia.com/mig-3g.20gb", "1"}}};
  if (node == "nvidia-instances")
    return {{{"nvidia.com/gpu", "1"}, {"nvidia.com/gpumem", "8000"}, {"nvidia.com/gpucores", "7"}},
            {{"nvidia.com/mig-3g.20gb", "1"}}};
  if (node.rfind("ascend-", 0) == 0) {
    const std::string name = "huawei.com/Ascend" + node.substr(7);
    std::vector<Texts> asks{{{name, "1"}}, {{name, "1"}, {name + "-memory", "2000"}}};
    asks.push_back({{name, "1"}, {name + "-memory", "9000"}});
    asks.push_back({{name, "2"}});
    return asks;
  }
  if (node == "hygon")
    return {{{"hygon.com/dcunum", "1"}, {"hygon.com/dcumem", "2000"}, {"hygon.com/dcucores", "13"}},
            {{"hygon.com/dcunum", "2"}, {"hygon.com/dcumem", "77"}, {"hygon.com/dcucores", "1"}}};
  if (node.rfind("iluvatar-", 0) == 0) {
    const std::string name = "iluvatar.ai/" + node.substr(9);
    return {{{name + "-vgpu", "1"}, {name + ".vMem", "64"}, {name + ".vCore", "30"}},
            {{name + "-vgpu", "2"}}};
  }
  static const std::map<std::string, std::vector<Texts>> kOthers{
      {"kunlun-vxpu",
       {{{"kunlunxin.com/vxpu", "1"}, {"kunlunxin.com/vxpu-memory", "24576"}},
        {{"kunlunxin.com/vxpu", "1"}, {"kunlunxin.com/vxpu-memory", "30000"}}}},
      {"kunlun", {{{"kunlunxin.com/xpu", "1"}}, {{"kunlunxin.com/xpu", "3"}}}},
      {"amd",
       {{{"amd.com/gpu", "1"}, {"amd.com/gpumem", "4096"}, {"amd.com/gpucores", "33"}},
        {{"amd.com/gpu", "1"}, {"amd.com/gpumem", "4096"}, {"amd.com/gpucores", "7"}},
        {{"amd.com/gpu", "1"}}}},
      {"vastai", {{{"vastaitech.com/va", "1"}}}},
      {"biren", {{{"birentech.com/gpu", "1"}}}},
      {"cambricon",
       {{{"cambricon.com/vmlu", "1"},
         {"cambricon.com/mlu.smlu.vmemory", "5"},
         {"cambricon.com/mlu.smlu.vcore", "9"}}}},
      {"mthreads",
       {{{"mthreads.com/vgpu", "1"},
         {"mthreads.com/sgpu-memory", "8"},
         {"mthreads.com/sgpu-core", "3"}},
        {{"mthreads.com/vgpu", "2"}}}},
      {"metax", {{{"metax-tech.com/gpu", "2"}}}},
      {"metax-sgpu",
       {{{"metax-tech.com/sgpu", "1"},
         {"metax-tech.com/vcore", "21"},
         {"metax-tech.com/vmemory", "3"}}}},
      {"enflame", {{{"enflame.com/gcu", "1"}}}},
      {"enflame-drs", {{{"enflame.com/drs-gcu", "1"}}, {{"enflame.com/gcu-memory", "15"}}}},
      {"neuron",
       {{{"aws.amazon.com/neuroncore", "1"}},
        {{"aws.amazon.com/neuron", "1"}},
        {{"aws.amazon.com/neuroncore", "8"}}}},
  };
  const auto found = kOthers.find(node);
  return found == kOthers.end() ? std::vector<Texts>() : found->second;
}

// As far as annotations say it: whole MiB.
engine::Share rounded(engine::Share share, const DeviceMetadataMap& devices) {
  share.memory = mib(share.memory.count / mib(1).count);
  share.guarantee = {};
  // Which cores is chosen when it is written.
  if (devices.at(share.uuid.text).kind->wire.pod.cores == vendors::CoreForm::kMask)
    share.start = share.size = 0;
  return share;
}

engine::Placement rounded(const engine::Placement& from, const DeviceMetadataMap& devices) {
  engine::Placement placement;
  placement.node = from.node;
  for (const auto& shares : from.containers) {
    placement.containers.emplace_back();
    for (const engine::Share& one : shares)
      placement.containers.back().push_back(rounded(one, devices));
    // Of several kinds each is written by itself.
    std::stable_sort(placement.containers.back().begin(), placement.containers.back().end(),
                     [](const auto& a, const auto& b) { return a.uuid < b.uuid; });
  }
  for (engine::Charge charge : from.charges) {
    charge.memory = mib(charge.memory.count / mib(1).count);
    placement.charges.push_back(charge);
  }
  std::sort(placement.charges.begin(), placement.charges.end(),
            [](const auto& a, const auto& b) { return a.uuid < b.uuid; });
  return placement;
}

std::string said(const engine::Placement& placement) {
  std::string text;
  for (const auto& shares : placement.containers) {
    for (const engine::Share& one : shares)
      text += one.uuid.text + ' ' + std::to_string(one.memory.count) + ' ' +
              std::to_string(one.compute.milli) + ' ' + one.part.text + '@' +
              std::to_string(one.start) + '+' + std::to_string(one.size) + ", ";
    text += "; ";
  }
  for (const engine::Charge& one : placement.charges)
    text += "| " + one.uuid.text + ' ' + std::to_string(one.memory.count) + ' ' +
            std::to_string(one.compute.milli) + " slots " + std::to_string(one.slots) + " parts " +
            std::to_string(one.parts) + " cpus " + std::to_string(one.cpus) + " slices " +
            std::to_string(one.slices) + " largest " + std::to_string(one.largest.count) +
            " swappable " + std::to_string(one.swappable.count) + (one.shared_too ? " too" : "");
  return text;
}

class PodAllocationTest : public ::testing::TestWithParam<std::vector<std::string>> {
 protected:
  void SetUp() override {
    node.meta.name = node.meta.uid = "n";
    for (const std::string& name : GetParam()) {
      const kube::Node one = nodeWith(name);
      node.meta.annotations.insert(one.meta.annotations.begin(), one.meta.annotations.end());
      node.capacity.insert(one.capacity.begin(), one.capacity.end());
      const std::vector<Texts> more = textsOf(name);
      ASSERT_FALSE(more.empty()) << name;
      asks.push_back(more);
    }
    node.allocatable = node.capacity;
  }

  Texts limits() {
    Texts all;
    for (const std::vector<Texts>& of_one : asks) {
      if (asks.size() > 1 && random() % 3 == 0) continue;
      const Texts& one = of_one[random() % of_one.size()];
      all.insert(one.begin(), one.end());
    }
    return all;
  }

  kube::Pod draw(unsigned number) {
    std::vector<Texts> containers, init;
    for (auto left = 1 + random() % 3; left > 0; --left)
      containers.push_back(random() % 4 == 0 ? Texts() : limits());
    for (auto left = random() % 3; left > 0; --left) init.push_back(limits());
    Texts annotations;
    if (GetParam().front() == "nvidia-mig") annotations["nvidia.com/vgpu-mode"] = "mig";
    kube::Pod pod = *kube::podOf(podObject(containers, annotations, init));
    pod.meta.uid = "u" + std::to_string(number);
    for (kube::PodContainer& one : pod.init) one.sidecar = random() % 2 == 0;
    return pod;
  }

  kube::Node node;
  std::vector<std::vector<Texts>> asks;
  std::mt19937 random{7};
};

TEST_P(PodAllocationTest, WrittenAllocation_IsReadEqual) {
  unsigned placed = 0;
  for (unsigned round = 0; round < 40; ++round) {
    const Result<NodeDescription> described = describe(node, allVendors());
    ASSERT_TRUE(described) << described.error().message();
    engine::Engine engine{engine::Config{}};
    const Result<void> set = engine.setNode(described->node);
    ASSERT_TRUE(set) << set.error().message();
    CoreMasks masks;
    for (unsigned number = 0; number < 8; ++number) {
      kube::Pod pod = draw(number);
      const auto request = requestOf(pod, allVendors(), {});
      if (!request || !*request) continue;
      const Result<engine::Allocation> given = engine.place(**request, {1});
      if (!given) continue;
      ++placed;
      engine::Placement placement = given->placement;
      std::vector<bool> ends;
      for (const kube::PodContainer& one : pod.init) ends.push_back(!one.sidecar);
      const Result<void> cores =
          masks.assignCores(pod.meta.uid, ends, described->devices, &placement);
      ASSERT_TRUE(cores) << cores.error().message();
      const kube::Labels written =
          annotationsOf(placement, described->devices, {"a", "b", "c", "d", "e"}, 1);
      pod.meta.annotations.insert(written.begin(), written.end());
      pod.node = "n";
      const auto held = heldBy(pod, allVendors(), &described->devices);
      ASSERT_TRUE(held) << held.error().message();
      ASSERT_TRUE(held->has_value());
      const engine::Placement before = rounded(given->placement, described->devices);
      const engine::Placement after = rounded((*held)->placement, described->devices);
      ASSERT_EQ(said(before), said(after)) << written.begin()->second;
      ASSERT_EQ(before, after) << said(after);
    }
  }
  EXPECT_GT(placed, 20u);
}

struct Wrote {
  const char* node;
  Texts limits;
  Texts annotations;
  const char* held;  // of the first share: UUID, MiB, thousandths, part, slices; and the charge's
};

// As the incumbent's scheduler and agents leave it.
TEST(PodAllocation, OthersAnnotations_HeldAsEngineWould) {
  const std::vector<Wrote> rows{
      {"nvidia",
       {{"nvidia.com/gpu", "1"}},
       {{"hami.io/vgpu-devices-to-allocate", ";"},
        {"hami.io/vgpu-devices-allocated", "GPU-1,NVIDIA,3000,30:;"}},
       "GPU-1 3000 300 @0+0 parts 0 cpus 0 slices 0"},
      {"nvidia-mig",
       {{"nvidia.com/gpu", "1"}},
       {{"hami.io/vgpu-devices-allocated", "GPU-0,NVIDIA,9856,29:;"},
        {"hami.io/vgpu-mig-allocations",
         R"([{"containerIndex":0,"deviceIndex":0,"gpuUUID":"GPU-0","profile":"2g.10gb",)"
         R"("placement":{"start":2,"size":2},"migUUID":"MIG-x","gpuInstanceID":4,)"
         R"("computeInstanceID":0}])"}},
       "GPU-0 9856 285 2g.10gb@2+2 parts 1 cpus 0 slices 12"},
      {"nvidia-instances",
       {{"nvidia.com/mig-3g.20gb", "1"}},
       {{"hami.io/vgpu-devices-allocated", "MIG-1,NVIDIA,19968,100:;"}},
       "MIG-1 19968 1000 3g.20gb@0+0 parts 1 cpus 0 slices 0"},
      {"nvidia-instances",
       {{"nvidia.com/gpu", "1"}},
       {{"hami.io/vgpu-devices-allocated", "MIG-1,NVIDIA,19968,30:;"}},
       "MIG-1 19968 300 @0+0 parts 0 cpus 0 slices 0"},
      {"ascend-310P",
       {{"huawei.com/Ascend310P", "1"}},
       {{"hami.io/Ascend310P-devices-allocated", "Ascend310P-0,Ascend310P,6144,0:;"}},
       "Ascend310P-0 6144 250 vir02@0+0 parts 1 cpus 2 slices 0"},
      {"ascend-310P",
       {{"huawei.com/Ascend310P", "1"}},
       {{"hami.io/Ascend310P-devices-allocated", "Ascend310P-0,Ascend310P,21527,100:;"}},
       "Ascend310P-0 21527 1000 @0+0 parts 0 cpus 0 slices 0"},
      {"amd",
       {{"amd.com/gpu", "1"}},
       {{"hami.io/amd-devices-allocated", "AMD-1,MI300X,4096,76:;"}},
       "AMD-1 4096 250 @0+0 parts 0 cpus 0 slices 0"},
      {"neuron",
       {{"aws.amazon.com/neuroncore", "1"}},
       {{"hami.io/aws-neuron-devices-allocated", "n-AWSNeuron-0,AWSNeuron,0,2:;"}},
       "n-AWSNeuron-0 0 500 @1+1 parts 0 cpus 0 slices 0"},
      {"enflame-drs",
       {{"enflame.com/drs-gcu", "3"}},
       {{"hami.io/enflame-vgpu-devices-allocated", "n-enflame-drs-0,Enflame,20480,50:;"}},
       "n-enflame-drs-0 20480 500 3@0+0 parts 1 cpus 3 slices 0"},
  };
  for (const Wrote& row : rows) {
    kube::Pod pod = *kube::podOf(podObject({row.limits}, row.annotations));
    pod.node = "n";
    const auto described = describe(nodeWith(row.node), allVendors());
    ASSERT_TRUE(described) << described.error().message();
    const auto held = heldBy(pod, allVendors(), &described->devices);
    ASSERT_TRUE(held && *held) << row.node;
    const engine::Share& share = (*held)->placement.containers.at(0).at(0);
    const engine::Charge& charge = (*held)->placement.charges.at(0);
    EXPECT_EQ(share.uuid.text + ' ' + std::to_string(share.memory.count >> 20) + ' ' +
                  std::to_string(share.compute.milli) + ' ' + share.part.text + '@' +
                  std::to_string(share.start) + '+' + std::to_string(share.size) + " parts " +
                  std::to_string(charge.parts) + " cpus " + std::to_string(charge.cpus) +
                  " slices " + std::to_string(charge.slices),
              row.held);
  }
}

std::vector<std::vector<std::string>> nodes() {
  std::vector<std::vector<std::string>> all;
  for (const std::string& one : allNodes()) all.push_back({one});
  all.push_back({"nvidia", "ascend-910B3", "hygon", "neuron"});
  all.push_back({"nvidia-mig", "ascend-310P", "enflame-drs", "amd"});
  return all;
}

INSTANTIATE_TEST_SUITE_P(OfEveryKind, PodAllocationTest, ::testing::ValuesIn(nodes()),
                         [](const auto& each) {
                           std::string name;
                           for (const std::string& one : each.param)
                             for (const char c : one)
                               if (std::isalnum(static_cast<unsigned char>(c)) != 0) name += c;
                           return name;
                         });

}  // namespace
}  // namespace divvy::scheduler
