// HAMi's device-config.yaml as its chart renders it, and as people write it.
#include "vendors/device_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "vendors/ask.h"
#include "vendors/catalog.h"

namespace divvy::vendors {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

DeviceConfig read(const std::string& yaml) {
  Result<DeviceConfig> config = readDeviceConfig(yaml, "f", builtIn());
  EXPECT_TRUE(config) << (config ? "" : config.error().message());
  return config ? *config : DeviceConfig{};
}

std::string refused(const std::string& yaml) {
  const Result<DeviceConfig> config = readDeviceConfig(yaml, "f", builtIn());
  EXPECT_FALSE(config);
  return config ? "" : config.error().message();
}

Catalog catalogOf(const std::string& yaml) {
  return *Catalog::of(read(yaml).families);
}

TEST(DeviceConfig, ResourceNames_AreRenamed) {
  const Catalog catalog = catalogOf(
      "nvidia: {resourceCountName: example.com/vgpu, resourceMemoryName: example.com/mem,\n"
      "         resourceMemoryPercentageName: example.com/pct, resourceCoreName: example.com/sm,\n"
      "         resourcePriorityName: example.com/prio}\n");
  const Kind* kind = catalog.kind("NVIDIA");
  ASSERT_NE(kind, nullptr);
  EXPECT_EQ(catalog.owner("nvidia.com/gpu"), nullptr);
  EXPECT_EQ(catalog.owner("example.com/pct"), kind);
  EXPECT_EQ(kind->priority, "example.com/prio");
  const auto asks =
      readRequests(catalog, {{"example.com/vgpu", "2"}, {"example.com/mem", "3000"}}, {});
  ASSERT_TRUE(asks);
  ASSERT_EQ(asks->size(), 1u);
  EXPECT_EQ((*asks)[0].count, 2u);
  EXPECT_EQ((*asks)[0].memory, Memory(mib(3000)));
}

TEST(DeviceConfig, MissingFamily_IsNotPlaced) {
  const Catalog catalog = catalogOf("hygon: {resourceCountName: hygon.com/dcunum}\nnvidia:\n");
  EXPECT_NE(catalog.owner("hygon.com/dcumem"), nullptr);  // stays as it is called otherwise
  EXPECT_EQ(catalog.owner("nvidia.com/gpu"), nullptr);
}

// As charts render it.
TEST(DeviceConfig, EmptyValues_ChangeNothing) {
  const Catalog catalog = catalogOf("nvidia: {runtimeClassName: \"\", resourceCountName: \"\"}\n");
  EXPECT_NE(catalog.owner("nvidia.com/gpu"), nullptr);
  EXPECT_TRUE(catalog.kind("NVIDIA")->wire.mutation.runtime_class.empty());
}

TEST(DeviceConfig, CountName_NodeResourceFollows) {
  const Catalog catalog = catalogOf(
      "cambricon: {resourceCountName: cambricon.com/mlu370, resourceMemoryName:\n"
      "  cambricon.com/mlu370.smlu.vmemory, resourceCoreName: cambricon.com/mlu370.smlu.vcore}\n");
  const Kind* kind = catalog.kind("MLU");
  EXPECT_EQ(kind->wire.node.resource, "cambricon.com/mlu370.smlu.vcore");
  EXPECT_EQ(kind->wire.node.memory, "cambricon.com/mlu370.smlu.vmemory");
}

TEST(DeviceConfig, Defaults_ApplyWhereUnstated) {
  const Catalog catalog =
      catalogOf("nvidia: {defaultMemory: 2000, defaultCores: 30, defaultGPUNum: 2}\n");
  const auto asks = readRequests(catalog, {{"nvidia.com/gpu", "1"}}, {});
  ASSERT_TRUE(asks);
  EXPECT_EQ((*asks)[0].memory, Memory(mib(2000)));
  EXPECT_EQ((*asks)[0].compute_milli, 300u);  // a share: nobody asked for all of it
  const auto all = readRequests(catalog, {{"nvidia.com/gpumem-percentage", "100"}}, {});
  ASSERT_TRUE(all);
  EXPECT_EQ((*all)[0].count, 2u);
  EXPECT_EQ((*all)[0].memory, Memory(WholeMemory{}));
}

TEST(DeviceConfig, DefaultMemorySuffix_IsBytes) {
  for (const char* memory : {"8Gi", "8192Mi", "8192", "8590M"}) {
    const Catalog catalog = catalogOf("nvidia: {defaultMemory: " + std::string(memory) + "}\n");
    EXPECT_EQ(catalog.kind("NVIDIA")->memory.absent, 8192u) << memory;
  }
  for (const char* order :
       {"memoryFactor: 256, defaultMemory: 8Gi", "defaultMemory: 8Gi, memoryFactor: 256",
        "defaultMemory: 32, memoryFactor: 256"})
    EXPECT_EQ(catalogOf("nvidia: {" + std::string(order) + "}\n").kind("NVIDIA")->memory.absent,
              32u)
        << order;
  EXPECT_EQ(catalogOf("nvidia: {defaultMemory: 0}\n").kind("NVIDIA")->memory.absent, 0u);
}

TEST(DeviceConfig, MemoryFactor_IsUnit) {
  const Catalog catalog = catalogOf("nvidia: {memoryFactor: 4}\nhygon: {memoryFactor: 1}\n");
  EXPECT_EQ(catalog.kind("NVIDIA")->memory.unit, mib(4));
  EXPECT_EQ(catalog.kind("DCU")->memory.unit, mib(1));
}

TEST(DeviceConfig, NoDefaultCount_CountIsRequired) {
  const Catalog catalog = catalogOf("nvidia: {defaultGPUNum: 0}\n");
  EXPECT_FALSE(readRequests(catalog, {{"nvidia.com/gpumem", "1000"}}, {}));
}

TEST(DeviceConfig, EnvAndRuntimeClass_InMutation) {
  const Catalog catalog = catalogOf(
      "nvidia: {overwriteEnv: \"true\", gpuCorePolicy: force, runtimeClassName: nvidia}\n");
  const Mutation& door = catalog.kind("NVIDIA")->wire.mutation;
  EXPECT_EQ(door.runtime_class, "nvidia");
  ASSERT_EQ(door.env.size(), 3u);
  EXPECT_EQ(door.env[1].name, "NVIDIA_VISIBLE_DEVICES");
  EXPECT_EQ(door.env[1].of, EnvVariable::Of::kOthers);
  EXPECT_EQ(door.env[2].value, "force");
  EXPECT_EQ(catalogOf("nvidia: {overwriteEnv: false, gpuCorePolicy: default}\n")
                .kind("NVIDIA")
                ->wire.mutation.env.size(),
            1u);
}

constexpr const char* kChip =
    "- commonWord: Ascend910X\n"
    "  chipName: 910X\n"
    "  resourceName: huawei.com/Ascend910X\n"
    "  resourceMemoryName: huawei.com/Ascend910X-memory\n"
    "  memoryAllocatable: 65536\n"
    "  memoryCapacity: 65536\n"
    "  aiCore: 24\n"
    "  templates:\n"
    "  - {name: large, memory: 16384, aiCore: 6}\n"
    "  - {name: small, memory: 8192, aiCore: 3}\n";

// Both ways in which lists of chips were written.
TEST(DeviceConfig, ChipList_ReadInBothForms) {
  std::string inside = kChip;
  for (std::size_t at = 0; (at = inside.find('\n', at)) != std::string::npos; ++at)
    if (at + 1 < inside.size()) inside.insert(at + 1, "  ");
  for (const std::string& yaml :
       {std::string("vnpus:\n") + kChip,
        std::string("vnpus:\n  hamiVnpuCore: false\n  configs:\n  ") + inside}) {
    const Catalog catalog = catalogOf(yaml);
    ASSERT_EQ(catalog.kinds().size(), 1u) << yaml;
    const Kind* kind = catalog.kind("Ascend910X");
    ASSERT_NE(kind, nullptr);
    EXPECT_EQ(kind->wire.node.annotation, "hami.io/node-register-Ascend910X");
    EXPECT_EQ(kind->wire.pod.allocated, "hami.io/Ascend910X-devices-allocated");
    EXPECT_EQ(kind->uuids.use, "hami.io/use-Ascend910X-uuid");
    ASSERT_EQ(kind->templates.size(), 2u);
    EXPECT_EQ(kind->templates[0].name, "small");
    EXPECT_EQ(kind->cores.resource, "huawei.com/Ascend910X-core");
  }
}

TEST(DeviceConfig, KnownChip_KeepsUnstatedFields) {
  const Catalog catalog =
      catalogOf("iluvatars:\n- {commonWord: BI-V150, resourceCountName: iluvatar.ai/vgpu}\n");
  EXPECT_EQ(catalog.kinds().size(), 1u);
  EXPECT_EQ(catalog.owner("iluvatar.ai/BI-V150.vMem")->name, "BI-V150");
  EXPECT_NE(catalog.owner("iluvatar.ai/vgpu"), nullptr);
}

TEST(DeviceConfig, UnusedKeys_AreNamed) {
  const DeviceConfig config = read(
      "nvidia: {resourceCountNmae: a/b, deviceSplitCount: 10}\n"
      "metax: {sgpuTopologyAware: true}\n"
      "intel: {}\n"
      "vnpus:\n- {commonWord: Ascend910A, fast: 1}\n");
  EXPECT_THAT(config.unknown,
              ElementsAre("nvidia.resourceCountNmae (f:1)", "intel (f:3)", "vnpus.fast (f:5)"));
  EXPECT_THAT(config.of_agents, ElementsAre("nvidia.deviceSplitCount (f:1)"));
  EXPECT_THAT(config.not_done, ElementsAre("metax.sgpuTopologyAware (f:2)"));
}

TEST(DeviceConfig, ConfigMap_IsUnwrapped) {
  const Catalog catalog = catalogOf(
      "apiVersion: v1\nkind: ConfigMap\ndata:\n  device-config.yaml: |-\n"
      "    biren:\n      resourceCountName: birentech.com/card\n");
  EXPECT_NE(catalog.owner("birentech.com/card"), nullptr);
}

TEST(DeviceConfig, InvalidValue_RefusedWithReason) {
  for (const char* memory : {"lots", "-1", "1073741824", "9000000", "1.5", "3000Gi", "[1]"})
    EXPECT_THAT(refused("nvidia: {defaultMemory: " + std::string(memory) + "}\n"),
                HasSubstr("accepted: "))
        << memory;
  EXPECT_THAT(refused("nvidia: {memoryFactor: 256, defaultMemory: 100Mi}\n"),
              HasSubstr("accepted: at least 256 MiB"));
  EXPECT_THAT(refused("nvidia: {defaultMemory: lots}\n"), HasSubstr("f:1:"));
  EXPECT_THAT(refused("nvidia: [1]\n"), HasSubstr("nvidia is not a map"));
  EXPECT_THAT(refused("nvidia: {gpuCorePolicy: strict}\n"), HasSubstr("disable"));
  EXPECT_THAT(refused("vnpus:\n- {commonWord: Ascend999}\n"), HasSubstr("memoryAllocatable"));
  EXPECT_THAT(refused("vnpus:\n- {commonWord: Ascend910A, memoryCapacity: 1}\n"),
              HasSubstr("more than memoryCapacity"));
  EXPECT_THAT(refused("vnpus:\n- {commonWord: Ascend910A, templates: [{name: a, memory: 40000,\n"
                      "    aiCore: 2}]}\n"),
              HasSubstr("more than the device"));
  EXPECT_THAT(refused("iluvatars: {a: 1}\n"), HasSubstr("not a list"));
  EXPECT_THAT(refused("{}\n"), HasSubstr("no devices"));
  EXPECT_THAT(refused("nvidia: {\n"), HasSubstr("f:"));
}

// No family's section is unknown, and an empty one changes nothing.
TEST(DeviceConfig, EachFamily_HasSection) {
  std::string yaml;
  for (const Descriptor& family : builtIn()) {
    if (family.vendor == "ascend" || family.vendor == "iluvatar") continue;
    const std::string name = family.vendor == "neuron" ? "awsneuron" : family.vendor;
    yaml += name + ": {}\n";
  }
  const DeviceConfig config = read(yaml);
  EXPECT_EQ(config.families.size(), builtIn().size() - 2);
  EXPECT_THAT(config.unknown, IsEmpty());
}

}  // namespace
}  // namespace divvy::vendors
