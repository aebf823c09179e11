// The use of shares and devices from an agent's state.
#include "cluster_console/agent_snapshot.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>

namespace divvy::cli {
namespace {

agent::TenantView tenantOf(const std::string& namespace_name, const std::string& pod) {
  agent::TenantView tenant;
  tenant.id = "id-of-" + pod;
  tenant.namespace_name = namespace_name;
  tenant.pod = pod;
  tenant.container = "main";
  tenant.command = {"secret-of-" + pod};
  agent::ShareView share;
  share.uuid = "GPU-a";
  share.used = 300;
  share.resident = 200;
  share.swapped = 100;
  share.got_permille = 250;
  tenant.shares.push_back(share);
  return tenant;
}

agent::Snapshot nodeOf(std::vector<agent::TenantView> tenants) {
  agent::Snapshot node;
  node.node = "gpu-1";
  agent::DeviceView device;
  device.uuid = "GPU-a";
  device.used = 4096;
  device.utilisation = 70;
  node.devices.push_back(device);
  node.tenants = std::move(tenants);
  return node;
}

const console::ShareUse& wholeOf(const AgentUsage& use, const std::string& space,
                                 const std::string& pod) {
  return use.shares.at({space, pod, "main", ""});
}

TEST(AgentSnapshot, Figures_BySharesAndDevices) {
  agent::TenantView tenant = tenantOf("lab", "a");
  tenant.idle_known = true;
  tenant.idle_s = 5;
  const AgentUsage use = usageOf(nodeOf({tenant}));
  const console::DeviceUse& device = use.devices.at("GPU-a");
  EXPECT_EQ(device.memory_used, 4096u);
  EXPECT_EQ(device.utilisation_percent, 70.0);
  EXPECT_EQ(device.memory_swapped, 100u);
  EXPECT_EQ(device.turn, "");
  const console::ShareUse& share = use.shares.at({"lab", "a", "main", "GPU-a"});
  EXPECT_EQ(share.memory_used, 300u);
  EXPECT_EQ(share.memory_resident, 200u);
  EXPECT_EQ(share.memory_swapped, 100u);
  EXPECT_EQ(share.usage_permille, 250.0);
  EXPECT_EQ(wholeOf(use, "lab", "a").idle_ms, 5000u);
  EXPECT_TRUE(wholeOf(use, "lab", "a").slow->empty()) << "known, and not slow";
}

TEST(AgentSnapshot, UnknownFigures_AreAbsent) {
  agent::TenantView tenant = tenantOf("lab", "a");
  tenant.shares[0].got_permille = -1;
  agent::Snapshot node = nodeOf({tenant});
  node.devices[0].utilisation = -1;
  const AgentUsage use = usageOf(node);
  EXPECT_FALSE(use.devices.at("GPU-a").utilisation_percent);
  EXPECT_FALSE(use.shares.at({"lab", "a", "main", "GPU-a"}).usage_permille);
  EXPECT_FALSE(wholeOf(use, "lab", "a").idle_ms);
}

TEST(AgentSnapshot, TenantWithoutPod_LeftOut) {
  agent::TenantView tenant = tenantOf("", "");
  tenant.turn_left_ms = 5;
  const AgentUsage use = usageOf(nodeOf({tenant}));
  EXPECT_TRUE(use.shares.empty());
  EXPECT_EQ(use.devices.at("GPU-a").turn, "");
  EXPECT_EQ(use.devices.at("GPU-a").memory_swapped, 100u);
}

// Viewers of one namespace get the second list.
TEST(AgentSnapshot, SlowReasons_NameOthersOnlyInFirstList) {
  agent::TenantView paused = tenantOf("lab", "sleeper");
  paused.memory = "waiting";
  paused.memory_reason = "higher-class";
  paused.lent_to = "id-of-urgent";
  agent::TenantView urgent = tenantOf("zoo", "urgent");
  urgent.priority = "high";
  urgent.turn_left_ms = 900;
  urgent.longest_us = 90'000;
  paused.throttled_permille = 500;
  agent::TenantView held = tenantOf("ml", "blocked");
  held.throttled_permille = 600;
  const AgentUsage use = usageOf(nodeOf({paused, urgent, held}));
  EXPECT_EQ(use.devices.at("GPU-a").turn, "zoo/urgent/main");
  const auto all = [](const std::vector<std::string>& reasons) {
    std::string text;
    for (const std::string& reason : reasons) text += reason + '\n';
    return text;
  };
  for (const auto& [space, pod] : {std::pair("lab", "sleeper"), std::pair("ml", "blocked")}) {
    const console::ShareUse& share = wholeOf(use, space, pod);
    ASSERT_TRUE(share.slow);
    EXPECT_NE(all(*share.slow).find("zoo/urgent/main"), std::string::npos) << all(*share.slow);
    EXPECT_EQ(share.slow_unnamed.size(), share.slow->size());
    const std::string unnamed = all(share.slow_unnamed);
    EXPECT_NE(unnamed.find("another tenant"), std::string::npos) << unnamed;
    for (const char* name : {"urgent", "zoo", "blocked", "sleeper", "id-of", "secret"})
      EXPECT_EQ(unnamed.find(name), std::string::npos) << unnamed;
  }
}

TEST(AgentSnapshot, Answer_ReadAsState) {
  const std::string text =
      agent::encode(agent::Reply(agent::SnapshotReply{nodeOf({tenantOf("lab", "a")})}));
  const Result<AgentUsage> use = agentUsageOfSnapshot(text);
  ASSERT_TRUE(use) << use.error().message();
  EXPECT_EQ(use->shares.size(), 2u);
  for (const std::string& wrong : {std::string("{}"), std::string("404 page not found"),
                                   agent::encode(agent::Reply(agent::DoneReply{}))})
    EXPECT_FALSE(agentUsageOfSnapshot(wrong)) << wrong;
}

}  // namespace
}  // namespace divvy::cli
