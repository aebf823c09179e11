// Handshakes with vendors' agents, written to a fake API server.
#include "controllers/agent_handshake_controller.h"

#include "controller_fixture.h"

namespace divvy::scheduler {
namespace {

namespace json = boost::json;

constexpr const char* kHandshake = "hami.io/node-handshake-dcu";
constexpr const char* kReported = "Reported 2026-08-21 10:00:00";

// Nodes a and b have an agent that has reported.
class AgentHandshakeTest : public ControllerTest {
 protected:
  void SetUp() override {
    for (const char* name : {"a", "b"}) say(name, kReported);
    controller.start();
  }
  void say(const std::string& name, const std::string& text) {
    Texts annotations = nodeWith("hygon").meta.annotations;
    annotations[kHandshake] = text;
    api.set(nodePath(name), nodeJson(annotations));
    controller.observe(nodeAt(nodePath(name)));
  }
  std::string said(const std::string& name) const {
    return api.annotation(nodePath(name), kHandshake);
  }
  bool asked(const std::string& name) const { return said(name).starts_with("Requesting_"); }
  std::size_t writes() const { return api.count("PATCH", "/api/v1/nodes"); }

  std::vector<kube::Node> silent;
  AgentHandshakeController controller{
      loop.get_executor(),
      *client,
      allVendors(),
      {true, whyNot(), [this](const kube::Node& node) { silent.push_back(node); }, &stopped}};
};

TEST_F(AgentHandshakeTest, AgentReported_IsAskedAgainOnce) {
  pass(std::chrono::seconds(14));
  EXPECT_EQ(writes(), 0u);
  ASSERT_TRUE(until([&] { return asked("a") && asked("b"); }));
  for (const char* name : {"a", "b"}) controller.observe(nodeAt(nodePath(name)));
  pass(std::chrono::seconds(40));
  EXPECT_EQ(writes(), 2u);
}

TEST_F(AgentHandshakeTest, AgentReportsBeforeWrite_ItsReportStays) {
  const std::string later = "Reported 2026-08-21 10:00:30";
  api.inject({.method = "PATCH", .path = nodePath("a"), .before = [&] {
                api.annotate(nodePath("a"), kHandshake, later);
              }});
  ASSERT_TRUE(until([&] { return asked("b"); }));
  EXPECT_EQ(said("a"), later);
  controller.observe(nodeAt(nodePath("a")));
  EXPECT_TRUE(until([&] { return asked("a"); })) << "the next look asks";
}

TEST_F(AgentHandshakeTest, AnswerLostAfterWrite_RequestStaysAsItIs) {
  api.inject({.method = "PATCH", .path = nodePath("a"), .kind = test::FaultKind::kAnswerLost});
  ASSERT_TRUE(until([&] { return asked("a"); }));
  const std::string text = said("a");
  ASSERT_TRUE(until([&] { return api.count("PATCH", nodePath("a")) > 1; }));
  EXPECT_EQ(said("a"), text);
}

TEST_F(AgentHandshakeTest, WriteFails_NextLookRepeatsIt) {
  api.inject(
      {.method = "PATCH", .path = nodePath("a"), .kind = test::FaultKind::kStatus, .status = 500});
  ASSERT_TRUE(until([&] { return asked("b"); }));
  EXPECT_FALSE(asked("a"));
  EXPECT_TRUE(until([&] { return asked("a"); }));
}

TEST_F(AgentHandshakeTest, LeadershipLostBetweenWrites_NoMoreAreSent) {
  api.inject({.method = "PATCH", .before = [this] { why_not = "another leads"; }});
  pass(std::chrono::seconds(60));
  EXPECT_EQ(writes(), 1u);
  why_not.clear();
  EXPECT_TRUE(until([&] { return asked("a") && asked("b"); }));
}

TEST_F(AgentHandshakeTest, NameReused_OtherNodeIsNotAsked) {
  json::object other = nodeJson({{kHandshake, kReported}});
  other["metadata"].as_object()["uid"] = "another";
  api.set(nodePath("a"), other);
  ASSERT_TRUE(until([&] { return asked("b"); }));
  EXPECT_EQ(said("a"), kReported);
}

// Also by a replica that does not lead: what it believes counts once it does.
TEST_F(AgentHandshakeTest, AgentSilent_CountsAsGone) {
  why_not = "another leads";
  say("a", requestText(1'787'306'400));
  pass(std::chrono::seconds(50));
  EXPECT_TRUE(silent.empty());
  ASSERT_TRUE(until([&] { return !silent.empty(); }));
  ASSERT_EQ(silent.size(), 1u);
  EXPECT_EQ(silent[0].meta.name, "a");
  EXPECT_EQ(silent[0].meta.annotations.at(kHandshake), "Deleted");
  pass(std::chrono::seconds(60));
  EXPECT_EQ(silent.size(), 1u);
}

TEST_F(AgentHandshakeTest, UnreadableHandshake_IsLeftAlone) {
  for (const char* text : {"", "garbage", "reported 2026-08-21", "Deleted_2026-08-21 10:00:00"}) {
    say("a", text);
    pass(std::chrono::seconds(20));
    EXPECT_EQ(said("a"), text);
  }
  EXPECT_EQ(api.count("PATCH", nodePath("a")), 0u);
}

}  // namespace
}  // namespace divvy::scheduler
