// Questions and changes of the console over real HTTP.
#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <stdexcept>

#include "served_console.h"

namespace divvy::console {
namespace {

namespace bj = boost::json;
using testing::HasSubstr;

using ConsoleCalls = ServedConsole;

TEST_F(ConsoleCalls, ExplainFails_ErrorOfAgentOnly) {
  start();
  const Session session = opened();
  agents_->onExplain([] {
    return Result<agent::ExplainReply>(Error{ErrorCode::kUnavailable, "the agent is away"});
  });
  const Reply reply = post(session, "explain", "{}");
  EXPECT_EQ(reply.status, 503u);
  EXPECT_EQ(reply.errorCode(), "unavailable");
  EXPECT_EQ(reply.json().at("error").at("message"), "the agent is away");
  for (const std::string& secret : {session.csrf, session.cookie, token()})
    EXPECT_EQ(reply.body.find(secret), std::string::npos);
}

TEST_F(ConsoleCalls, ExplainThrows_LaterQuestionsAnswered) {
  start();
  const Session session = opened();
  agents_->onExplain([]() -> Result<agent::ExplainReply> { throw std::runtime_error("canary"); });
  for (int i = 0; i < 20; ++i) EXPECT_EQ(post(session, "explain", "{}").status, 500u);
  agents_->onExplain([] { return agent::ExplainReply(); });
  EXPECT_EQ(post(session, "explain", "{}").status, 200u);
}

TEST_F(ConsoleCalls, ExplainBlocks_OverviewNotDelayed) {
  start();
  const Session session = opened();
  Gate gate;
  agents_->onExplain([&gate] {
    gate.pass();
    return agent::ExplainReply();
  });
  std::vector<std::future<Reply>> questions;
  for (int i = 0; i < 2; ++i)
    questions.push_back(
        std::async(std::launch::async, [&] { return post(session, "explain", "{}"); }));
  ASSERT_TRUE(gate.waitFor(1));
  const auto begun = std::chrono::steady_clock::now();
  for (int i = 0; i < 20; ++i) EXPECT_EQ(get(session, "overview").status, 200u);
  EXPECT_LT(std::chrono::steady_clock::now() - begun, kPatience / 4);
  // Readings go on, too.
  agents_->set(std::vector<NodeReading>{});
  EXPECT_TRUE(eventually([&] { return get(session, "shares").json().at("total") == 0; }));
  gate.open();
  for (std::future<Reply>& question : questions) EXPECT_EQ(question.get().status, 200u);
}

TEST_F(ConsoleCalls, ManyQuestions_FurtherOnesBusy) {
  start();
  const Session session = opened();
  Gate gate;
  agents_->onExplain([&gate] {
    gate.pass();
    return agent::ExplainReply();
  });
  std::vector<std::future<Reply>> questions;
  for (int i = 0; i < 20; ++i)
    questions.push_back(
        std::async(std::launch::async, [&] { return post(session, "explain", "{}"); }));
  ASSERT_TRUE(gate.waitFor(1));
  // Those above the bound are answered while the first one waits.
  EXPECT_TRUE(eventually([&] {
    return std::count_if(questions.begin(), questions.end(), [](std::future<Reply>& one) {
             return one.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
           }) == 4;
  }));
  gate.open();
  std::map<unsigned, int> counts;
  for (std::future<Reply>& question : questions) ++counts[question.get().status];
  EXPECT_EQ(counts, (std::map<unsigned, int>{{200, 16}, {503, 4}}));
}

// The loop goes on after the console: nothing of the console may be used then.
TEST_F(ConsoleCalls, DestroyedDuringQuestion_LoopGoesOn) {
  start();
  const Session session = opened();
  Gate gate;
  agents_->onExplain([&gate] {
    gate.pass();
    return agent::ExplainReply();
  });
  RawClient client(port_);
  client.send(requestText("POST", "/api/v1/explain", fieldsOf(session), "{}"));
  ASSERT_TRUE(gate.waitFor(1));
  std::thread opener([&gate] { gate.open(); });
  inLoop([this] { console_.reset(); });
  opener.join();
  client.rest();
  for (int i = 0; i < 3; ++i) inLoop([] {});
}

std::string changeBody(const std::string& to, bool dry) {
  return "{\"what\": \"resize\", \"target\": {\"share\": \"studio/t-1\"}, \"to\": " + to +
         ", \"dry_run\": " + (dry ? "true" : "false") + "}";
}

TEST_F(ConsoleCalls, ChangesOff_403AndSourceNotCalled) {
  std::atomic<int> calls = 0;
  agents_->onChange([&](const std::string&, const agent::SetRequest&) {
    ++calls;
    return Result<void>();
  });
  start();
  const Session session = opened();
  for (const bool dry : {true, false}) {
    const Reply reply = post(session, "changes", changeBody("{\"cores\": 20}", dry));
    EXPECT_EQ(reply.status, 403u);
    EXPECT_EQ(reply.errorCode(), "forbidden");
    EXPECT_THAT(reply.body, HasSubstr("--allow-changes"));
  }
  EXPECT_EQ(calls, 0);
  EXPECT_EQ(get(session, "session").json().at("can").at("change"), false);
}

TEST_F(ConsoleCalls, DryRun_EffectsWithoutCall) {
  options_.allow_changes = true;
  std::mutex mutex;
  std::vector<std::pair<std::string, agent::SetRequest>> calls;
  agents_->onChange([&](const std::string& node, const agent::SetRequest& request) {
    const std::lock_guard lock(mutex);
    calls.emplace_back(node, request);
    return Result<void>();
  });
  start();
  const Session session = opened();
  const Reply dry = post(session, "changes", changeBody("{\"memory\": \"2Gi\"}", true));
  EXPECT_EQ(dry.status, 200u) << dry.body;
  EXPECT_EQ(dry.json().at("effects").at(0), "memory limit on device 0: 4 GiB to 2 GiB");
  EXPECT_TRUE(dry.json().at("refused").is_null());
  EXPECT_TRUE(calls.empty());
  const Reply done = post(session, "changes", changeBody("{\"memory\": \"2Gi\"}", false));
  EXPECT_EQ(done.status, 200u) << done.body;
  EXPECT_EQ(done.json().at("dry_run"), false);
  ASSERT_EQ(calls.size(), 1u);
  EXPECT_EQ(calls[0].first, "studio");
  EXPECT_EQ(calls[0].second.tenant, "t-1");
  EXPECT_TRUE(calls[0].second.has_memory);
  EXPECT_EQ(calls[0].second.memory.bytes, gib(2));
  EXPECT_EQ(calls[0].second.cores, 0u);
  EXPECT_FALSE(calls[0].second.priority);
}

TEST_F(ConsoleCalls, AgentRefusesChange_MessageInAnswer) {
  options_.allow_changes = true;
  agents_->onChange([](const std::string&, const agent::SetRequest&) {
    return Result<void>(Error{ErrorCode::kNoRoom, "device 0 has 1 GiB left"});
  });
  start();
  const Session session = opened();
  const bj::object object =
      post(session, "changes", changeBody("{\"memory\": \"60Gi\"}", false)).json();
  EXPECT_EQ(object.at("refused").at("message"), "device 0 has 1 GiB left");
  agents_->set(std::vector<NodeReading>{});
  EXPECT_TRUE(eventually([&] {
    return post(session, "changes", changeBody("{\"cores\": 20}", true)).status == 404u;
  }));
}

}  // namespace
}  // namespace divvy::console
