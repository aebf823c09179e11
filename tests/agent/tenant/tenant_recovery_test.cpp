// What a new agent makes of what it finds: broken, older, half-made, stale.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>

#include "sandbox.h"

namespace divvy::test {
namespace {

namespace fs = std::filesystem;
using Damage = std::function<void(const std::string& dir)>;

// Changes bytes of a file that others have mapped, by putting another file in its place.
void rewrite(const std::string& path, const std::function<void(std::string&)>& edit) {
  std::ifstream in(path, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(in), {}};
  edit(bytes);
  std::ofstream(path + ".edited", std::ios::binary) << bytes;
  fs::rename(path + ".edited", path);
}

class TenantRecoveryTest : public ::testing::Test {
 protected:
  // A tenant lives, its agent is killed, its files are damaged, then a new agent comes.
  void damageAndReturn(const Damage& damage) {
    ASSERT_TRUE(run_.printed("held 1048576"));
    before_ = sandbox_.snapshot();
    run_.signal(SIGSTOP);
    kill(before_.agent_pid, SIGKILL);
    ASSERT_TRUE(eventually([&] { return sandbox_.agentPid() == 0; }));
    damage(sandbox_.tenants() + "/" + before_.tenants.at(0).id);
    run_.signal(SIGCONT);
    ASSERT_TRUE(eventually([&] { return sandbox_.agentPid() != 0; }));
    after_ = sandbox_.snapshot();
  }

  void expectKeptAsBroken(const std::string& why) {
    ASSERT_EQ(after_.tenants.size(), 1u);
    EXPECT_EQ(after_.tenants[0].state, "broken");
    EXPECT_NE(after_.tenants[0].note.find(why), std::string::npos) << after_.tenants[0].note;
    EXPECT_NE(sandbox_.agentLog().find("its share is kept while its processes run"),
              std::string::npos);
    EXPECT_EQ(after_.devices.at(0).allocated, gib(4).count);
    // Nobody gets what it holds, the rest is to be had.
    EXPECT_EQ(sandbox_.divvy(sandbox_.runWords("76Gi", {"true"})).code(), 1);
    EXPECT_EQ(sandbox_.divvy(sandbox_.runWords("70Gi", {"true"})).code(), 0);
    const Outcome refused = sandbox_.divvy({"resize", after_.tenants[0].id, "--memory", "1Gi"});
    EXPECT_EQ(refused.code(), 1);
    EXPECT_NE(refused.err.find("broken"), std::string::npos) << refused.err;
  }

  void expectGoneWithItsProcesses() {
    run_.closeInput();
    run_.wait();
    EXPECT_TRUE(sandbox_.tenantCount(0));
    EXPECT_TRUE(fs::is_empty(sandbox_.tenants()));
  }

  Sandbox sandbox_;
  Child run_ = sandbox_.run("4Gi", {tenantProgram(), "1048576"});
  agent::Snapshot before_;
  agent::Snapshot after_;
};

TEST_F(TenantRecoveryTest, ForeignControlPage_KeptAsBroken) {
  damageAndReturn([](const std::string& dir) {
    rewrite(dir + "/control", [](std::string& bytes) { bytes[0] = 'x'; });
  });
  expectKeptAsBroken("not a ledger file");
  expectGoneWithItsProcesses();
}

TEST_F(TenantRecoveryTest, ControlPageCutShort_KeptAsBroken) {
  damageAndReturn([](const std::string& dir) {
    rewrite(dir + "/control", [](std::string& bytes) { bytes.resize(100); });
  });
  expectKeptAsBroken("control");
  expectGoneWithItsProcesses();
}

// The major version is the 16-bit word at offset 8.
TEST_F(TenantRecoveryTest, LaterControlVersion_KeptAsBroken) {
  damageAndReturn([](const std::string& dir) {
    rewrite(dir + "/control", [](std::string& bytes) { bytes[8] = 2; });
  });
  expectKeptAsBroken("version");
  expectGoneWithItsProcesses();
}

TEST_F(TenantRecoveryTest, OlderControlVersion_KeptAsBroken) {
  damageAndReturn([](const std::string& dir) {
    rewrite(dir + "/control", [](std::string& bytes) { bytes[8] = 0; });
  });
  expectKeptAsBroken("version");
  expectGoneWithItsProcesses();
}

TEST_F(TenantRecoveryTest, MissingReport_KeptAsBroken) {
  damageAndReturn([](const std::string& dir) { fs::remove(dir + "/report"); });
  expectKeptAsBroken("report");
  expectGoneWithItsProcesses();
}

TEST_F(TenantRecoveryTest, FifoAsReport_KeptAsBroken) {
  damageAndReturn([](const std::string& dir) {
    fs::remove(dir + "/report");
    ASSERT_EQ(mkfifo((dir + "/report").c_str(), 0600), 0);
  });
  expectKeptAsBroken("report");
  expectGoneWithItsProcesses();
}

TEST_F(TenantRecoveryTest, LostRecord_ReadFromControlPage) {
  damageAndReturn(
      [](const std::string& dir) { std::ofstream(dir + "/tenant.json") << "{\"version\":"; });
  ASSERT_EQ(after_.tenants.size(), 1u);
  EXPECT_EQ(after_.tenants[0].shares.at(0).limit, gib(4).count);
  EXPECT_EQ(after_.tenants[0].shares.at(0).used, 1048576u);
  EXPECT_NE(sandbox_.agentLog().find("the record of a tenant is lost"), std::string::npos);
  expectGoneWithItsProcesses();
}

TEST_F(TenantRecoveryTest, EmptyDirectory_KeptAsBroken) {
  damageAndReturn([](const std::string& dir) {
    for (const char* name : {"/control", "/report", "/tenant.json"}) fs::remove(dir + name);
  });
  ASSERT_EQ(after_.tenants.size(), 1u);
  EXPECT_EQ(after_.tenants[0].state, "broken");
  expectGoneWithItsProcesses();
}

TEST_F(TenantRecoveryTest, HostileReport_UseIsBounded) {
  damageAndReturn([](const std::string& dir) {
    rewrite(dir + "/report", [](std::string& bytes) {
      for (std::size_t at = 4096; at < bytes.size(); ++at) bytes[at] = static_cast<char>(0xff);
    });
  });
  ASSERT_EQ(after_.tenants.size(), 1u);
  EXPECT_NE(after_.tenants[0].note.find("report: "), std::string::npos) << after_.tenants[0].note;
  EXPECT_LE(after_.tenants[0].shares.at(0).used, after_.devices.at(0).physical);
  expectGoneWithItsProcesses();
}

TEST_F(TenantRecoveryTest, ChangedLimits_SurviveAgent) {
  ASSERT_TRUE(run_.printed("held 1048576"));
  ASSERT_EQ(sandbox_
                .divvy({"resize", sandbox_.snapshot().tenants.at(0).id, "--memory", "9Gi",
                        "--cores", "20"})
                .code(),
            0);
  damageAndReturn([](const std::string&) {});
  ASSERT_EQ(after_.tenants.size(), 1u);
  EXPECT_EQ(after_.tenants[0].shares.at(0).limit, gib(9).count);
  EXPECT_EQ(after_.tenants[0].shares.at(0).cores, 20u);
  expectGoneWithItsProcesses();
}

TEST_F(TenantRecoveryTest, ComputeSettings_SurviveAgent) {
  ASSERT_TRUE(run_.printed("held 1048576"));
  const std::string id = sandbox_.snapshot().tenants.at(0).id;
  ASSERT_EQ(
      sandbox_.divvy({"resize", id, "--cores", "20", "--cores-policy", "cap", "--priority", "high"})
          .code(),
      0);
  damageAndReturn([](const std::string&) {});
  ASSERT_EQ(after_.tenants.size(), 1u);
  EXPECT_EQ(after_.tenants[0].cores_policy, "cap");
  EXPECT_EQ(after_.tenants[0].priority, "high");
  expectGoneWithItsProcesses();
}

TEST_F(TenantRecoveryTest, LostRecord_CapReadFromPages) {
  ASSERT_TRUE(run_.printed("held 1048576"));
  const std::string id = sandbox_.snapshot().tenants.at(0).id;
  ASSERT_EQ(sandbox_.divvy({"resize", id, "--cores", "20", "--cores-policy", "cap"}).code(), 0);
  damageAndReturn([](const std::string& dir) { fs::remove(dir + "/tenant.json"); });
  ASSERT_EQ(after_.tenants.size(), 1u);
  EXPECT_EQ(after_.tenants[0].cores_policy, "cap");
  EXPECT_EQ(after_.tenants[0].shares.at(0).cores, 20u);
  expectGoneWithItsProcesses();
}

// As an agent of an earlier version would have left it.
TEST_F(TenantRecoveryTest, MissingWorkFile_TenantIsUngated) {
  damageAndReturn([](const std::string& dir) { fs::remove(dir + "/work"); });
  ASSERT_EQ(after_.tenants.size(), 1u);
  EXPECT_EQ(after_.tenants[0].state, "running");
  EXPECT_EQ(after_.tenants[0].mode, "ungated");
  EXPECT_NE(after_.tenants[0].note.find("compute is not shared"), std::string::npos);
  expectGoneWithItsProcesses();
}

TEST(TenantRecovery, HalfMadeAndDeadTenants_AreRemoved) {
  Sandbox sandbox;
  ASSERT_EQ(sandbox.divvy(sandbox.runWords("1Gi", {"true"})).code(), 0);
  kill(sandbox.agentPid(), SIGKILL);
  ASSERT_TRUE(eventually([&] { return sandbox.agentPid() == 0; }));
  fs::create_directories(sandbox.tenants() + "/.new-half");
  fs::create_directories(sandbox.tenants() + "/dead23");
  std::ofstream(sandbox.tenants() + "/dead23/control") << "rubbish";
  ASSERT_EQ(sandbox.divvy(sandbox.runWords("1Gi", {"true"})).code(), 0);
  EXPECT_TRUE(sandbox.tenantCount(0));
  EXPECT_TRUE(fs::is_empty(sandbox.tenants()));
}

// Taken for "no tenants", it would be cleaned up with all that lives in it.
TEST(TenantRecovery, UnlistableTenants_AgentStopsAndKeepsThem) {
  Sandbox sandbox;
  ASSERT_EQ(sandbox.divvy(sandbox.runWords("1Gi", {"true"})).code(), 0);
  kill(sandbox.agentPid(), SIGKILL);
  ASSERT_TRUE(eventually([&] { return sandbox.agentPid() == 0; }));
  fs::remove_all(sandbox.tenants());
  std::ofstream(sandbox.tenants()) << "not a directory";
  const Outcome outcome = sandbox.divvy(sandbox.runWords("1Gi", {"true"}));
  EXPECT_EQ(outcome.code(), 1);
  EXPECT_NE(outcome.err.find("listing " + sandbox.tenants()), std::string::npos) << outcome.err;
  for (const Words& words : {Words{"wait", "--all"}, Words{"ls"}, Words{"stop"}}) {
    EXPECT_EQ(sandbox.divvy(words).code(), 1) << words[0];
  }
  EXPECT_TRUE(fs::exists(sandbox.tenants()));
  fs::remove(sandbox.tenants());
  EXPECT_EQ(sandbox.divvy(sandbox.runWords("1Gi", {"true"})).code(), 0);
}

}  // namespace
}  // namespace divvy::test
