// `divvy run --wait`: who waits, for how long, and who comes next.
#include <gtest/gtest.h>
#include <signal.h>

#include "sandbox.h"

namespace divvy::test {
namespace {

Words waiting(const std::string& memory, const Words& options, const Words& command) {
  Words words{"run", "--sim", "h100", "--memory", memory, "--wait"};
  words.insert(words.end(), options.begin(), options.end());
  words.push_back("--");
  words.insert(words.end(), command.begin(), command.end());
  return words;
}

Child holder(Sandbox& sandbox) {
  Child run = sandbox.run("60Gi", {"sh", "-c", "echo up; read end"});
  EXPECT_TRUE(run.printed("up"));
  return run;
}

bool queued(Sandbox& sandbox, std::size_t count) {
  return eventually([&] { return sandbox.snapshot().queue.size() == count; });
}

TEST(WaitQueue, ShareFreed_WaiterRuns) {
  Sandbox sandbox;
  Child first = holder(sandbox);
  Child second = sandbox.start(waiting("60Gi", {}, {"echo", "ran"}));
  ASSERT_TRUE(second.complained("waiting for capacity, position 1"));
  EXPECT_FALSE(second.ended());
  first.closeInput();
  const Outcome outcome = second.wait();
  EXPECT_EQ(outcome.code(), 0);
  EXPECT_EQ(outcome.out, "ran\n");
}

TEST(WaitQueue, TimeoutExpires_RefusedAndDequeued) {
  Sandbox sandbox;
  Child first = holder(sandbox);
  const Outcome outcome = sandbox.divvy(waiting("60Gi", {"200ms"}, {"true"}));
  EXPECT_EQ(outcome.code(), 1);
  EXPECT_NE(outcome.err.find("needs 60 GiB"), std::string::npos) << outcome.err;
  EXPECT_TRUE(queued(sandbox, 0));
}

TEST(WaitQueue, ImpossibleRequest_RefusedAtOnce) {
  Sandbox sandbox;
  const Outcome outcome = sandbox.divvy(waiting("600Gi", {}, {"true"}));
  EXPECT_EQ(outcome.code(), 2);
  EXPECT_NE(outcome.err.find("the device has"), std::string::npos) << outcome.err;
}

TEST(WaitQueue, InterruptedWaiter_LeavesQueue) {
  Sandbox sandbox;
  Child first = holder(sandbox);
  Child second = sandbox.start(waiting("60Gi", {}, {"true"}));
  ASSERT_TRUE(queued(sandbox, 1));
  second.signal(SIGINT);
  EXPECT_EQ(second.wait().signal(), SIGINT);
  EXPECT_TRUE(queued(sandbox, 0));
}

TEST(WaitQueue, HigherPriority_AdmittedFirst) {
  Sandbox sandbox;
  Child first = holder(sandbox);
  Child low =
      sandbox.start(waiting("60Gi", {"--priority", "low"}, {"sh", "-c", "echo up; read end"}));
  ASSERT_TRUE(queued(sandbox, 1));
  Child high =
      sandbox.start(waiting("60Gi", {"--priority", "high"}, {"sh", "-c", "echo up; read end"}));
  ASSERT_TRUE(queued(sandbox, 2));
  first.closeInput();
  ASSERT_TRUE(high.printed("up"));
  EXPECT_EQ(low.out(), "");
  high.closeInput();
  EXPECT_TRUE(low.printed("up"));
}

// A request that is small enough for what is left waits behind a larger one all the same.
TEST(WaitQueue, SmallRequestBehindLarge_DoesNotOvertake) {
  Sandbox sandbox;
  Child first = holder(sandbox);
  Child large = sandbox.start(waiting("60Gi", {}, {"sh", "-c", "echo up; read end"}));
  ASSERT_TRUE(queued(sandbox, 1));
  Child small = sandbox.start(waiting("1Gi", {}, {"sh", "-c", "echo up; read end"}));
  ASSERT_TRUE(queued(sandbox, 2));
  EXPECT_EQ(small.out(), "");
  first.closeInput();
  EXPECT_TRUE(large.printed("up"));
  EXPECT_TRUE(small.printed("up"));
}

TEST(WaitQueue, AgentKilled_QueueSurvives) {
  Sandbox sandbox;
  Child first = holder(sandbox);
  Child second = sandbox.start(waiting("60Gi", {}, {"sh", "-c", "echo up; read end"}));
  ASSERT_TRUE(queued(sandbox, 1));
  const int agent = sandbox.agentPid();
  kill(agent, SIGKILL);
  ASSERT_TRUE(eventually([&] {
    const agent::Snapshot now = sandbox.snapshot();
    return now.agent_pid != 0 && now.agent_pid != agent && now.queue.size() == 1 &&
           now.tenants.size() == 1;
  }));
  first.closeInput();
  EXPECT_TRUE(second.printed("up"));
}

TEST(WaitQueue, OtherTenantShrinks_WaiterAdmitted) {
  Sandbox sandbox;
  Child first = holder(sandbox);
  const std::string id = sandbox.snapshot().tenants.at(0).id;
  Child second = sandbox.start(waiting("60Gi", {}, {"sh", "-c", "echo up; read end"}));
  ASSERT_TRUE(queued(sandbox, 1));
  EXPECT_EQ(sandbox.divvy({"resize", id, "--memory", "10Gi"}).code(), 0);
  EXPECT_TRUE(second.printed("up"));
}

}  // namespace
}  // namespace divvy::test
