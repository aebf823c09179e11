#include "bodies/body_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "sample_node.h"

namespace divvy::console {
namespace {

using testing::HasSubstr;

struct BadBody {
  std::string body;
  const char* message;  // a part of it
};

TEST(ReadQuestion, BadBodies_RefusedWithMember) {
  const std::vector<BadBody> bodies{
      {"", "not one JSON object"},
      {"[]", "not one JSON object"},
      {"null", "not one JSON object"},
      {"{} {}", "not one JSON object"},
      {"{\"memory\": \"4Gi\"", "not one JSON object"},
      {"{\"memory\": \"\xff\"}", "not one JSON object"},
      {std::string(1000, '['), "not one JSON object"},
      {R"({"memory": 4})", "memory"},
      {R"({"memory": ["4Gi"]})", "memory"},
      {R"({"memory": "4 apples"})", "memory"},
      {R"({"memory": "-4Gi"})", "memory"},
      {R"({"memory": "0"})", "memory"},
      {R"({"memory": "101%"})", "memory"},
      {R"({"memory": "4Gi\u0000"})", "memory"},
      {R"({"cores": "30"})", "cores"},
      {R"({"cores": -1})", "cores"},
      {R"({"cores": 0})", "cores"},
      {R"({"cores": 30.5})", "cores"},
      {R"({"cores": 1e30})", "cores"},
      {R"({"cores": 101})", "cores"},
      {R"({"cores": 1, "gpus": 2})", "cores"},
      {R"({"gpus": 0})", "gpus"},
      {R"({"gpus": 65})", "gpus"},
      {R"({"gpus": true})", "gpus"},
      {R"({"priority": "urgent"})", "priority"},
      {R"({"priority": 1})", "priority"},
      {R"({"model": {}})", "model"},
      {R"({"what": "resize"})", "accepted: memory, cores, gpus, priority, model, node"},
      {R"({"\u0000": 1})", "accepted: memory"},
  };
  for (const BadBody& one : bodies) {
    const Result<Question> question = readQuestion(one.body);
    ASSERT_FALSE(question) << one.body;
    EXPECT_EQ(question.error().code(), ErrorCode::kUsage) << one.body;
    EXPECT_THAT(question.error().message(), HasSubstr(one.message)) << one.body;
  }
}

TEST(ReadQuestion, AllMembers_Request) {
  const Result<Question> question = readQuestion(
      R"({"memory": "16Gi", "cores": 60, "gpus": 2, "priority": "low", "model": "h100",
          "node": "studio"})");
  ASSERT_TRUE(question) << question.error().message();
  EXPECT_EQ(question->node, "studio");
  EXPECT_EQ(question->request.ask.memory.bytes, gib(16));
  EXPECT_EQ(question->request.ask.cores, 60u);
  EXPECT_EQ(question->request.ask.gpus, 2u);
  EXPECT_EQ(question->request.priority, agent::Priority::kLow);
  EXPECT_EQ(question->request.ask.models, std::vector<std::string>{"h100"});
}

TEST(ReadQuestion, NoMembersOrNull_Defaults) {
  for (const char* body :
       {"{}", R"({"memory": null, "cores": null, "model": "", "priority": ""})"}) {
    const Result<Question> question = readQuestion(body);
    ASSERT_TRUE(question) << body;
    EXPECT_EQ(question->request.ask.gpus, 1u);
    EXPECT_EQ(question->request.ask.cores, 0u);
    EXPECT_TRUE(question->request.ask.models.empty());
    EXPECT_FALSE(question->request.wait);
  }
}

TEST(ReadChange, BadBodies_RefusedWithMember) {
  const std::vector<BadBody> bodies{
      {"7", "not one JSON object"},
      {"{}", "what"},
      {R"({"what": "resize"})", "target"},
      {R"({"what": 1})", "what"},
      {R"({"what": "reboot", "target": {"share": "a"}, "to": {"cores": 1}})", "what"},
      {R"({"what": "resize", "target": "a", "to": {"cores": 1}})", "target"},
      {R"({"what": "resize", "target": {}, "to": {"cores": 1}})", "target"},
      {R"({"what": "resize", "target": {"share": ""}, "to": {"cores": 1}})", "target"},
      {R"({"what": "resize", "target": {"share": 5}, "to": {"cores": 1}})", "share"},
      {R"({"what": "resize", "target": {"share": "a"}})", "to"},
      {R"({"what": "resize", "target": {"share": "a"}, "to": []})", "to"},
      {R"({"what": "resize", "target": {"share": "a"}, "to": {"swap": 1}})",
       "accepted: memory, cores"},
      {R"({"what": "resize", "target": {"share": "a"}, "to": {"cores": 0}})", "cores"},
      {R"({"what": "resize", "target": {"share": "a"}, "to": {"memory": 4096}})", "memory"},
      {R"({"what": "resize", "target": {"share": "a"}, "to": {"cores": 1}, "dry_run": "no"})",
       "dry_run"},
      {R"({"what": "resize", "target": {"share": "a"}, "to": {"cores": 1}, "dry_run": null})",
       "dry_run"},
      {R"({"what": "resize", "target": {"share": "a"}, "to": {"cores": 1}, "dryrun": false})",
       "accepted: what, target, to, dry_run"},
      {R"({"what": "resize", "target": {"share": "a"}, "to": {"priority": "low"}})", "priority"},
      {R"({"what": "priority", "target": {"share": "a"}, "to": {"memory": "4Gi"}})", "memory"},
  };
  for (const BadBody& one : bodies) {
    const Result<ShareChange> change = readChange(one.body);
    ASSERT_FALSE(change) << one.body;
    EXPECT_EQ(change.error().code(), ErrorCode::kUsage) << one.body;
    EXPECT_THAT(change.error().message(), HasSubstr(one.message)) << one.body;
  }
}

TEST(ReadChange, NoDryRun_IsDryRun) {
  const Result<ShareChange> change =
      readChange(R"({"what": "resize", "target": {"share": "studio/t-1"}, "to": {"cores": 20}})");
  ASSERT_TRUE(change);
  EXPECT_TRUE(change->dry_run);
  EXPECT_EQ(change->share, "studio/t-1");
  EXPECT_EQ(change->request.cores, 20u);
  EXPECT_FALSE(change->request.has_memory);
  EXPECT_FALSE(change->request.priority);
}

ShareChange changeTo(const std::string& what, const std::string& to) {
  Result<ShareChange> change = readChange(
      "{\"what\": \"" + what + "\", \"target\": {\"share\": \"a\"}, \"to\": " + to + "}");
  EXPECT_TRUE(change) << to;
  return *change;
}

TEST(EffectsOf, EachTerm_OneSentenceWithBothValues) {
  const agent::Snapshot node = sampleNode();
  const Row share = shareRow(node, node.tenants[0], {});
  EXPECT_EQ(*effectsOf(changeTo("resize", R"({"memory": "2Gi"})"), share),
            std::vector<std::string>{"memory limit on device 0: 4 GiB to 2 GiB"});
  EXPECT_EQ(*effectsOf(changeTo("resize", R"({"cores": 20})"), share),
            std::vector<std::string>{"compute: 30 % to 20 %"});
  EXPECT_EQ(*effectsOf(changeTo("priority", R"({"priority": "low"})"), share),
            std::vector<std::string>{"priority: normal to low"});
}

TEST(EffectsOf, BelowUse_SaysSo) {
  const agent::Snapshot node = sampleNode();
  const Row share = shareRow(node, node.tenants[0], {});
  const auto effects = effectsOf(changeTo("resize", R"({"memory": "512Mi"})"), share);
  ASSERT_TRUE(effects);
  ASSERT_EQ(effects->size(), 2u);
  EXPECT_THAT((*effects)[1], HasSubstr("it uses 1 GiB"));
}

TEST(EffectsOf, NothingToChange_Refused) {
  const agent::Snapshot node = sampleNode();
  const Row share = shareRow(node, node.tenants[0], {});
  const auto effects = effectsOf(changeTo("resize", "{}"), share);
  ASSERT_FALSE(effects);
  EXPECT_EQ(effects.error().code(), ErrorCode::kUsage);
}

TEST(ExplanationOf, Reply_AllMembers) {
  agent::ExplainReply reply;
  reply.summary = "no device has 200 GiB";
  reply.impossible = true;
  reply.devices = {{0, "GPU-0", "H100", false, "too small", "too-large"}};
  reply.fixes = {"--memory 80Gi"};
  reply.victims = {{"t-1", "train", "low", gib(4)}};
  const boost::json::object object = explanationOf(reply);
  EXPECT_EQ(object.at("fits"), false);
  EXPECT_EQ(object.at("impossible"), true);
  EXPECT_EQ(object.at("devices").at(0).at("refusal"), "too small");
  EXPECT_EQ(object.at("fixes").at(0), "--memory 80Gi");
  EXPECT_EQ(object.at("victims").at(0).at("memory_bytes"), gib(4).count);
}

}  // namespace
}  // namespace divvy::console
