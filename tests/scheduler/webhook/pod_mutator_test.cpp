// What a HAMi configuration adds to pods at the door.
#include "webhook/pod_mutator.h"

#include <gtest/gtest.h>

#include "vendors/device_config.h"
#include "world.h"

namespace divvy::scheduler {
namespace {

namespace json = boost::json;

vendors::Catalog catalogOf(const std::string& yaml) {
  auto config = vendors::readDeviceConfig(yaml, "f", vendors::builtIn());
  EXPECT_TRUE(config);
  return *vendors::Catalog::of(std::move(config->families));
}

json::value dressed(const vendors::Catalog& catalog, json::value object) {
  const Result<kube::Pod> pod = kube::podOf(object);
  EXPECT_TRUE(pod);
  const Result<json::array> patch = mutatePod(*pod, object, catalog);
  EXPECT_TRUE(patch);
  apply(*patch, &object);
  // What comes of it asks for nothing more.
  EXPECT_TRUE(mutatePod(*kube::podOf(object), object, catalog)->empty());
  return object;
}

std::string variable(const json::value& object, std::size_t container, const std::string& name) {
  const json::object& one = object.at_pointer("/spec/containers").as_array()[container].as_object();
  std::string last = "-";
  if (!one.contains("env")) return last;
  for (const json::value& entry : one.at("env").as_array())
    if (entry.at("name") == name.c_str()) last = entry.at("value").as_string();
  return last;
}

const Texts kGpu{{"nvidia.com/gpu", "1"}, {"nvidia.com/gpumem", "1000"}};

TEST(PodMutator, NoRuntimeClass_ConfiguredOneIsSet) {
  const vendors::Catalog catalog = catalogOf("nvidia: {runtimeClassName: nvidia}\nhygon: {}\n");
  json::value object = podObject({kGpu}, {});
  EXPECT_EQ(dressed(catalog, object).at_pointer("/spec/runtimeClassName"), "nvidia");
  object.at_pointer("/spec").as_object()["runtimeClassName"] = "kata";
  EXPECT_EQ(dressed(catalog, object).at_pointer("/spec/runtimeClassName"), "kata");
  const json::value other = dressed(catalog, podObject({{{"hygon.com/dcunum", "1"}}}, {}));
  EXPECT_FALSE(other.at("spec").as_object().contains("runtimeClassName"));
}

TEST(PodMutator, ContainerWithoutDevices_SeesNone) {
  const vendors::Catalog catalog = catalogOf("nvidia: {overwriteEnv: true}\n");
  json::value object = podObject({kGpu, {}}, {});
  object.at_pointer("/spec/containers").as_array()[1].as_object()["env"] =
      json::array{json::object{{"name", "NVIDIA_VISIBLE_DEVICES"}, {"value", "all"}}};
  const json::value after = dressed(catalog, object);
  EXPECT_EQ(variable(after, 0, "NVIDIA_VISIBLE_DEVICES"), "-");
  EXPECT_EQ(variable(after, 1, "NVIDIA_VISIBLE_DEVICES"), "none");
}

TEST(PodMutator, CorePolicy_SetForEachContainer) {
  const vendors::Catalog catalog = catalogOf("nvidia: {gpuCorePolicy: disable}\n");
  const json::value after = dressed(catalog, podObject({kGpu, {}}, {}));
  EXPECT_EQ(variable(after, 0, "GPU_CORE_UTILIZATION_POLICY"), "disable");
  EXPECT_EQ(variable(after, 1, "GPU_CORE_UTILIZATION_POLICY"), "disable");
}

// Of two chips of one family only the one that is asked for is meant.
TEST(PodMutator, OtherChipOfFamily_NotAffected) {
  const vendors::Catalog catalog = catalogOf(
      "vnpus:\n- {commonWord: Ascend910A, overwriteEnv: true, runtimeClassName: a}\n"
      "- {commonWord: Ascend910B3, overwriteEnv: true, runtimeClassName: b}\n");
  const json::value after =
      dressed(catalog, podObject({{{"huawei.com/Ascend910B3", "1"}}, {}}, {}));
  EXPECT_EQ(variable(after, 0, "ASCEND_VISIBLE_DEVICES"), "-");
  EXPECT_EQ(variable(after, 1, "ASCEND_VISIBLE_DEVICES"), "");
  EXPECT_EQ(after.at_pointer("/spec/runtimeClassName"), "b");
}

}  // namespace
}  // namespace divvy::scheduler
