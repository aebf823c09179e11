// What pods say of their shares in our words.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include <boost/json.hpp>

#include "base/base64.h"
#include "codec/pod_request.h"
#include "codec/vendor_plugin.h"
#include "share_options/share_options.h"
#include "webhook/pod_webhook.h"
#include "world.h"

namespace divvy::scheduler {
namespace {

namespace json = boost::json;

const Texts kShare{
    {"divvy.dev/gpu", "1"}, {"divvy.dev/gpumem", "8Gi"}, {"divvy.dev/gpucores", "30"}};

Result<std::optional<engine::Request>> asked(const Texts& annotations,
                                             const std::vector<Texts>& limits = {kShare}) {
  return requestOf(*kube::podOf(podObject(limits, annotations)), allVendors(), {});
}

engine::Shape shapeOf(const Texts& annotations, const std::vector<Texts>& limits = {kShare}) {
  const auto request = asked(annotations, limits);
  EXPECT_TRUE(request) << request.error().message();
  engine::Shape shape = request && *request ? (*request)->shape : engine::Shape{};
  // By which name something is asked for decides where it is served, not what it is.
  std::erase_if(shape.selector.not_models, [](const engine::ModelName& word) {
    return word.text == kVendorPlugin || isNotServedBy(word.text);
  });
  return shape;
}

// Of what a pod says in HAMi's words.
const engine::Shape& plain() {
  static const engine::Shape shape = shapeOf(
      {}, {{{"nvidia.com/gpu", "1"}, {"nvidia.com/gpumem", "8Gi"}, {"nvidia.com/gpucores", "30"}}});
  return shape;
}

TEST(ShareAnnotations, OwnResourceNames_EqualOtherDialects) {
  EXPECT_EQ(shapeOf({}), plain());
}

// CUDA uses one instance of partitioned cards, and no device beside it.
TEST(ShareAnnotations, SeveralDevices_NoMigInstances) {
  const Texts several{{"nvidia.com/gpu", "2"}, {"nvidia.com/gpumem", "1Gi"}};
  const Texts one{{"nvidia.com/gpu", "1"}, {"nvidia.com/gpumem", "1Gi"}};
  const std::vector<engine::ModelName> none{engine::ModelName("MIG")};
  EXPECT_EQ(shapeOf({}, {several}).selector.not_models, none);
  EXPECT_EQ(shapeOf({}, {one, several, several}).selector.not_models, none);
  EXPECT_TRUE(shapeOf({}, {one, one}).selector.not_models.empty());
}

TEST(ShareAnnotations, Guarantee_AppliesPerContainer) {
  const std::vector<Texts> two{kShare, kShare};
  engine::Shape shape = shapeOf({{"use.divvy.dev/guaranteed", "4Gi"}}, two);
  EXPECT_EQ(shape.containers[0].devices.guarantee, engine::DeviceMemory(gib(4)));
  EXPECT_EQ(shape.containers[1].devices.guarantee, engine::DeviceMemory(gib(4)));
  shape = shapeOf({{"use.divvy.dev/guaranteed", "4Gi"}, {"c1.use.divvy.dev/guaranteed", "0"}}, two);
  EXPECT_EQ(shape.containers[0].devices.guarantee, engine::DeviceMemory(gib(4)));
  EXPECT_EQ(shape.containers[1].devices.guarantee, engine::DeviceMemory(Bytes{}));
  // By others than us nothing can be swapped.
  shape = shapeOf({{"c0.use.divvy.dev/enforce", "mps"}}, two);
  EXPECT_EQ(shape.containers[0].devices.guarantee, engine::DeviceMemory(gib(8)));
  EXPECT_EQ(shape.containers[1].devices.guarantee, std::nullopt);
}

TEST(ShareAnnotations, SelectorAnnotations_SelectDevices) {
  engine::Shape expected = plain();
  expected.selector.match = engine::ModelMatch::kWords;
  expected.selector.models = {engine::ModelName("rtx4090"), engine::ModelName("L20")};
  expected.selector.not_models = {engine::ModelName("4090d")};
  expected.selector.uuid_match = engine::UuidMatch::kPrefix;
  expected.selector.not_uuids = {engine::DeviceUuid("GPU-5c")};
  EXPECT_EQ(shapeOf({{"use.divvy.dev/model", "rtx4090, L20"},
                     {"use.divvy.dev/not-model", "4090d"},
                     {"use.divvy.dev/not-uuid", "GPU-5c"},
                     {"nvidia.com/use-gputype", "A100"}}),  // ours count
            expected);
  expected = plain();
  expected.context_outside = true;
  EXPECT_EQ(shapeOf({{"use.divvy.dev/context-overhead", "outside"}}), expected);
}

// What agents read changes nothing here, and is looked at nevertheless.
TEST(ShareAnnotations, AgentAnnotations_AreAccepted) {
  EXPECT_EQ(shapeOf({{"use.divvy.dev/on-pressure", "wait"},
                     {"use.divvy.dev/pressure-wait", "10s"},
                     {"use.divvy.dev/idle-reclaim", "30m"},
                     {"use.divvy.dev/idle-stop", "off"},
                     {"c0.use.divvy.dev/cores-policy", "cap"},
                     {"c0.use.divvy.dev/priority", "low"},
                     {"use.divvy.dev/enforce", "interposer"},
                     {"use.divvy.dev/change", "a resize"},
                     {"use.divvy.dev/resize", "a resize"},
                     {"reuse.divvy.dev/whatever", "x"}}),
            plain());
}

TEST(ShareAnnotations, InvalidAnnotation_ErrorSaysAccepted) {
  for (const auto& [key, value, says] : std::vector<std::array<std::string, 3>>{
           {"use.divvy.dev/guarantee", "4Gi", "accepted: guaranteed, on-pressure"},
           {"use.divvy.dev/memory", "4Gi", "not known"},
           {"c1.use.divvy.dev/guaranteed", "4Gi", "no container \"c1\""},
           {"c0.use.divvy.dev/pool", "a", "accepted: for the pod"},
           {"use.divvy.dev/guaranteed", "much", "accepted: 4Gi"},
           {"use.divvy.dev/guaranteed", "101%", "accepted: 4Gi"},
           {"use.divvy.dev/guaranteed", "9Gi", "more than container c0 has"},
           {"use.divvy.dev/on-pressure", "swap", "accepted: oom, wait"},
           {"use.divvy.dev/pressure-wait", "10s", "accepted: both"},
           {"use.divvy.dev/pressure-wait", "soon", "accepted: a positive number"},
           {"use.divvy.dev/idle-reclaim", "0", "or off"},
           {"use.divvy.dev/priority", "urgent", "accepted: high, normal, low"},
           {"use.divvy.dev/model", "a,,b", "accepted: names"},
           {"use.divvy.dev/model", "H20, -",
            "\" -\" has no letter or digit; accepted: whole words"},
           {"use.divvy.dev/not-model", "...", "\"...\" has no letter or digit"},
           {"use.divvy.dev/enforce", "hope", "accepted: auto, interposer"}}) {
    const auto request = asked({{key, value}});
    ASSERT_FALSE(request) << key << ' ' << value;
    EXPECT_EQ(request.error().code(), ErrorCode::kUsage);
    EXPECT_NE(request.error().message().find("divvy.dev/"), std::string::npos);
    EXPECT_NE(request.error().message().find(says), std::string::npos) << request.error().message();
  }
  const auto many = asked({{"use.divvy.dev/model", "a"}},
                          {{{"nvidia.com/gpu", "1"}, {"huawei.com/Ascend910B4", "1"}}});
  ASSERT_FALSE(many);
  EXPECT_NE(many.error().message().find("accepted: one kind"), std::string::npos);
  const auto none = asked({{"c0.use.divvy.dev/cores-policy", "cap"}},
                          {{{"nvidia.com/gpu", "1"}, {"nvidia.com/gpumem", "1"}}});
  ASSERT_FALSE(none);
  EXPECT_NE(none.error().message().find("accepted: both"), std::string::npos);
}

// ---- at the door
// ---------------------------------------------------------------------------------

// As it is after the webhook; asking again for it changes nothing.
json::value admitted(json::value object, const PriorityRules& priorities = {}) {
  const engine::Engine rules{engine::Config{}};
  for (const bool again : {false, true}) {
    const json::object body{{"request", {{"uid", "r"}, {"object", object}}}};
    const auto said =
        review(json::serialize(body), {allVendors(), rules, "divvy-scheduler", {}, {}, priorities});
    EXPECT_TRUE(said && said->allowed);
    const json::object response = json::parse(said->body).at("response").as_object();
    EXPECT_EQ(response.contains("patch"), !again);
    if (again) break;
    const auto patch = fromBase64(std::string(response.at("patch").as_string()));
    apply(json::parse(*patch).as_array(), &object);
  }
  return object;
}

json::value with(json::value object, const std::string& class_name, std::int64_t value) {
  object.at("spec").as_object()["priorityClassName"] = class_name;
  object.at("spec").as_object()["priority"] = value;
  return object;
}

std::string noteOf(const json::value& object, const std::string& key) {
  const json::value* notes = object.at("metadata").as_object().if_contains("annotations");
  if (notes == nullptr || !notes->as_object().contains(key)) return "";
  return std::string(notes->at(key).as_string());
}

TEST(PodMutator, OwnResourceNames_DefaultsInSameNames) {
  const json::value object = admitted(podObject({{{"divvy.dev/gpu-a100", "1"}}}, {}));
  const json::value& limits = object.at("spec").at("containers").at(0).at("resources").at("limits");
  EXPECT_EQ(limits, (json::object{{"divvy.dev/gpu-a100", "1"}, {"divvy.dev/gpucores", "100"}}));
  const json::value part = admitted(podObject({{{"divvy.dev/gpumem", "100"}}}, {}));
  EXPECT_EQ(part.at("spec").at("containers").at(0).at("resources").at("limits"),
            (json::object{{"divvy.dev/gpumem", "100"}, {"divvy.dev/gpu", "1"}}));
}

TEST(PodMutator, PriorityLimit_AnnotatedPerContainer) {
  const Texts high{{"nvidia.com/gpu", "1"}, {"nvidia.com/priority", "0"}};
  const Texts low{{"nvidia.com/gpu", "1"}, {"nvidia.com/priority", "1"}};
  const json::value object = admitted(podObject({high, low}, {}));
  EXPECT_EQ(noteOf(object, "c0.use.divvy.dev/priority"), "high");
  EXPECT_EQ(noteOf(object, "c1.use.divvy.dev/priority"), "low");
  // Who says it in our words is not overruled.
  const json::value own = admitted(podObject({low}, {{"c0.use.divvy.dev/priority", "normal"}}));
  EXPECT_EQ(noteOf(own, "c0.use.divvy.dev/priority"), "normal");
}

TEST(PodMutator, PriorityClass_MappedAsConfigured) {
  PriorityRules rules;
  ASSERT_TRUE(readPriorityClasses("inference=high,batch=low", &rules));
  ASSERT_TRUE(readPriorityValues("1000=high,-5=normal", &rules));
  const json::value pod = podObject({{{"nvidia.com/gpu", "1"}}}, {});
  const auto noted = [&](const std::string& name, std::int64_t value) {
    return noteOf(admitted(with(pod, name, value), rules), "use.divvy.dev/priority");
  };
  EXPECT_EQ(noted("inference", -10), "high");
  EXPECT_EQ(noted("batch", 5000), "low");
  EXPECT_EQ(noted("other", 1000), "high");
  EXPECT_EQ(noted("other", 999), "normal");
  EXPECT_EQ(noted("", -6), "");
  for (const char* bad : {"inference", "=high", "a=urgent", "a=high,a=low"}) {
    PriorityRules none;
    EXPECT_FALSE(readPriorityClasses(bad, &none)) << bad;
  }
  for (const char* bad : {"x=high", "1.5=low", "1=high,1=low", "1="}) {
    PriorityRules none;
    EXPECT_FALSE(readPriorityValues(bad, &none)) << bad;
  }
}

// ---- the list
// --------------------------------------------------------------------------------------

TEST(ShareOptions, Resources_OwnedByVendors) {
  for (const share_options::ShareOption& one : share_options::all()) {
    if (one.place == share_options::Place::kResource) {
      EXPECT_NE(allVendors().owner(one.word), nullptr) << one.word;
    }
  }
}

TEST(ShareOptions, PodsPage_ListsOptions) {
  std::ifstream file(std::string(std::getenv("DIVVY_SOURCE_DIR")) + "/docs/guides/pods.md");
  std::ostringstream text;
  text << file.rdbuf();
  EXPECT_NE(text.str().find(share_options::table()), std::string::npos)
      << "make it anew: divvy scheduler --print options";
}

}  // namespace
}  // namespace divvy::scheduler
