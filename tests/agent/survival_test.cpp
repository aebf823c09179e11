// Who keeps a share alive, whatever is killed.
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>

#include "sandbox.h"

namespace divvy::test {
namespace {

// A daemon: orphan, own session, nothing of the terminal; marked for processesWith.
Words daemonOf(const std::string& mark) {
  return {"sh", "-c",
          "setsid sh -c 'echo up; exec sleep 100000" + mark + " </dev/null >/dev/null 2>&1' &"};
}

std::string markOf(const Sandbox& sandbox) {
  std::string mark;
  for (const char c : sandbox.root()) mark += std::to_string(static_cast<unsigned char>(c));
  return mark.substr(0, 12);
}

// Two tenant processes: one that holds 3 GiB, and one that holds 1 MiB and listens.
Words twoHolders() {
  const char* script = "exec 3<&0; \"$0\" 3221225472 <&3 & exec \"$0\" 1048576";
  return {"sh", "-c", script, tenantProgram()};
}

void killAll(const std::vector<int>& pids) {
  for (const int pid : pids) kill(pid, SIGKILL);
}

// The daemon, once it has become what it is to be.
std::vector<int> sleepers(const std::string& mark) {
  std::vector<int> found;
  EXPECT_TRUE(eventually([&] { return !(found = processesWith("100000" + mark)).empty(); }));
  return found;
}

TEST(TenantLifetime, DoubleForkSetsid_ShareKeptUntilExit) {
  Sandbox sandbox;
  Child run = sandbox.run("4Gi", daemonOf(markOf(sandbox)));
  ASSERT_TRUE(run.printed("up"));
  ASSERT_EQ(sandbox.snapshot().tenants.size(), 1u);
  EXPECT_FALSE(run.ended());
  killAll(sleepers(markOf(sandbox)));
  EXPECT_EQ(run.wait().code(), 0);
  EXPECT_TRUE(sandbox.snapshot().tenants.empty());
}

TEST(TenantLifetime, RunEnded_ShareIsFreeAtOnce) {
  Sandbox sandbox;
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(sandbox.divvy(sandbox.runWords("60Gi", {"true"})).code(), 0);
    EXPECT_TRUE(sandbox.snapshot().tenants.empty());
  }
}

TEST(TenantLifetime, RunKilled_ShareStaysWithSurvivors) {
  Sandbox sandbox;
  Child run = sandbox.run("4Gi", daemonOf(markOf(sandbox)));
  ASSERT_TRUE(run.printed("up"));
  run.signal(SIGKILL);
  run.wait();
  ASSERT_TRUE(eventually([&] {
    const agent::Snapshot now = sandbox.snapshot();
    return now.tenants.size() == 1 && now.tenants[0].state == "orphaned";
  }));
  killAll(sleepers(markOf(sandbox)));
  EXPECT_TRUE(sandbox.tenantCount(0));
}

TEST(TenantLifetime, RunKilledWithoutSurvivors_ShareIsFreed) {
  Sandbox sandbox;
  Child run = sandbox.run("4Gi", {"sh", "-c", "echo up; read end"});
  ASSERT_TRUE(run.printed("up"));
  run.signal(SIGKILL);
  run.wait();  // closes the command's input: it ends, too
  EXPECT_TRUE(sandbox.tenantCount(0));
}

TEST(TenantLifetime, CleanedEnvironment_ProcessKnownByPidfd) {
  Sandbox sandbox;
  const std::string script = "exec 3<&0; env -i \"$0\" --dir \"$DIVVY_TENANT_DIR\" 1048576 <&3 &";
  Child run = sandbox.run("4Gi", {"sh", "-c", script, tenantProgram()});
  ASSERT_TRUE(run.printed("held 1048576"));
  ASSERT_TRUE(eventually([&] { return sandbox.snapshot().tenants.at(0).processes == 1; }));
  run.signal(SIGKILL);
  ASSERT_TRUE(eventually([&] { return run.ended(); }));
  ASSERT_TRUE(eventually([&] {
    const agent::Snapshot now = sandbox.snapshot();
    return now.tenants.size() == 1 && now.tenants[0].state == "orphaned";
  }));
  // Long enough for both looks at the environments.
  EXPECT_FALSE(eventually([&] { return sandbox.snapshot().tenants.empty(); },
                          std::chrono::milliseconds(500)));
  run.closeInput();
  EXPECT_TRUE(sandbox.tenantCount(0));
}

TEST(TenantLifetime, PythonCloseFds_ProcessIsCounted) {
  Sandbox sandbox;
  const std::string script =
      "import subprocess, sys\n"
      "child = subprocess.Popen([sys.argv[1], '1048576'], close_fds=True, start_new_session=True)\n"
      "child.wait()\n";
  Child run = sandbox.run("4Gi", {"python3", "-c", script, tenantProgram()});
  ASSERT_TRUE(run.printed("held 1048576"));
  ASSERT_TRUE(eventually([&] { return sandbox.snapshot().tenants.at(0).processes == 1; }));
  EXPECT_EQ(sandbox.snapshot().tenants.at(0).shares.at(0).used, 1048576u);
  run.closeInput();
  EXPECT_EQ(run.wait().code(), 0);
  EXPECT_TRUE(sandbox.snapshot().tenants.empty());
}

TEST(TenantLifetime, ProcessKilled_ItsBytesAreFreed) {
  Sandbox sandbox;
  Child run = sandbox.run("4Gi", twoHolders());
  ASSERT_TRUE(run.printed("held 3221225472"));
  ASSERT_TRUE(run.printed("held 1048576"));
  ASSERT_TRUE(eventually([&] { return sandbox.snapshot().tenants.at(0).processes >= 1; }));
  killAll(processesWith("3221225472"));
  EXPECT_TRUE(
      eventually([&] { return sandbox.snapshot().tenants.at(0).shares.at(0).used == 1048576; }));
}

TEST(TenantLifetime, AgentKilled_NextOneTakesTenantOver) {
  Sandbox sandbox;
  Child run = sandbox.run("4Gi", {tenantProgram(), "1048576"});
  ASSERT_TRUE(run.printed("held 1048576"));
  const agent::Snapshot before = sandbox.snapshot();
  kill(before.agent_pid, SIGKILL);
  ASSERT_TRUE(eventually([&] {
    const int pid = sandbox.agentPid();
    return pid != 0 && pid != before.agent_pid;
  }));
  const agent::Snapshot after = sandbox.snapshot();
  ASSERT_EQ(after.tenants.size(), 1u);
  EXPECT_EQ(after.tenants[0].id, before.tenants[0].id);
  EXPECT_EQ(after.tenants[0].state, "running");
  EXPECT_EQ(after.tenants[0].shares.at(0).used, 1048576u);
  run.say("reserve 4096\n");
  ASSERT_TRUE(run.printed("held 4096"));
  run.closeInput();
  EXPECT_EQ(run.wait().code(), 0);
  EXPECT_TRUE(sandbox.snapshot().tenants.empty());
}

// The bytes of who died while nobody watched are found by the next agent.
TEST(TenantLifetime, DiedWithoutAgent_BytesAreReaped) {
  Sandbox sandbox;
  Child run = sandbox.run("4Gi", twoHolders());
  ASSERT_TRUE(run.printed("held 3221225472"));
  ASSERT_TRUE(run.printed("held 1048576"));
  run.signal(SIGSTOP);  // it must not start another agent yet
  const int agent = sandbox.agentPid();
  kill(agent, SIGKILL);
  killAll(processesWith("3221225472"));
  ASSERT_TRUE(eventually([&] { return sandbox.agentPid() == 0; }));
  run.signal(SIGCONT);
  EXPECT_TRUE(eventually([&] {
    const agent::Snapshot now = sandbox.snapshot();
    return now.agent_pid != 0 && now.tenants.size() == 1 &&
           now.tenants[0].shares.at(0).used == 1048576;
  }));
}

TEST(TenantLifetime, RunAndAgentKilled_ShareIsKept) {
  Sandbox sandbox;
  Child run = sandbox.run("60Gi", daemonOf(markOf(sandbox)));
  ASSERT_TRUE(run.printed("up"));
  const agent::Snapshot before = sandbox.snapshot();
  run.signal(SIGSTOP);
  kill(before.agent_pid, SIGKILL);
  run.signal(SIGKILL);
  run.wait();
  // The survivor still holds its 60 GiB: the next agent must know.
  const Outcome refused = sandbox.divvy(sandbox.runWords("30Gi", {"true"}));
  EXPECT_EQ(refused.code(), 1) << refused.err;
  ASSERT_EQ(sandbox.snapshot().tenants.size(), 1u);
  EXPECT_EQ(sandbox.snapshot().tenants[0].id, before.tenants[0].id);
  killAll(sleepers(markOf(sandbox)));
  EXPECT_TRUE(sandbox.tenantCount(0));
  EXPECT_EQ(sandbox.divvy(sandbox.runWords("30Gi", {"true"})).code(), 0);
}

TEST(TenantLifetime, AgentKilled_ListShowsOrphan) {
  Sandbox sandbox;
  Child run = sandbox.run("4Gi", daemonOf(markOf(sandbox)));
  ASSERT_TRUE(run.printed("up"));
  run.signal(SIGSTOP);
  kill(sandbox.agentPid(), SIGKILL);
  run.signal(SIGKILL);
  run.wait();
  EXPECT_NE(sandbox.divvy({"ls"}).out.find("orphaned"), std::string::npos);
  killAll(sleepers(markOf(sandbox)));
  EXPECT_TRUE(sandbox.tenantCount(0));
}

TEST(TenantLifetime, RunOutlivesAgent_ShareIsFreed) {
  Sandbox sandbox;
  Child run = sandbox.run("4Gi", {"sh", "-c", "echo up; read end; exit 5"});
  ASSERT_TRUE(run.printed("up"));
  run.signal(SIGSTOP);
  kill(sandbox.agentPid(), SIGKILL);
  run.closeInput();
  run.signal(SIGCONT);
  EXPECT_EQ(run.wait().code(), 5);
  EXPECT_TRUE(sandbox.tenantCount(0));
}

}  // namespace
}  // namespace divvy::test
