// What containers ask for, vendor by vendor. Numbers: facts on the incumbent's control plane, 1.
#include "vendors/ask.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ostream>

namespace divvy::vendors {
namespace {

using testing::HasSubstr;

const Catalog& catalog() {
  static const Catalog all = std::move(Catalog::of(builtIn())).value();
  return all;
}

// "NVIDIA x1 3000Mi 30%", as tests write what is expected.
std::string said(const KindRequest& ask) {
  std::string text = ask.kind->name + " x" + std::to_string(ask.count) + " ";
  if (const Bytes* bytes = std::get_if<Bytes>(&ask.memory)) {
    const bool whole = bytes->count % mib(1).count == 0;
    text += whole ? std::to_string(bytes->count >> 20) + "Mi" : std::to_string(bytes->count) + "B";
  } else if (const auto* percent = std::get_if<PercentMemory>(&ask.memory)) {
    text += "mem" + std::to_string(percent->value) + "%";
  } else {
    text += std::holds_alternative<SliceMemory>(ask.memory) ? "slice" : "all";
  }
  text += " " + std::to_string(ask.compute_milli);
  if (ask.part != nullptr) text += " " + ask.part->name;
  if (ask.partitioned) text += " mig";
  if (!ask.instance.empty()) text += " " + ask.instance;
  if (ask.slice != 0) text += " size" + std::to_string(ask.slice);
  if (ask.of_model != nullptr) text += " " + ask.of_model->models.front();
  return text;
}

struct Row {
  const char* name;
  Quantities limits;
  std::string wanted;  // of all asks, by commas; "!" begins part of an error
  Annotations annotations = {};
};
std::ostream& operator<<(std::ostream& out, const Row& row) {
  return out << row.name;
}

class AskTest : public testing::TestWithParam<Row> {};

TEST_P(AskTest, EachRow_ReadAsExpected) {
  const Row& row = GetParam();
  const auto asks = readRequests(catalog(), row.limits, {}, row.annotations);
  if (row.wanted[0] == '!') {
    ASSERT_FALSE(asks);
    EXPECT_EQ(asks.error().code(), ErrorCode::kUsage);
    EXPECT_THAT(asks.error().message(), HasSubstr(row.wanted.substr(1)));
    EXPECT_THAT(asks.error().message(), HasSubstr("accepted"));
    EXPECT_THAT(asks.error().message(), HasSubstr(row.limits.begin()->first.substr(0, 4)));
    return;
  }
  ASSERT_TRUE(asks) << asks.error().message();
  std::string all;
  for (const KindRequest& ask : *asks) all += (all.empty() ? "" : ", ") + said(ask);
  EXPECT_EQ(all, row.wanted);
}

constexpr const char* kGpu = "nvidia.com/gpu";
constexpr const char* kGpuMem = "nvidia.com/gpumem";
constexpr const char* kGpuPercent = "nvidia.com/gpumem-percentage";
constexpr const char* kGpuCores = "nvidia.com/gpucores";

INSTANTIATE_TEST_SUITE_P(
    Nvidia, AskTest,
    testing::Values(
        Row{"Nothing", {{"cpu", "4"}, {"memory", "16Gi"}}, ""},
        Row{"CountOnlyIsExclusive", {{kGpu, "2"}}, "NVIDIA x2 all 1000"},
        Row{"Memory", {{kGpu, "1"}, {kGpuMem, "3000"}}, "NVIDIA x1 3000Mi 0"},
        Row{"AsAnApiServerWritesIt", {{kGpu, "1"}, {kGpuMem, "3k"}}, "NVIDIA x1 3000Mi 0"},
        Row{"Bytes", {{kGpu, "1"}, {kGpuMem, "16Gi"}}, "NVIDIA x1 16384Mi 0"},
        Row{"Instances",
            {{kGpu, "2"}, {kGpuMem, "8000"}},
            "NVIDIA x2 8000Mi 0 mig",
            {{"nvidia.com/vgpu-mode", "hami-core,mig"}}},
        Row{"NoInstances",
            {{kGpu, "2"}, {kGpuMem, "8000"}},
            "NVIDIA x2 8000Mi 0",
            {{"nvidia.com/vgpu-mode", "hami-core"}}},
        Row{"NamedInstances",
            {{"nvidia.com/mig-1g.5gb", "2"}, {"nvidia.com/mig-3g.20gb", "1"}},
            "NVIDIA x2 all 0 1g.5gb, NVIDIA x1 all 0 3g.20gb"},
        Row{"NamelessInstances", {{"nvidia.com/mig-", "2"}}, "!nvidia.com/mig-: 2"},
        Row{"PartsOfInstances", {{"nvidia.com/mig-1g.5gb", "500m"}}, "!nvidia.com/mig-1g.5gb"},
        Row{"DecimalBytes", {{kGpu, "1"}, {kGpuMem, "16G"}}, "NVIDIA x1 16000000000B 0"},
        Row{"MemoryAndCores",
            {{kGpu, "1"}, {kGpuMem, "1024"}, {kGpuCores, "30"}},
            "NVIDIA x1 1024Mi 300"},
        Row{"MemoryWithoutCount", {{kGpuMem, "1024"}}, "NVIDIA x1 1024Mi 0"},
        Row{"CoresWithoutCount", {{kGpuCores, "50"}}, "NVIDIA x1 all 500"},
        Row{"CountOfZero", {{kGpu, "0"}, {kGpuMem, "1024"}}, ""},
        Row{"Percent", {{kGpu, "1"}, {kGpuPercent, "50"}}, "NVIDIA x1 mem50% 0"},
        Row{"WholePercentIsExclusive", {{kGpu, "1"}, {kGpuPercent, "100"}}, "NVIDIA x1 all 1000"},
        Row{"MemoryAndPercent",
            {{kGpu, "1"}, {kGpuMem, "2048"}, {kGpuPercent, "50"}},
            "!nvidia.com/gpumem-percentage: 50: memory is asked for as an amount, too"},
        Row{"MemoryAndNoPercent",
            {{kGpu, "1"}, {kGpuMem, "2048"}, {kGpuPercent, "0"}},
            "NVIDIA x1 2048Mi 0"},
        // As API servers write them: 16000, 1000000, 800000000 and 2000M.
        Row{"ThousandsAreMiB", {{kGpu, "1"}, {kGpuMem, "16k"}}, "NVIDIA x1 16000Mi 0"},
        Row{"AMillionIsMiB", {{kGpu, "1"}, {kGpuMem, "1M"}}, "NVIDIA x1 1000000Mi 0"},
        Row{"ThousandsBeyondADevice", {{kGpu, "1"}, {kGpuMem, "2097152k"}}, "!is written 2000Mi"},
        Row{"BytesWithASuffix", {{kGpu, "1"}, {kGpuMem, "2048Mi"}}, "NVIDIA x1 2048Mi 0"},
        Row{"GigabytesBelow2To31", {{kGpu, "1"}, {kGpuMem, "2G"}}, "NVIDIA x1 2000000000B 0"},
        Row{"GigabytesAbove2To31", {{kGpu, "1"}, {kGpuMem, "3G"}}, "NVIDIA x1 3000000000B 0"},
        Row{"Megabytes", {{kGpu, "1"}, {kGpuMem, "800M"}}, "NVIDIA x1 800000000B 0"},
        Row{"BytesWithoutASuffix",
            {{kGpu, "1"}, {kGpuMem, "1073741824"}},
            "!nvidia.com/gpumem: 1073741824: is 1 PiB as a number of MiB, which is too much, and "
            "1 GiB as bytes, which is written 1024Mi; accepted: a whole number of MiB, or bytes "
            "with a suffix, as 16Gi"},
        Row{"NoMemoryIsNone",
            {{kGpu, "1"}, {kGpuMem, "0"}, {kGpuCores, "10"}},
            "NVIDIA x1 all 100"},
        Row{"MoreCoresThanACard",
            {{kGpu, "1"}, {kGpuMem, "10"}, {kGpuCores, "120"}},
            "NVIDIA x1 10Mi 1000"},
        Row{"ExplicitlyNoCores", {{kGpu, "1"}, {kGpuCores, "0"}}, "NVIDIA x1 all 0"},
        Row{"PercentAboveAll",
            {{kGpu, "1"}, {kGpuPercent, "101"}},
            "!nvidia.com/gpumem-percentage"},
        Row{"FractionOfACard", {{kGpu, "500m"}}, "!nvidia.com/gpu: 500m"},
        Row{"NegativeMemory", {{kGpu, "1"}, {kGpuMem, "-1"}}, "!negative"},
        Row{"NoNumber", {{kGpu, "one"}}, "!not a number"},
        Row{"FractionOfAUnit", {{kGpu, "1"}, {kGpuMem, "1.5"}}, "!whole number of MiB"},
        Row{"HalfAUnitInBytes", {{kGpu, "1"}, {kGpuMem, "1.5Gi"}}, "NVIDIA x1 1536Mi 0"},
        Row{"MoreMemoryThanThereIs",
            {{kGpu, "1"}, {kGpuMem, "9000000000000000000"}},
            "!nvidia.com/gpumem: 9000000000000000000: accepted: at most 1 TiB"},
        Row{"TooManyCards", {{kGpu, "5000"}}, "!up to 1024"}),
    [](const auto& each) { return each.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Otherwise, AskTest,
    testing::Values(
        Row{"OurNames",
            {{"divvy.dev/gpu", "2"}, {"divvy.dev/gpumem", "4Gi"}, {"divvy.dev/gpucores", "30"}},
            "NVIDIA x2 4096Mi 300"},
        Row{"OfBothDialects", {{kGpu, "1"}, {"divvy.dev/gpumem", "100"}}, "NVIDIA x1 100Mi 0"},
        Row{"OurPartsWithoutACount", {{"divvy.dev/gpumem-percentage", "50"}}, "NVIDIA x1 mem50% 0"},
        Row{"OurCountIsExclusive", {{"divvy.dev/gpu", "1"}}, "NVIDIA x1 all 1000"},
        Row{"OfAModel", {{"divvy.dev/gpu-a100", "2"}}, "NVIDIA x2 all 1000 A100"},
        Row{"APartOfAModel",
            {{"divvy.dev/gpu-l20", "1"}, {kGpuMem, "1024"}},
            "NVIDIA x1 1024Mi 0 L20"},
        Row{"NoneOfAModel", {{"divvy.dev/gpu-l20", "0"}, {kGpuMem, "1024"}}, ""},
        Row{"TwoNamesOfTheCount",
            {{"divvy.dev/gpu", "1"}, {kGpu, "1"}},
            "!nvidia.com/gpu and divvy.dev/gpu set the same value"},
        Row{"TwoModels",
            {{"divvy.dev/gpu-a100", "1"}, {"divvy.dev/gpu-l20", "1"}},
            "!divvy.dev/gpu-a100 and divvy.dev/gpu-l20 set the same value"},
        Row{"OursIsNamed", {{"divvy.dev/gpu", "-1"}}, "!divvy.dev/gpu: -1: negative"}),
    [](const auto& each) { return each.param.name; });

constexpr const char* k910B3 = "huawei.com/Ascend910B3";
constexpr const char* k910B3Mem = "huawei.com/Ascend910B3-memory";
const Annotations kSoft = {{"huawei.com/vnpu-mode", "hami-core"}};

INSTANTIATE_TEST_SUITE_P(
    Ascend, AskTest,
    testing::Values(
        Row{"Whole", {{k910B3, "1"}}, "Ascend910B3 x1 all 1000"},
        Row{"SmallestPart",
            {{k910B3, "1"}, {k910B3Mem, "1024"}},
            "Ascend910B3 x1 16384Mi 250 vir05_1c_16g"},
        Row{"PartOfExactlyThat",
            {{k910B3, "1"}, {k910B3Mem, "16384"}},
            "Ascend910B3 x1 16384Mi 250 vir05_1c_16g"},
        Row{"NextPart",
            {{k910B3, "1"}, {k910B3Mem, "16385"}},
            "Ascend910B3 x1 32768Mi 500 vir10_3c_32g"},
        Row{"AboveTheLargestPart",
            {{k910B3, "1"}, {k910B3Mem, "40000"}},
            "Ascend910B3 x1 all 1000"},
        Row{"MoreThanTheCard", {{k910B3, "1"}, {k910B3Mem, "65537"}}, "!at most 64 GiB"},
        Row{"TwoParts", {{k910B3, "2"}, {k910B3Mem, "16384"}}, "!one device, or whole ones"},
        Row{"TwoWholeOnesByMemory",
            {{k910B3, "2"}, {k910B3Mem, "65536"}},
            "Ascend910B3 x2 all 1000"},
        Row{"CoresOfAHardPart",
            {{k910B3, "1"}, {"huawei.com/Ascend910B3-core", "20"}},
            "!huawei.com/vnpu-mode=hami-core"},
        Row{"SoftPart",
            {{k910B3, "1"}, {k910B3Mem, "1024"}, {"huawei.com/Ascend910B3-core", "20"}},
            "Ascend910B3 x1 1024Mi 200",
            kSoft},
        Row{"PairOfOne", {{"huawei.com/Ascend910C", "1"}}, "Ascend910C x2 all 1000"},
        Row{"PartOfOneIsAPair",
            {{"huawei.com/Ascend910C", "1"}, {"huawei.com/Ascend910C-memory", "16384"}},
            "Ascend910C x2 all 1000"},
        Row{"OddPairs", {{"huawei.com/Ascend910C", "3"}}, "!pairs"},
        Row{"EvenPairs", {{"huawei.com/Ascend910C", "4"}}, "Ascend910C x4 all 1000"},
        Row{"BytesOfA310P",
            {{"huawei.com/Ascend310P", "1"}, {"huawei.com/Ascend310P-memory", "6Gi"}},
            "Ascend310P x1 6144Mi 250 vir02"},
        Row{"LargestOf910A",
            {{"huawei.com/Ascend910A", "1"}, {"huawei.com/Ascend910A-memory", "17476"}},
            "Ascend910A x1 17476Mi 533 vir16"},
        Row{"MemoryWithoutCount", {{k910B3Mem, "1024"}}, "!not asked for"}),
    [](const auto& each) { return each.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Others, AskTest,
    testing::Values(
        Row{"Cambricon",
            {{"cambricon.com/vmlu", "1"},
             {"cambricon.com/mlu.smlu.vmemory", "20"},
             {"cambricon.com/mlu.smlu.vcore", "10"}},
            "MLU x1 5120Mi 100"},
        Row{"CambriconCountOnly", {{"cambricon.com/vmlu", "1"}}, "MLU x1 all 1000"},
        Row{"CambriconTooManyCores",
            {{"cambricon.com/vmlu", "1"}, {"cambricon.com/mlu.smlu.vcore", "101"}},
            "!up to 100"},
        Row{"Hygon",
            {{"hygon.com/dcunum", "1"}, {"hygon.com/dcumem", "2000"}},
            "DCU x1 2000Mi 1000"},
        Row{"HygonCores",
            {{"hygon.com/dcunum", "2"}, {"hygon.com/dcumem", "2000"}, {"hygon.com/dcucores", "15"}},
            "DCU x2 2000Mi 150"},
        Row{"Iluvatar",
            {{"iluvatar.ai/BI-V150-vgpu", "1"},
             {"iluvatar.ai/BI-V150.vMem", "64"},
             {"iluvatar.ai/BI-V150.vCore", "25"}},
            "BI-V150 x1 16384Mi 250"},
        Row{"IluvatarSeveralAreWhole",
            {{"iluvatar.ai/MR-V100-vgpu", "2"}, {"iluvatar.ai/MR-V100.vMem", "64"}},
            "MR-V100 x2 all 1000"},
        Row{"MooreThreads",
            {{"mthreads.com/vgpu", "1"},
             {"mthreads.com/sgpu-memory", "32"},
             {"mthreads.com/sgpu-core", "8"}},
            "MTT x1 16384Mi 500"},
        Row{"MooreThreadsOddMemory",
            {{"mthreads.com/vgpu", "1"}, {"mthreads.com/sgpu-memory", "33"}},
            "!2, 4, 8, 16, 32, 64, 96"},
        Row{"MooreThreadsWhole", {{"mthreads.com/vgpu", "1"}}, "MTT x1 all 0"},
        Row{"MooreThreadsSeveral",
            {{"mthreads.com/vgpu", "2"}, {"mthreads.com/sgpu-memory", "32"}},
            "MTT x2 all 1000"},
        Row{"MooreThreadsSumsOfSeveral",
            {{"mthreads.com/vgpu", "2"},
             {"mthreads.com/sgpu-memory", "192"},
             {"mthreads.com/sgpu-core", "32"}},
            "MTT x2 all 1000"},
        Row{"IluvatarSumsOfSeveral",
            {{"iluvatar.ai/MR-V100-vgpu", "2"}, {"iluvatar.ai/MR-V100.vCore", "200"}},
            "MR-V100 x2 all 1000"},
        Row{"MetaxWhole", {{"metax-tech.com/gpu", "4"}}, "Metax-GPU x4 all 1000"},
        Row{"MetaxBareNumbersAreGi",
            {{"metax-tech.com/sgpu", "1"},
             {"metax-tech.com/vmemory", "4"},
             {"metax-tech.com/vcore", "60"}},
            "Metax-SGPU x1 4096Mi 600"},
        Row{"MetaxBytes",
            {{"metax-tech.com/sgpu", "1"}, {"metax-tech.com/vmemory", "512Mi"}},
            "Metax-SGPU x1 512Mi 1000"},
        Row{"KunlunWhole", {{"kunlunxin.com/xpu", "8"}}, "kunlun x8 all 1000"},
        Row{"KunlunQuarter",
            {{"kunlunxin.com/vxpu", "1"}, {"kunlunxin.com/vxpu-memory", "20000"}},
            "XPU x1 24576Mi 250"},
        Row{"KunlunHalf",
            {{"kunlunxin.com/vxpu", "1"}, {"kunlunxin.com/vxpu-memory", "24577"}},
            "XPU x1 49152Mi 500"},
        Row{"KunlunTooMuch",
            {{"kunlunxin.com/vxpu", "1"}, {"kunlunxin.com/vxpu-memory", "98305"}},
            "!at most 96 GiB"},
        Row{"EnflameWhole", {{"enflame.com/gcu", "1"}}, "Enflame-GCU x1 all 1000"},
        Row{"EnflameSlice", {{"enflame.com/drs-gcu", "2"}}, "Enflame x1 slice 0 size2"},
        Row{"EnflameGibibytes",
            {{"enflame.com/gcu-memory", "8"}, {"enflame.com/gcu-core", "25"}},
            "Enflame x1 8192Mi 250"},
        Row{"EnflameMebibytes", {{"enflame.com/gcu-memory", "8192"}}, "Enflame x1 8192Mi 0"},
        Row{"EnflamePercent",
            {{"enflame.com/vgcu", "1"}, {"enflame.com/vgcu-percentage", "25"}},
            "Enflame-VGCU x1 mem25% 0"},
        Row{"NeuronDevices", {{"aws.amazon.com/neuron", "4"}}, "AWSNeuron x4 all 1000"},
        Row{"NeuronCore", {{"aws.amazon.com/neuroncore", "1"}}, "AWSNeuron x1 all 500"},
        Row{"NeuronCores", {{"aws.amazon.com/neuroncore", "8"}}, "AWSNeuron x4 all 1000"},
        Row{"NeuronOddCores", {{"aws.amazon.com/neuroncore", "3"}}, "!multiple"},
        Row{"NeuronDevicesBeforeCores",
            {{"aws.amazon.com/neuron", "1"}, {"aws.amazon.com/neuroncore", "8"}},
            "AWSNeuron x1 all 1000"},
        Row{"Amd",
            {{"amd.com/gpu", "1"}, {"amd.com/gpumem", "4096"}, {"amd.com/gpucores", "25"}},
            "AMDGPU x1 4096Mi 250"},
        Row{"AmdCoresOmitted",
            {{"amd.com/gpu", "1"}, {"amd.com/gpumem", "4096"}},
            "AMDGPU x1 4096Mi 1000"},
        Row{"Vastai", {{"vastaitech.com/va", "2"}}, "Vastai x2 all 1000"},
        Row{"Biren", {{"birentech.com/gpu", "1"}}, "Biren x1 all 1000"},
        Row{"TwoVendors",
            {{"amd.com/gpu", "1"}, {kGpu, "1"}, {kGpuMem, "1"}},
            "AMDGPU x1 all 1000, NVIDIA x1 1Mi 0"}),
    [](const auto& each) { return each.param.name; });

TEST(KindRequest, LimitAndRequest_LimitCounts) {
  const auto asks = readRequests(catalog(), {{kGpu, "2"}}, {{kGpu, "1"}, {kGpuMem, "512"}});
  ASSERT_TRUE(asks) << asks.error().message();
  ASSERT_EQ(asks->size(), 1u);
  EXPECT_EQ(said((*asks)[0]), "NVIDIA x2 512Mi 0");
}

// More memory than the card has was more than all of its compute, and wrapped around.
TEST(KindRequest, ComputeFollowsMemory_BoundedByCard) {
  const auto read = parseDescriptor(
      "vendor: v\nkinds:\n  - name: K\n    count: {resource: v/k}\n"
      "    memory: {resource: v/m}\n    cores: {follow: memory}\n    card: {memory: 96Gi}\n",
      "v.yaml");
  ASSERT_TRUE(read) << read.error().message();
  const auto one = Catalog::of({*read});
  ASSERT_TRUE(one);
  const auto ask = [&](const char* memory) {
    return readRequests(*one, {{"v/k", "1"}, {"v/m", memory}}, {});
  };
  EXPECT_EQ(said((*ask("24Gi"))[0]), "K x1 24576Mi 250");
  EXPECT_EQ(said((*ask("96Gi"))[0]), "K x1 98304Mi 1000");
  for (const char* much : {"97Gi", "7Ei"}) {
    const auto refused = ask(much);
    ASSERT_FALSE(refused) << much;
    EXPECT_THAT(refused.error().message(), HasSubstr("v/m: " + std::string(much) + ": accepted"));
  }
}

TEST(KindRequest, Selections_AreCommaLists) {
  const Annotations annotations = {{"nvidia.com/use-gputype", " A100 ,,V100,"},
                                   {"nvidia.com/nouse-gpuuuid", "GPU-1"},
                                   {"nvidia.com/use-gpuuuid", "  "},
                                   {"hygon.com/use-dcutype", "K100"}};
  const Selection selection = readSelection(*catalog().kind("NVIDIA"), annotations);
  EXPECT_EQ(selection.models, (std::vector<std::string>{"A100", "V100"}));
  EXPECT_EQ(selection.not_uuids, std::vector<std::string>{"GPU-1"});
  EXPECT_TRUE(selection.uuids.empty());
  EXPECT_TRUE(selection.not_models.empty());
  EXPECT_EQ(readSelection(*catalog().kind("Biren"), annotations), Selection{});
}

}  // namespace
}  // namespace divvy::vendors
