// What becomes of pods at the door.
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "base/base64.h"
#include "codec/share_variety.h"
#include "webhook/pod_webhook.h"

namespace divvy::scheduler {
namespace {

namespace json = boost::json;

vendors::Catalog catalog() {
  return *vendors::Catalog::of(vendors::builtIn());
}

// With one pool, for one namespace.
engine::Engine rules() {
  engine::Engine engine{engine::Config{}};
  engine::Pool training;
  training.name = engine::PoolName("training");
  training.users = {engine::UserName("lab")};
  EXPECT_TRUE(engine.setPools({training}));
  return engine;
}

json::object answerTo(const std::string& spec, const std::string& annotations = "{}",
                      const std::string& namespace_name = "default", const GateRule& gate = {}) {
  const std::string body = R"({"request":{"uid":"u-1","namespace":")" + namespace_name +
                           R"(","object":{"metadata":{"name":"p","annotations":)" + annotations +
                           R"(},"spec":)" + spec + "}}}";
  const Result<Review> said = review(body, {catalog(), rules(), "divvy-scheduler", {}, gate});
  EXPECT_TRUE(said.has_value());
  json::object response = json::parse(said->body).at("response").as_object();
  EXPECT_EQ(response.at("uid"), "u-1");
  return response;
}

std::string limits(const std::string& inside) {
  return R"({"containers":[{"name":"c","resources":{"limits":{)" + inside + "}}}]}";
}

std::string patchOf(const json::object& answer) {
  const json::value* patch = answer.if_contains("patch");
  return patch == nullptr ? "" : *fromBase64(patch->as_string());
}

TEST(TooManyDifferentShares, ConcurrentContainers_CountedToBound) {
  engine::Shape shape;
  const auto container = [](std::uint64_t mebibytes) {
    engine::Container made;
    made.devices.count = 1;
    made.devices.memory = mib(mebibytes);
    return made;
  };
  for (std::uint64_t size = 1; size <= kMaxDifferentShares; ++size) {
    shape.containers.push_back(container(size));
    shape.containers.push_back(container(size));
    shape.init.push_back(container(100 + size));  // they end before
  }
  shape.containers.emplace_back();  // without devices
  EXPECT_EQ(tooManyDifferentShares(shape, kMaxDifferentShares), std::nullopt);
  shape.init.push_back(container(200));
  shape.init.back().sidecar = true;
  const auto why = tooManyDifferentShares(shape, kMaxDifferentShares);
  ASSERT_TRUE(why);
  EXPECT_NE(why->find("9 different shares; accepted: at most 8"), std::string::npos) << *why;
  EXPECT_EQ(tooManyDifferentShares(shape, 9), std::nullopt);
  EXPECT_EQ(tooManyDifferentShares(shape, 0), std::nullopt) << "no bound";
}

TEST(PodWebhook, QueuesPool_WrittenUnlessPodNamesOne) {
  const GateRule gate = [](const kube::Pod&) { return QueueAssignment{true, "lab", "training"}; };
  const std::string card = limits(R"("nvidia.com/gpu":1)");
  EXPECT_NE(patchOf(answerTo(card, "{}", "lab", gate))
                .find(R"(/use.divvy.dev~1pool","value":"training")"),
            std::string::npos);
  EXPECT_EQ(patchOf(answerTo(card, R"({"use.divvy.dev/pool":"none"})", "lab", gate)).find("~1pool"),
            std::string::npos)
      << "what a pod says goes first";
  const json::object other = answerTo(card, "{}", "default", gate);
  EXPECT_FALSE(other.at("allowed").as_bool()) << "the pool is not for that namespace";
  const GateRule unknown = [](const kube::Pod&) { return QueueAssignment{true, "lab", "traning"}; };
  const json::object answer = answerTo(card, "{}", "lab", unknown);
  EXPECT_FALSE(answer.at("allowed").as_bool());
  EXPECT_NE(json::serialize(answer).find("traning"), std::string::npos);
}

TEST(PodWebhook, PodWithDevices_GetsScheduler) {
  const json::object answer = answerTo(limits(R"("nvidia.com/gpu":1)"));
  EXPECT_TRUE(answer.at("allowed").as_bool());
  const auto patch = fromBase64(answer.at("patch").as_string());
  ASSERT_TRUE(patch.has_value());
  // All of a card is nobody else's, and says so.
  EXPECT_EQ(json::parse(*patch),
            json::parse(R"([{"op":"add","path":"/spec/containers/0/resources/limits/)"
                        R"(nvidia.com~1gpucores","value":"100"},)"
                        R"({"op":"add","path":"/spec/schedulerName","value":"divvy-scheduler"}])"));
}

// What comes of its patches asks for none.
TEST(PodWebhook, PatchedPod_NoFurtherPatch) {
  const json::object answer =
      answerTo(R"({"schedulerName":"divvy-scheduler","containers":[{"name":"c","resources":{)"
               R"("limits":{"nvidia.com/gpu":1,"nvidia.com/gpucores":100}}}]})");
  EXPECT_TRUE(answer.at("allowed").as_bool());
  EXPECT_FALSE(answer.contains("patch"));
}

TEST(PodWebhook, OtherPods_AreUnchanged) {
  for (const std::string& spec :
       {limits(R"("cpu":"1")"), std::string(R"({"containers":[]})"),
        std::string(R"({"schedulerName":"volcano","containers":[{"resources":{"limits":)"
                    R"({"nvidia.com/gpumem":"1.5"}}}]})")}) {
    const json::object answer = answerTo(spec);
    EXPECT_TRUE(answer.at("allowed").as_bool()) << spec;
    EXPECT_FALSE(answer.contains("patch")) << spec;
  }
}

TEST(PodWebhook, InvalidPod_RefusedWithReason) {
  for (const auto& [spec, words] : std::vector<std::pair<std::string, std::string>>{
           {limits(R"("nvidia.com/gpu":"1","nvidia.com/gpumem":"1.5")"), "nvidia.com/gpumem"},
           {limits(R"("nvidia.com/gpu":"-1")"), "negative"},
           {limits(R"("nvidia.com/gpu":"100")"), "64"},
           {limits(R"("nvidia.com/gpu":"x")"), "nvidia.com/gpu"},
           {R"({"nodeName":"n","containers":[{"resources":{"limits":{"nvidia.com/gpu":"1"}}}]})",
            "node assigned"},
           {R"({"containers":[{"name":"s","securityContext":{"privileged":true},"resources":)"
            R"({"limits":{"nvidia.com/gpu":"1"}}}]})",
            "container s is privileged"},
           {R"({"containers":7})", ".spec.containers is not a list"}}) {
    const json::object answer = answerTo(spec);
    EXPECT_FALSE(answer.at("allowed").as_bool()) << spec;
    const std::string said(answer.at("status").at("message").as_string());
    EXPECT_NE(said.find(words), std::string::npos) << said;
  }
}

// The answer's message; empty: it is allowed.
std::string saidOfEphemeral(const std::string& before, const std::string& now,
                            const std::string& resource = "nvidia.com/gpu",
                            const std::string& scheduler = "divvy-scheduler") {
  const auto pod = [&](const std::string& ephemeral) {
    return R"({"metadata":{"name":"p","namespace":"n"},"spec":{"nodeName":"w","schedulerName":")" +
           scheduler + R"(","containers":[{"name":"c","resources":{"limits":{")" + resource +
           R"(":1}}}],"ephemeralContainers":[)" + ephemeral + "]}}";
  };
  const std::string body =
      R"({"request":{"uid":"u-1","operation":"UPDATE","subResource":"ephemeralcontainers",)"
      R"("oldObject":)" +
      pod(before) + R"(,"object":)" + pod(now) + "}}";
  const Result<Review> said = review(body, {catalog(), rules(), "divvy-scheduler"});
  EXPECT_TRUE(said.has_value());
  const json::object answer = json::parse(said->body).at("response").as_object();
  EXPECT_EQ(answer.if_contains("patch"), nullptr);
  if (answer.at("allowed").as_bool()) return "";
  return std::string(answer.at("status").at("message").as_string());
}

// Regression: kubectl debug --profile=sysadmin put a privileged container beside a share.
TEST(PodWebhook, PrivilegedEphemeralContainer_IsRefused) {
  const std::string plain = R"({"name":"d"})";
  const std::string privileged = R"({"name":"s","securityContext":{"privileged":true}})";
  const std::string not_so = R"({"name":"s","securityContext":{"privileged":false}})";
  EXPECT_EQ(saidOfEphemeral("", plain), "");
  EXPECT_EQ(saidOfEphemeral("", not_so), "");
  EXPECT_NE(saidOfEphemeral("", privileged).find("ephemeral container s is privileged"),
            std::string::npos);
  EXPECT_NE(saidOfEphemeral(plain, plain + ',' + privileged), "");
  EXPECT_EQ(saidOfEphemeral(privileged, privileged + ',' + plain), "");
  EXPECT_EQ(saidOfEphemeral("", privileged, "example.com/other"), "");
  EXPECT_EQ(saidOfEphemeral("", privileged, "nvidia.com/gpu", "volcano"), "");
}

TEST(PodWebhook, Pool_OnlyForItsUsers) {
  const std::string spec = limits(R"("nvidia.com/gpu":1)");
  const std::string training = R"({"use.divvy.dev/pool":"training"})";
  EXPECT_TRUE(answerTo(spec, training, "lab").at("allowed").as_bool());
  EXPECT_FALSE(answerTo(spec, training, "default").at("allowed").as_bool());
  const json::object wrong = answerTo(spec, R"({"use.divvy.dev/pool":"trainig"})", "lab");
  EXPECT_FALSE(wrong.at("allowed").as_bool());
  EXPECT_NE(wrong.at("status").at("message").as_string().find("training"), json::string::npos);
}

TEST(PodWebhook, MalformedReview_IsError) {
  for (const char* body : {"", "{", "[]", "{}", R"({"request":1})"})
    EXPECT_FALSE(review(body, {catalog(), rules(), "s"}).has_value()) << body;
}

}  // namespace
}  // namespace divvy::scheduler
