// The use of devices is read from the text that agents write.
#include "cluster_console/agent_usage.h"

#include <gtest/gtest.h>

#include "telemetry/metrics.h"

namespace divvy::cli {
namespace {

constexpr std::uint64_t kGib = 1ull << 30;

agent::MetricsInput sampleAgent() {
  agent::MetricsInput all;
  all.node = "worker-1";
  agent::DeviceView device;
  device.uuid = "GPU-a";
  device.physical = 80 * kGib;
  device.used = 7 * kGib;
  device.utilisation = 40;
  all.snapshot.devices.push_back(device);
  agent::TenantView tenant;
  tenant.id = "0123";
  tenant.idle_known = true;
  tenant.idle_s = 60;
  agent::ShareView share;
  share.uuid = "GPU-a";
  share.limit = 4 * kGib;
  share.used = 3 * kGib;
  share.resident = 2 * kGib;
  share.swapped = kGib;
  share.got_permille = 250;
  tenant.shares.push_back(share);
  all.snapshot.tenants.push_back(tenant);
  all.pods["0123"] = {"u-1", "lab", "p-0", "main"};
  return all;
}

TEST(AgentUsage, TextOfAnAgent_FiguresAreRead) {
  const AgentUsage use = agentUsageOf(agent::exposition(sampleAgent()));
  ASSERT_EQ(use.devices.size(), 1u);
  EXPECT_EQ(use.devices.at("GPU-a").memory_used, 7 * kGib);
  EXPECT_EQ(use.devices.at("GPU-a").utilisation_percent, 40);
  ASSERT_EQ(use.shares.size(), 2u);
  const console::ShareUse& share = use.shares.at({"lab", "p-0", "main", "GPU-a"});
  EXPECT_EQ(share.memory_used, 3 * kGib);
  EXPECT_EQ(share.memory_resident, 2 * kGib);
  EXPECT_EQ(share.memory_swapped, kGib);
  EXPECT_EQ(share.usage_permille, 250);
  EXPECT_EQ(use.shares.at({"lab", "p-0", "main", ""}).idle_ms, 60'000u);
}

// Regression: a busy share without neighbours had no use in the history.
TEST(AgentUsage, ShareAloneOnDevice_HasDriversFigure) {
  agent::MetricsInput all = sampleAgent();
  all.snapshot.tenants[0].shares[0].utilisation = 70;
  EXPECT_EQ(agentUsageOf(agent::exposition(all))
                .shares.at({"lab", "p-0", "main", "GPU-a"})
                .usage_permille,
            250)
      << "as charged";
  all.snapshot.tenants[0].shares[0].got_permille = -1;
  EXPECT_EQ(agentUsageOf(agent::exposition(all))
                .shares.at({"lab", "p-0", "main", "GPU-a"})
                .usage_permille,
            700);
}

TEST(AgentUsage, FigureIsUnknown_HasNoValue) {
  agent::MetricsInput all = sampleAgent();
  all.snapshot.devices[0].utilisation = -1;
  all.snapshot.tenants[0].shares[0].got_permille = -1;
  all.snapshot.tenants[0].idle_known = false;
  const AgentUsage use = agentUsageOf(agent::exposition(all));
  EXPECT_FALSE(use.devices.at("GPU-a").utilisation_percent);
  EXPECT_FALSE(use.shares.at({"lab", "p-0", "main", "GPU-a"}).usage_permille);
  EXPECT_FALSE(use.shares.contains({"lab", "p-0", "main", ""}));
}

TEST(AgentUsage, TenantWithoutPod_IsLeftOut) {
  agent::MetricsInput all = sampleAgent();
  all.pods.clear();
  EXPECT_TRUE(agentUsageOf(agent::exposition(all)).shares.empty());
}

TEST(AgentUsage, HostileAmounts_StayWithinBounds) {
  const AgentUsage use = agentUsageOf(
      "divvy_device_memory_used_bytes{device=\"a\"} 1e300\n"
      "divvy_device_memory_used_bytes{device=\"b\"} -5\n");
  EXPECT_EQ(use.devices.at("a").memory_used, 1'000'000'000'000'000'000u);
  EXPECT_EQ(use.devices.at("b").memory_used, 0u);
}

}  // namespace
}  // namespace divvy::cli
