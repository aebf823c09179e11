// The metrics of agents, through an API server.
#include "cluster_console/agent_scraper.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "../fake_cluster.h"
#include "agent/protocol.h"

namespace divvy::cli {
namespace {

using test::FakeCluster;

constexpr std::chrono::seconds kPatience{20};
constexpr const char* kMetrics =
    "divvy_device_memory_used_bytes{node=\"gpu-1\",device=\"GPU-a\"} 4096\n"
    "divvy_tenant_memory_used_bytes{tenant=\"t\",device=\"GPU-a\",namespace=\"lab\",pod=\"p\","
    "container=\"main\"} 1024\n";

// Returns the reading after all of `agents` have been asked.
console::ClusterReading scraped(const FakeCluster& api, const std::vector<AgentPod>& agents) {
  ConnectionOptions connection;
  connection.kubeconfig = api.kubeconfig();
  AgentScraper scraper(connection, [agents] { return agents; });
  console::ClusterReading reading;
  for (const auto until = std::chrono::steady_clock::now() + kPatience;
       reading.agents.known < agents.size() && std::chrono::steady_clock::now() < until;) {
    reading = {};
    scraper.addTo(&reading);
    std::this_thread::yield();
  }
  return reading;
}

TEST(AgentScraper, TwoAgents_OneAnswers) {
  const FakeCluster api(
      {{"/api/v1/namespaces/divvy-system/pods/agent-1:9400/proxy/metrics", {200, kMetrics}}});
  const console::ClusterReading reading = scraped(
      api,
      {{"divvy-system", "agent-1", "gpu-1", 9400}, {"divvy-system", "agent-2", "gpu-2", 9400}});
  EXPECT_EQ(reading.agents.known, 2u);
  EXPECT_EQ(reading.agents.answering, 1u);
  EXPECT_EQ(reading.agents.failure.find("gpu-2: 404"), 0u) << reading.agents.failure;
  ASSERT_EQ(reading.device_use.size(), 1u);
  EXPECT_EQ(reading.device_use.at("gpu-1/GPU-a").memory_used, 4096u);
  EXPECT_EQ(reading.share_use.at({"lab", "p", "main", "GPU-a"}).memory_used, 1024u);
}

TEST(AgentScraper, AgentWithState_MetricsNotAsked) {
  agent::Snapshot node;
  node.devices.emplace_back().uuid = "GPU-a";
  node.devices.back().used = 8192;
  const FakeCluster api({{"/api/v1/namespaces/divvy-system/pods/agent-1:9400/proxy/v1/snapshot",
                          {200, agent::encode(agent::Reply(agent::SnapshotReply{node}))}}});
  const console::ClusterReading reading =
      scraped(api, {{"divvy-system", "agent-1", "gpu-1", 9400}});
  EXPECT_EQ(reading.agents.answering, 1u) << reading.agents.failure;
  EXPECT_EQ(reading.device_use.at("gpu-1/GPU-a").memory_used, 8192u);
}

TEST(AgentScraper, NoAgents_NothingAdded) {
  const FakeCluster api({});
  const console::ClusterReading reading = scraped(api, {});
  EXPECT_EQ(reading.agents.known, 0u);
  EXPECT_TRUE(reading.device_use.empty());
}

}  // namespace
}  // namespace divvy::cli
