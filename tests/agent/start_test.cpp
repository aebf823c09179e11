// How agents come to be, and how they go.
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <functional>
#include <set>

#include "sandbox.h"

namespace divvy::test {
namespace {

constexpr unsigned kManyRuns = 50;

std::size_t countOf(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++count;
  return count;
}

TEST(AgentStart, SecondRun_UsesSameAgent) {
  Sandbox sandbox;
  EXPECT_EQ(sandbox.divvy(sandbox.runWords("4Gi", {"true"})).code(), 0);
  const int first = sandbox.agentPid();
  EXPECT_NE(first, 0);
  EXPECT_EQ(sandbox.divvy(sandbox.runWords("4Gi", {"true"})).code(), 0);
  EXPECT_EQ(sandbox.agentPid(), first);
}

TEST(AgentStart, FiftySimultaneousRuns_OneAgent) {
  Sandbox sandbox;
  std::vector<Child> runs;
  for (unsigned i = 0; i < kManyRuns; ++i)
    runs.push_back(sandbox.run("1Gi", {"sh", "-c", "echo up"}));
  for (Child& run : runs) {
    const Outcome outcome = run.wait();
    EXPECT_EQ(outcome.code(), 0) << outcome.err;
    EXPECT_EQ(outcome.out, "up\n");
  }
  EXPECT_EQ(countOf(sandbox.agentLog(), "agent is ready "), 1u) << sandbox.agentLog();
  EXPECT_TRUE(sandbox.tenantCount(0));
}

TEST(AgentStart, TwentySimultaneousRuns_WithinDeviceMemory) {
  Sandbox sandbox;
  std::vector<Child> runs;
  for (unsigned i = 0; i < 20; ++i)
    runs.push_back(sandbox.run("10Gi", {"sh", "-c", "echo up; read end"}));
  unsigned refused = 0;
  unsigned running = 0;
  for (Child& run : runs) {
    const bool decided =
        eventually([&] { return run.ended() || !run.out().empty() || run.printed("up"); });
    ASSERT_TRUE(decided);
    if (run.ended()) {
      const Outcome outcome = run.wait();
      EXPECT_EQ(outcome.code(), 1);
      EXPECT_NE(outcome.err.find("0 of 1 device fits"), std::string::npos) << outcome.err;
      ++refused;
    } else {
      ++running;
    }
  }
  EXPECT_EQ(running, 7u);
  EXPECT_EQ(refused, 13u);
  for (Child& run : runs) run.closeInput();
  EXPECT_TRUE(sandbox.tenantCount(0));
}

// An agent that leaves when it has been idle for so long, and a tenant of it. Where the machine is
// so busy that it left before the tenant came, another one serves that: then it is tried anew.
void withIdleAgent(const std::string& idle, const Words& command,
                   const std::function<void(Sandbox&, Child&, Child&)>& serves) {
  for (int tries = 0; tries < 5; ++tries) {
    Sandbox sandbox;
    Child agent = sandbox.start({"agent", "--node", "sim-h100", "--idle-exit", idle});
    ASSERT_TRUE(eventually([&] { return sandbox.agentPid() != 0 || agent.ended(); }));
    const int first = sandbox.agentPid();
    Child run = sandbox.run("4Gi", command);
    ASSERT_TRUE(run.printed("up"));
    if (first != 0 && sandbox.agentPid() == first) return serves(sandbox, agent, run);
  }
  FAIL() << "it has always left before";
}

TEST(AgentStart, IdleExit_RemovesAllFiles) {
  withIdleAgent("300ms", {"sh", "-c", "echo up; read end"},
                [](Sandbox& sandbox, Child& agent, Child& run) {
                  run.closeInput();
                  EXPECT_EQ(run.wait().code(), 1);  // read saw the end of its input
                  EXPECT_EQ(agent.wait().code(), 0);
                  EXPECT_EQ(sandbox.files(), Words());
                });
}

TEST(AgentStart, TenantRunning_AgentStays) {
  withIdleAgent("200ms", {"sh", "-c", "echo up; read end"}, [](Sandbox&, Child& agent, Child& run) {
    EXPECT_FALSE(eventually([&] { return agent.ended(); }, std::chrono::milliseconds(1500)));
    run.closeInput();
    EXPECT_EQ(run.wait().code(), 1);
    EXPECT_EQ(agent.wait().code(), 0);
  });
}

TEST(AgentStart, SecondAgent_LeavesFirstServing) {
  Sandbox sandbox;
  EXPECT_EQ(sandbox.divvy(sandbox.runWords("4Gi", {"true"})).code(), 0);
  const int first = sandbox.agentPid();
  // Regression: it said nothing, and its options were taken for those that count.
  const Outcome second = sandbox.divvy({"agent", "--node", "sim-h100", "--overcommit", "1.3"});
  EXPECT_EQ(second.code(), 0);
  EXPECT_NE(second.err.find("an agent already serves this node"), std::string::npos) << second.err;
  EXPECT_EQ(sandbox.agentPid(), first);
}

// Regression: it stayed for ever where nobody made the directory anew.
TEST(AgentStart, DirectoryRemoved_IdleAgentExits) {
  Sandbox sandbox;
  Child agent = sandbox.start({"agent", "--node", "sim-h100", "--idle-exit", "1s"});
  // Where this test was held up it has left already, and shows nothing.
  ASSERT_TRUE(eventually([&] { return sandbox.agentPid() != 0 || agent.ended(); }));
  std::filesystem::remove_all(sandbox.root() + "/sim-h100");
  ASSERT_TRUE(eventually([&] { return agent.ended(); }));
  EXPECT_EQ(agent.wait().code(), 0);
}

// Somebody removes the runtime directory under an idle agent; the next one makes it anew.
TEST(AgentStart, DirectoryRecreated_IdleAgentSparesIt) {
  Sandbox sandbox;
  Child old = sandbox.start({"agent", "--node", "sim-h100", "--idle-exit", "1s"});
  // Where this test was held up it has left already, and shows nothing.
  ASSERT_TRUE(eventually([&] { return sandbox.agentPid() != 0 || old.ended(); }));
  std::filesystem::remove_all(sandbox.root() + "/sim-h100");
  Child run = sandbox.run("4Gi", {"sh", "-c", "echo up; read end"});
  ASSERT_TRUE(run.printed("up"));
  EXPECT_EQ(old.wait().code(), 0);
  EXPECT_TRUE(sandbox.tenantCount(1));
}

TEST(AgentStart, TwoNodes_OneAgentEach) {
  Sandbox sandbox;
  EXPECT_EQ(sandbox.divvy(sandbox.runWords("4Gi", {"true"})).code(), 0);
  EXPECT_EQ(sandbox.divvy({"run", "--sim", "a100x2", "--", "true"}).code(), 0);
  const Outcome gpus = sandbox.divvy({"gpus", "--no-headers"});
  EXPECT_EQ(countOf(gpus.out, "sim-h100 "), 1u) << gpus.out;
  EXPECT_EQ(countOf(gpus.out, "sim-a100x2"), 2u) << gpus.out;
}

TEST(AgentStart, StopWithTenants_IsRefused) {
  Sandbox sandbox;
  Child run = sandbox.run("4Gi", {"sh", "-c", "echo up; read end"});
  ASSERT_TRUE(run.printed("up"));
  const Outcome refused = sandbox.divvy({"stop"});
  EXPECT_EQ(refused.code(), 1);
  EXPECT_NE(refused.err.find("tenants are running"), std::string::npos);
  EXPECT_EQ(sandbox.divvy({"stop", "--force"}).code(), 0);
  EXPECT_EQ(run.wait().signal(), SIGTERM);
  EXPECT_EQ(sandbox.files(), Words());
}

TEST(AgentStart, StopForce_KillsUnresponsiveTenant) {
  Sandbox sandbox;
  Child run =
      sandbox.run("4Gi", {"sh", "-c", "trap '' TERM; echo up; while :; do sleep 1000; done"});
  ASSERT_TRUE(run.printed("up"));
  EXPECT_EQ(sandbox.divvy({"stop", "--force"}).code(), 0);
  EXPECT_EQ(run.wait().signal(), SIGKILL);
  EXPECT_EQ(sandbox.files(), Words());
}

}  // namespace
}  // namespace divvy::test
