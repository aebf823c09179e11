// What a pod's object says of its owner, images and model.
#include "kubernetes/pod_facts.h"

#include <gtest/gtest.h>

#include <boost/json/parse.hpp>

namespace divvy::cli {
namespace {

namespace json = boost::json;

json::value podWith(const std::string& metadata, const std::string& spec = "{}") {
  return json::parse(R"({"metadata":)" + metadata + R"(,"spec":)" + spec + "}");
}

std::string ownedBy(const std::string& kind, const std::string& name, const std::string& hash = "",
                    const std::string& controller = "true") {
  return ownerOf(podWith(R"({"labels":{"pod-template-hash":")" + hash +
                         R"("},"ownerReferences":[{"kind":")" + kind + R"(","name":")" + name +
                         R"(","controller":)" + controller + "}]}"));
}

// One container with this command line.
ServedModel modelOf(const std::string& command, const std::string& args = "[]",
                    const std::string& labels = "{}") {
  return servedModelOf(
      podWith(R"({"labels":)" + labels + "}",
              R"({"containers":[{"name":"side","args":["--port","1"]},{"command":)" + command +
                  R"(,"args":)" + args + "}]}"));
}

TEST(PodFacts, Owner_DeploymentBehindReplicaSet) {
  EXPECT_EQ(ownedBy("ReplicaSet", "web-6d4cf56db6", "6d4cf56db6"), "Deployment/web");
  EXPECT_EQ(ownedBy("ReplicaSet", "a-b-c-6d4c", "6d4c"), "Deployment/a-b-c");
  EXPECT_EQ(ownedBy("ReplicaSet", "web", "6d4cf56db6"), "ReplicaSet/web") << "made by hand";
  EXPECT_EQ(ownedBy("ReplicaSet", "web-6d4c"), "ReplicaSet/web-6d4c") << "no such label";
  EXPECT_EQ(ownedBy("Job", "train", "train"), "Job/train");
  EXPECT_EQ(ownedBy("StatefulSet", "db"), "StatefulSet/db");
}

TEST(PodFacts, NoController_NoOwner) {
  EXPECT_EQ(ownedBy("Job", "train", "", "false"), "");
  EXPECT_EQ(ownedBy("Job", "train", "", "\"true\""), "");
  EXPECT_EQ(ownerOf(podWith("{}")), "");
  EXPECT_EQ(ownerOf(podWith(R"({"ownerReferences":[]})")), "");
  EXPECT_EQ(ownerOf(podWith(R"({"ownerReferences":5})")), "");
  EXPECT_EQ(ownerOf(podWith(R"({"ownerReferences":[5, null]})")), "");
  EXPECT_EQ(ownerOf(json::value(nullptr)), "");
}

TEST(PodFacts, SecondOwnerControls_Found) {
  EXPECT_EQ(ownerOf(podWith(R"({"ownerReferences":[{"kind":"Queue","name":"q"},)"
                            R"({"kind":"Job","name":"train","controller":true}]})")),
            "Job/train");
}

TEST(PodFacts, Images_InitContainersFirst) {
  EXPECT_EQ(imagesOf(podWith("{}", R"({"containers":[{"image":"main:1"},{"name":"none"}],)"
                                   R"("initContainers":[{"image":"init:1"}]})")),
            (std::vector<std::string>{"init:1", "main:1", ""}));
  EXPECT_TRUE(imagesOf(podWith("{}")).empty());
}

TEST(PodFacts, ModelOption_BothForms) {
  EXPECT_EQ(modelOf(R"(["vllm","serve","--model","llama"])").name, "llama");
  EXPECT_EQ(modelOf(R"(["vllm"])", R"(["--model=llama"])").name, "llama");
  EXPECT_EQ(modelOf(R"(["vllm"])", R"(["--model=llama"])").source, "argument --model");
  EXPECT_EQ(modelOf(R"(["sglang"])", R"(["--model-path","/models/llama"])").name, "/models/llama");
  EXPECT_EQ(modelOf(R"(["sglang"])", R"(["--model-path=/m"])").source, "argument --model-path");
  EXPECT_EQ(modelOf(R"(["a","--model"])", R"(["llama"])").name, "llama") << "command, then args";
}

TEST(PodFacts, ServedNameAndLabel_BeforeModel) {
  const std::string both = R"(["--model","/models/x","--served-model-name","llama"])";
  EXPECT_EQ(modelOf(R"(["vllm"])", both).name, "llama");
  EXPECT_EQ(modelOf(R"(["vllm"])", both).source, "argument --served-model-name");
  const ServedModel labelled = modelOf(R"(["vllm"])", both, R"({"divvy.dev/model":"mine"})");
  EXPECT_EQ(labelled.name, "mine");
  EXPECT_EQ(labelled.source, "label divvy.dev/model");
}

TEST(PodFacts, NoModelStated_Empty) {
  for (const char* args :
       {"[]", R"(["--model"])", R"(["--model="])", R"(["--models","x"])", R"(["--model-name=x"])",
        R"(["a--model","x"])", R"(["model","x"])", R"([5, null, ["--model","x"]])", "5"}) {
    EXPECT_EQ(modelOf(R"(["vllm"])", args).name, "") << args;
    EXPECT_EQ(modelOf(R"(["vllm"])", args).source, "") << args;
  }
  EXPECT_EQ(servedModelOf(podWith("{}")).name, "");
}

}  // namespace
}  // namespace divvy::cli
