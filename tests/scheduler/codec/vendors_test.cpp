// The contract of every vendor: pods as users write them, through the webhook and the books, to the
// annotations that their agents read. Numbers: facts on the incumbent's control plane, 1, 2 and 6.
#include <gtest/gtest.h>

#include <ostream>
#include <regex>

#include <boost/json.hpp>

#include "base/base64.h"
#include "scheduler/cache.h"
#include "webhook/pod_webhook.h"
#include "world.h"

namespace divvy::scheduler {
namespace {

namespace json = boost::json;

struct Row {
  const char* name;
  const char* node;
  std::vector<Texts> limits;  // of its containers
  // Annotations when it is bound. A '*' is anything of one field; "!" begins why it is not placed.
  Texts wanted;
  Texts annotations = {};
  // Limits of the first container, environment as "env NAME" and annotations as "note KEY", after
  // the webhook.
  Texts door = {};
  std::vector<Texts> init = {};
};
std::ostream& operator<<(std::ostream& out, const Row& row) {
  return out << row.name;
}

bool matches(const std::string& text, const std::string& pattern) {
  std::string expression;
  for (const char c : pattern) {
    if (c == '*') {
      expression += "[^,;:\"]+";
    } else {
      if (std::string("\\^$.|?+()[]{}").find(c) != std::string::npos) expression += '\\';
      expression += c;
    }
  }
  return std::regex_match(text, std::regex(expression));
}

std::string textOf(const json::value& value) {
  return std::string(value.as_string());
}

class VendorTest : public ::testing::TestWithParam<Row> {
 protected:
  // As the API server has it after the webhook; none: refused, and why.
  std::optional<json::value> admitted(const Row& row) {
    json::value object = podObject(row.limits, row.annotations, row.init);
    const json::object body{{"request", {{"uid", "r"}, {"object", object}}}};
    const engine::Engine rules{engine::Config{}};
    const Result<Review> said =
        review(json::serialize(body), {allVendors(), rules, "divvy-scheduler"});
    EXPECT_TRUE(said.has_value());
    const json::object response = json::parse(said->body).at("response").as_object();
    if (!response.at("allowed").as_bool()) {
      why_ = response.at("status").at("message").as_string();
      return std::nullopt;
    }
    const auto patch = fromBase64(std::string(response.at("patch").as_string()));
    apply(json::parse(*patch).as_array(), &object);
    EXPECT_EQ(textOf(object.at("spec").at("schedulerName")), "divvy-scheduler");
    return object;
  }

  void checkDoor(const json::value& object, const Texts& door) {
    const json::value& first = object.at("spec").at("containers").at(0);
    for (const auto& [key, value] : door) {
      if (key.rfind("env ", 0) == 0) {
        const json::object variable{{"name", key.substr(4)}, {"value", value}};
        const json::array& env = first.at("env").as_array();
        EXPECT_NE(std::find(env.begin(), env.end(), json::value(variable)), env.end()) << key;
      } else if (key.rfind("note ", 0) == 0) {
        EXPECT_EQ(textOf(object.at("metadata").at("annotations").at(key.substr(5))), value);
      } else {
        EXPECT_EQ(textOf(first.at("resources").at("limits").at(key)), value) << key;
        const json::object& requests = first.at("resources").at("requests").as_object();
        if (requests.contains(key)) {
          EXPECT_EQ(textOf(requests.at(key)), value) << key;
        }
      }
    }
  }

  std::string why_;
};

TEST_P(VendorTest, EachRow_AnnotationsAsAgentsExpect) {
  const Row& row = GetParam();
  const bool refused = row.wanted.begin()->first[0] == '!';
  const auto object = admitted(row);
  if (refused) {
    ASSERT_FALSE(object);
    EXPECT_NE(why_.find(row.wanted.begin()->first.substr(1)), std::string::npos) << why_;
    return;
  }
  ASSERT_TRUE(object) << why_;
  checkDoor(*object, row.door);
  Result<kube::Pod> pod = kube::podOf(*object);
  ASSERT_TRUE(pod.has_value());
  SchedulerCache cache(allVendors(), {});
  const Result<void> set = cache.setNode(nodeWith(row.node));
  ASSERT_TRUE(set) << set.error().message();
  const std::vector<std::string_view> names{"n"};
  const Result<FilterResult> choice = cache.filterAndReserve(*pod, names, {1000});
  ASSERT_TRUE(choice.has_value()) << choice.error().message();
  ASSERT_TRUE(choice->node)
      << (choice->why.empty() ? choice->never : choice->why).find("n")->text();
  const Result<BindPlan> bound = cache.assume("u", "n", 1'700'000'000'123'456'789);
  ASSERT_TRUE(bound.has_value()) << bound.error().message();
  for (const auto& [key, pattern] : row.wanted) {
    const auto found = bound->annotations.find(key);
    if (pattern.empty()) {
      EXPECT_EQ(found, bound->annotations.end()) << key;
    } else if (found == bound->annotations.end()) {
      ADD_FAILURE() << "no " << key;
    } else {
      EXPECT_TRUE(matches(found->second, pattern)) << key << " is " << found->second;
    }
  }
  EXPECT_EQ(bound->annotations.at("hami.io/vgpu-node"), "n");
  EXPECT_EQ(bound->annotations.at("hami.io/bind-phase"), "allocating");
  EXPECT_EQ(bound->annotations.at("hami.io/bind-time"), "1700000000");
}

Texts both(const std::string& key, const std::string& value) {
  return {{"hami.io/" + key + "-to-allocate", value}, {"hami.io/" + key + "-allocated", value}};
}
Texts with(Texts some, const Texts& more) {
  some.insert(more.begin(), more.end());
  return some;
}

constexpr const char* kTime = "1700000000123456789";

INSTANTIATE_TEST_SUITE_P(
    Nvidia, VendorTest,
    testing::Values(
        Row{"Share",
            "nvidia",
            {{{"nvidia.com/gpu", "1"},
              {"nvidia.com/gpumem", "3000"},
              {"nvidia.com/gpucores", "30"}}},
            both("vgpu-devices", "*,NVIDIA,3000,30:;")},
        Row{"CountsAreFilledIn",
            "nvidia",
            {{{"nvidia.com/gpumem", "3000"}}},
            both("vgpu-devices", "*,NVIDIA,3000,0:;"),
            {},
            {{"nvidia.com/gpu", "1"}}},
        Row{"WholeIsExclusive",
            "nvidia",
            {{{"nvidia.com/gpu", "2"}}},
            both("vgpu-devices", "*,NVIDIA,81920,100:*,NVIDIA,81920,100:;"),
            {},
            {{"nvidia.com/gpucores", "100"}}},
        Row{"Fraction",
            "nvidia",
            {{{"nvidia.com/gpu", "2"},
              {"nvidia.com/gpumem-percentage", "50"},
              {"nvidia.com/gpucores", "30"}}},
            both("vgpu-devices", "*,NVIDIA,40960,30:*,NVIDIA,40960,30:;")},
        Row{"Priority",
            "nvidia",
            {{{"nvidia.com/gpu", "1"}, {"nvidia.com/gpumem", "10"}, {"nvidia.com/priority", "1"}}},
            both("vgpu-devices", "*,NVIDIA,10,0:;"),
            {},
            {{"env CUDA_TASK_PRIORITY", "1"}}},
        Row{"InitContainersFirst",
            "nvidia",
            {{{"nvidia.com/gpu", "1"}, {"nvidia.com/gpumem", "3000"}}, {}},
            both("vgpu-devices", "*,NVIDIA,500,0:;;*,NVIDIA,3000,0:;;"),
            {},
            {},
            {{{"nvidia.com/gpu", "1"}, {"nvidia.com/gpumem", "500"}}, {}}},
        Row{"Instances",
            "nvidia-mig",
            {{{"nvidia.com/gpu", "2"}, {"nvidia.com/gpumem", "8000"}}},
            with(both("vgpu-devices", "*,NVIDIA,9856,29:*,NVIDIA,9856,29:;"),
                 {{"hami.io/vgpu-mig-allocations",
                   R"([{"containerIndex":0,"deviceIndex":0,"gpuUUID":"*","profile":"2g.10gb",)"
                   R"("placement":{"start":*,"size":2}},{"containerIndex":0,"deviceIndex":1,)"
                   R"("gpuUUID":"*","profile":"2g.10gb","placement":{"start":*,"size":2}}])"}}),
            {{"nvidia.com/vgpu-mode", "mig"}}},
        Row{"InstancesByName",
            "nvidia-mig",
            {{{"nvidia.com/mig-3g.20gb", "1"}}},
            with(both("vgpu-devices", "*,NVIDIA,19968,43:;"),
                 {{"hami.io/vgpu-mig-allocations",
                   R"([{"containerIndex":0,"deviceIndex":0,"gpuUUID":"*","profile":"3g.20gb",)"
                   R"("placement":{"start":*,"size":4}}])"}})},
        // That somebody made: nothing is to be made of it, and the pod has all of it.
        Row{"InstancesThatAreThere",
            "nvidia-instances",
            {{{"nvidia.com/mig-3g.20gb", "1"}}},
            both("vgpu-devices", "*,NVIDIA,19968,100:;")}),
    [](const auto& each) { return each.param.name; });

Row hard(const char* name, const std::string& chip, const char* asked, const std::string& part,
         const std::string& mebibytes) {
  const std::string word = "Ascend" + chip;
  const std::string temp = part.empty() ? "" : R"("temp":")" + part + R"(",)";
  static std::vector<std::string> nodes = [] {
    std::vector<std::string> kept;
    kept.reserve(16);
    return kept;
  }();
  nodes.push_back("ascend-" + chip);
  return {
      name,
      nodes.back().c_str(),
      {{{"huawei.com/" + word, "1"}, {"huawei.com/" + word + "-memory", asked}}},
      with(both(word + "-devices", "*," + word + "," + mebibytes + ",0:;"),
           {{"huawei.com/" + word, R"([{"UUID":"*",)" + temp + R"("memory":)" + mebibytes + "}]"},
            {"predicate-time", "1700000000"}}),
      {},
      {{"huawei.com/" + word + "-memory", mebibytes}}};
}

INSTANTIATE_TEST_SUITE_P(
    Ascend, VendorTest,
    testing::Values(
        hard("P310", "310P", "2000", "vir01", "3072"), hard("A", "910A", "2000", "vir02", "2184"),
        hard("B2", "910B2", "2000", "vir03_1c_8g", "8192"),
        hard("B3", "910B3", "2000", "vir05_1c_16g", "16384"),
        hard("B4", "910B4", "2000", "vir05_1c_8g", "8192"),
        hard("B4Dash1", "910B4-1", "2000", "vir05_1c_16g", "16384"),
        hard("AboveTheLargestPart", "310P", "20000", "", "21527"),
        Row{"PairOfAModule",
            "ascend-910C",
            {{{"huawei.com/Ascend910C", "1"}, {"huawei.com/Ascend910C-memory", "16384"}}},
            both("Ascend910C-devices", "*,Ascend910C,65536,0:*,Ascend910C,65536,0:;"),
            {},
            {{"huawei.com/Ascend910C", "2"}, {"huawei.com/Ascend910C-memory", "65536"}}},
        Row{"Soft",
            "ascend-910B3",
            {{{"huawei.com/Ascend910B3", "1"},
              {"huawei.com/Ascend910B3-memory", "1024"},
              {"huawei.com/Ascend910B3-core", "20"}}},
            with(both("Ascend910B3-devices", "*,Ascend910B3,1024,20:;"),
                 {{"huawei.com/Ascend910B3", R"([{"UUID":"*","memory":1024,"core":20}])"}}),
            {{"huawei.com/vnpu-mode", "hami-core"}}},
        Row{"PartsOfTwo",
            "ascend-910B3",
            {{{"huawei.com/Ascend910B3", "2"}, {"huawei.com/Ascend910B3-memory", "16384"}}},
            {{"!one device, or whole ones", ""}}}),
    [](const auto& each) { return each.param.name; });

INSTANTIATE_TEST_SUITE_P(
    SharedByMemory, VendorTest,
    testing::Values(
        Row{"Hygon",
            "hygon",
            {{{"hygon.com/dcunum", "1"},
              {"hygon.com/dcumem", "2000"},
              {"hygon.com/dcucores", "60"}}},
            both("dcu-devices", "*,DCU,2000,60:;")},
        Row{"HygonWhole",
            "hygon",
            {{{"hygon.com/dcunum", "2"}}},
            both("dcu-devices", "*,DCU,65520,100:*,DCU,65520,100:;")},
        Row{"HygonByModel",
            "hygon",
            {{{"hygon.com/dcunum", "1"}, {"hygon.com/dcumem", "1"}}},
            both("dcu-devices", "*,DCU,1,100:;"),
            {{"hygon.com/use-dcutype", "K100_AI"}}},
        Row{"Iluvatar",
            "iluvatar-BI-V150",
            {{{"iluvatar.ai/BI-V150-vgpu", "1"},
              {"iluvatar.ai/BI-V150.vMem", "64"},
              {"iluvatar.ai/BI-V150.vCore", "50"}}},
            both("BI-V150-devices", "*,BI-V150,16384,50:;"),
            {},
            {{"env SOL_CONTINER_NAME", "c0"}}},
        Row{"IluvatarSeveral",
            "iluvatar-MR-V100",
            {{{"iluvatar.ai/MR-V100-vgpu", "2"}, {"iluvatar.ai/MR-V100.vMem", "64"}}},
            both("MR-V100-devices", "*,MR-V100,32768,100:*,MR-V100,32768,100:;"),
            {},
            {{"iluvatar.ai/MR-V100.vCore", "200"}}},
        Row{"IluvatarTwoContainers",
            "iluvatar-BI-V100",
            {{{"iluvatar.ai/BI-V100-vgpu", "1"},
              {"iluvatar.ai/BI-V100.vMem", "64"},
              {"iluvatar.ai/BI-V100.vCore", "50"}},
             {{"iluvatar.ai/BI-V100-vgpu", "1"},
              {"iluvatar.ai/BI-V100.vMem", "64"},
              {"iluvatar.ai/BI-V100.vCore", "50"}}},
            both("BI-V100-devices", "*,BI-V100,16384,50:;*,BI-V100,16384,50:;")},
        Row{"Amd",
            "amd",
            {{{"amd.com/gpu", "1"}, {"amd.com/gpumem", "4096"}, {"amd.com/gpucores", "25"}}},
            both("amd-devices", "*,MI300X,4096,76:;")},
        Row{"KunlunPart",
            "kunlun-vxpu",
            {{{"kunlunxin.com/vxpu", "1"}, {"kunlunxin.com/vxpu-memory", "24576"}}},
            both("xpu-devices", "*,XPU,24576,25:;")},
        Row{"KunlunAllOfOne",
            "kunlun-vxpu",
            {{{"kunlunxin.com/vxpu", "1"}}},
            both("xpu-devices", "*,XPU,98304,100:;")},
        Row{"Cambricon",
            "cambricon",
            {{{"cambricon.com/vmlu", "1"},
              {"cambricon.com/mlu.smlu.vmemory", "20"},
              {"cambricon.com/mlu.smlu.vcore", "10"}}},
            with(both("cambricon-mlu-devices", "n-cambricon-mlu-0,MLU,5120,10:;"),
                 {{"CAMBRICON_DSMLU_ASSIGNED", "false"}, {"CAMBRICON_DSMLU_PROFILE", "0_10_20"}})},
        Row{"CambriconWhole",
            "cambricon",
            {{{"cambricon.com/vmlu", "1"}}},
            with(both("cambricon-mlu-devices", "n-cambricon-mlu-0,MLU,24576,100:;"),
                 {{"CAMBRICON_DSMLU_PROFILE", "0_100_96"}})},
        Row{"MetaxShare",
            "metax-sgpu",
            {{{"metax-tech.com/sgpu", "1"},
              {"metax-tech.com/vcore", "60"},
              {"metax-tech.com/vmemory", "4"}}},
            with(both("metax-sgpu-devices", "*,Metax-SGPU,4096,60:;"),
                 {{"metax-tech.com/gpu-devices-allocated",
                   R"([[{"uuid":"*","compute":60,"vRam":4096}]])"},
                  {"metax-tech.com/predicate-time", kTime}}),
            {},
            {{"note metax-tech.com/sgpu-qos-policy", "best-effort"}}},
        Row{"MetaxQuality",
            "metax-sgpu",
            {{{"metax-tech.com/sgpu", "1"}, {"metax-tech.com/vmemory", "2048Mi"}}},
            both("metax-sgpu-devices", "*,Metax-SGPU,2048,100:;"),
            {{"metax-tech.com/sgpu-qos-policy", "fixed-share"}},
            {{"note metax-tech.com/sgpu-qos-policy", "fixed-share"}}},
        Row{"MetaxThisOne",
            "metax-sgpu",
            {{{"metax-tech.com/sgpu", "1"}}},
            both("metax-sgpu-devices", "GPU-m1,Metax-SGPU,65536,100:;"),
            {{"metax-tech.com/use-gpuuuid", "GPU-m1"}}}),
    [](const auto& each) { return each.param.name; });

INSTANTIATE_TEST_SUITE_P(
    OneKeyOnly, VendorTest,
    testing::Values(
        Row{"MooreThreads",
            "mthreads",
            {{{"mthreads.com/vgpu", "1"},
              {"mthreads.com/sgpu-memory", "32"},
              {"mthreads.com/sgpu-core", "8"}}},
            {{"hami.io/mthreads-vgpu-devices-allocated", "n-mthreads-0,Mthreads,16384,8:;"},
             {"hami.io/mthreads-vgpu-devices-to-allocate", ""},
             {"mthreads.com/gpu-index", "0"},
             {"mthreads.com/predicate-node", "n"},
             {"mthreads.com/predicate-time", kTime}}},
        Row{"MooreThreadsAllOfOne",
            "mthreads",
            {{{"mthreads.com/vgpu", "1"}}},
            {{"hami.io/mthreads-vgpu-devices-allocated", "*,Mthreads,49152,16:;"}},
            {},
            {{"mthreads.com/sgpu-core", "16"}, {"mthreads.com/sgpu-memory", "96"}}},
        Row{"MooreThreadsSeveral",
            "mthreads",
            {{{"mthreads.com/vgpu", "2"}}},
            {{"hami.io/mthreads-vgpu-devices-allocated",
              "*,Mthreads,49152,16:*,Mthreads,49152,16:;"},
             {"mthreads.com/gpu-index", "0,1"}},
            {},
            {{"mthreads.com/sgpu-core", "32"},
             {"mthreads.com/sgpu-memory", "192"},
             {"note mthreads.com/request-gpu-num", "2"}}},
        Row{"Kunlun",
            "kunlun",
            {{{"kunlunxin.com/xpu", "2"}}},
            {{"hami.io/kunlun-allocated", "*,kunlun,98304,100:*,kunlun,98304,100:;"},
             {"BAIDU_COM_DEVICE_IDX", "*,*"}}},
        Row{"EnflameSlice",
            "enflame-drs",
            {{{"enflame.com/drs-gcu", "3"}}},
            {{"hami.io/enflame-vgpu-devices-allocated", "n-enflame-drs-0,Enflame,20480,50:;"},
             {"enflame.com/gcu-assigned", "false"},
             {"enflame.com/gcu-assigned-time", kTime},
             {"enflame.com/gcu-assigned-index", "0"},
             {"enflame.com/gcu-assigned-id", "0"},
             {"enflame.com/gcu-assigned-minor", "4"},
             {"enflame.com/gcu-request-size", "3"},
             {"assigned-containers", R"({"c0":{"allocated":false,"request":3,)"
                                     R"("profileID":"1","profileName":"3g.20gb"}})"}}},
        Row{"EnflameByMemory",
            "enflame-drs",
            {{{"enflame.com/gcu-memory", "20480"}, {"enflame.com/gcu-core", "40"}}},
            {{"hami.io/enflame-vgpu-devices-allocated", "*,Enflame,20480,50:;"},
             {"enflame.com/gcu-request-size", "3"}}},
        Row{"NeuronCore",
            "neuron",
            {{{"aws.amazon.com/neuroncore", "1"}}},
            {{"hami.io/aws-neuron-devices-allocated", "n-AWSNeuron-0,AWSNeuron,0,1:;"},
             {"AWS_NEURON_IDS", "0"},
             {"NEURON_RESOURCE_TYPE", "aws.amazon.com/neuroncore"},
             {"NEURON_ALLOC_TIME", kTime},
             {"NEURON_ALLOCATED", "false"},
             {"aws.amazon.com/predicate-node", "n"}}},
        Row{"NeuronDevice",
            "neuron",
            {{{"aws.amazon.com/neuron", "1"}}},
            {{"hami.io/aws-neuron-devices-allocated", "*,AWSNeuron,0,3:;"},
             {"AWS_NEURON_IDS", "*"},
             {"NEURON_RESOURCE_TYPE", ""}}},
        Row{"NeuronTwoContainers",
            "neuron",
            {{{"aws.amazon.com/neuroncore", "1"}}, {{"aws.amazon.com/neuroncore", "1"}}},
            {{"hami.io/aws-neuron-devices-allocated",
              "n-AWSNeuron-0,AWSNeuron,0,1:;n-AWSNeuron-0,AWSNeuron,0,2:;"},
             {"AWS_NEURON_IDS", "0,1"}}}),
    [](const auto& each) { return each.param.name; });

INSTANTIATE_TEST_SUITE_P(WholeOnes, VendorTest,
                         testing::Values(Row{"Metax",
                                             "metax",
                                             {{{"metax-tech.com/gpu", "2"}}},
                                             both("metax-gpu-devices",
                                                  "*,Metax-GPU,65536,100:*,Metax-GPU,65536,100:;")},
                                         Row{"Enflame",
                                             "enflame",
                                             {{{"enflame.com/gcu", "1"}}},
                                             both("enflame-gcu-devices", "*,GCU,100,100:;")},
                                         Row{"Vastai",
                                             "vastai",
                                             {{{"vastaitech.com/va", "1"}}},
                                             both("Vastai-devices", "*,Vastai,131072,100:;")},
                                         Row{"Biren",
                                             "biren",
                                             {{{"birentech.com/gpu", "1"}}},
                                             both("Biren-devices", "*,Biren,32768,100:;")}),
                         [](const auto& each) { return each.param.name; });

}  // namespace
}  // namespace divvy::scheduler
