// Cards that a node's settings exclude, from the file to `divvy run`.
#include <gtest/gtest.h>
#include <signal.h>

#include <boost/json.hpp>
#include <filesystem>
#include <fstream>

#include "sandbox.h"

namespace divvy::test {
namespace {

namespace bj = boost::json;

constexpr const char* kCards = "h100x3";
constexpr const char* kNode = "sim-h100x3";

class ExcludedCardsTest : public ::testing::Test {
 protected:
  ~ExcludedCardsTest() override { std::filesystem::remove(file_); }

  void exclude(const std::string& which) const {
    std::ofstream(file_) << "settings:\n- nodes: ['*']\n  exclude: {indices: [" << which << "]}\n";
  }

  Child agent() {
    Child agent = sandbox_.start({"agent", "--node", kNode, "--node-settings", file_});
    EXPECT_TRUE(agent.complained("agent is ready "));
    return agent;
  }

  // Whoever holds a share begins an agent where there is none: that one is ended.
  Child nextAgent() {
    for (unsigned tries = 0; tries < 20; ++tries) {
      Child agent = sandbox_.start({"agent", "--node", kNode, "--node-settings", file_});
      if (agent.complained("agent is ready ")) return agent;
      const int other = sandbox_.agentPid();
      if (other > 0) kill(other, SIGTERM);
    }
    return agent();
  }

  static void end(Child& agent) {
    agent.signal(SIGTERM);
    EXPECT_EQ(agent.wait().code(), 0);
  }

  Child holder(unsigned gpus) {
    Child child = sandbox_.start({"run", "--sim", kCards, "--memory", "1Gi", "--gpus",
                                  std::to_string(gpus), "--", "sh", "-c", "echo up; read end"});
    EXPECT_TRUE(child.printed("up"));
    return child;
  }

  // "xx-": which cards of the node are excluded.
  std::string excluded() {
    std::string text;
    for (const agent::DeviceView& one : sandbox_.snapshot().devices)
      text += one.excluded ? 'x' : '-';
    return text;
  }

  Sandbox sandbox_{kNode};
  const std::string file_ = sandbox_.root() + "-settings.yaml";
};

TEST_F(ExcludedCardsTest, ExcludedDevices_NotAllocatedAndShown) {
  exclude("0, 2, 7");
  Child agent = this->agent();
  EXPECT_TRUE(agent.complained(R"(is not a device of this node device="index 7")"));
  EXPECT_EQ(excluded(), "x-x");
  const Outcome table = sandbox_.divvy({"gpus", "--sim", kCards});
  EXPECT_NE(table.out.find("NOTES"), std::string::npos) << table.out;
  EXPECT_NE(table.out.find("excluded"), std::string::npos) << table.out;
  const Outcome both =
      sandbox_.divvy({"run", "--sim", kCards, "--memory", "1Gi", "--gpus", "2", "--", "true"});
  EXPECT_NE(both.code(), 0);
  EXPECT_NE(both.err.find("is excluded on this node"), std::string::npos) << both.err;
  Child first = holder(1), second = holder(1);
  for (const agent::TenantView& tenant : sandbox_.snapshot().tenants) {
    ASSERT_EQ(tenant.shares.size(), 1u);
    EXPECT_EQ(tenant.shares[0].device, 1u);
  }
  first.closeInput();
  second.closeInput();
  EXPECT_TRUE(sandbox_.tenantCount(0));
  end(agent);
}

// Who holds something of a card when it is excluded keeps that, and gets no more.
TEST_F(ExcludedCardsTest, ExcludedWhileHeld_KeptButCannotGrow) {
  exclude("");
  Child before = agent();
  EXPECT_EQ(excluded(), "---");
  Child tenant = holder(3);
  const std::string id = sandbox_.snapshot().tenants.at(0).id;
  exclude("1");
  EXPECT_EQ(excluded(), "---") << "read when the agent starts";
  end(before);
  Child after = nextAgent();
  EXPECT_EQ(excluded(), "-x-");
  const agent::Snapshot now = sandbox_.snapshot();
  ASSERT_EQ(now.tenants.size(), 1u);
  EXPECT_EQ(now.tenants[0].state, "running");
  EXPECT_EQ(now.tenants[0].shares.size(), 3u);
  EXPECT_EQ(now.devices.at(1).tenants, 1u);
  const Outcome more = sandbox_.divvy({"resize", id, "--sim", kCards, "--memory", "2Gi"});
  EXPECT_NE(more.code(), 0);
  EXPECT_NE(more.err.find("is excluded on this node, its share cannot grow"), std::string::npos)
      << more.err;
  const Outcome less = sandbox_.divvy({"resize", id, "--sim", kCards, "--memory", "900Mi"});
  EXPECT_EQ(less.code(), 0) << less.err;
  tenant.closeInput();
  EXPECT_TRUE(sandbox_.tenantCount(0));
  end(after);
}

TEST_F(ExcludedCardsTest, UnknownKeys_NamedAndCounted) {
  std::ofstream(file_) << "settings:\n- nodes: ['*']\n  exclud: {indices: [0]}\n  colour: 1\n";
  Child agent = this->agent();
  EXPECT_TRUE(agent.complained(":3:3: \"exclud\" is unknown"));
  EXPECT_TRUE(agent.complained("2 keys are unknown or ignored"));
  EXPECT_EQ(excluded(), "---");
  end(agent);
}

TEST_F(ExcludedCardsTest, WrongSettingsFile_AgentDoesNotStart) {
  std::ofstream(file_) << "settings:\n- nodes: [elsewhere]\n  per_device: none\n";
  const Outcome wrong = sandbox_.divvy({"agent", "--node", kNode, "--node-settings", file_});
  EXPECT_EQ(wrong.code(), 2);
  EXPECT_NE(wrong.err.find(":3:15: \"none\"; accepted: a whole number from 1 to 100"),
            std::string::npos)
      << wrong.err;
  const Outcome gone = sandbox_.divvy({"agent", "--node-settings", file_ + ".none"});
  EXPECT_NE(gone.code(), 0);
  EXPECT_NE(gone.err.find("--node-settings: reading"), std::string::npos) << gone.err;
}

}  // namespace
}  // namespace divvy::test
