// Use as agents report it, in the rows of a cluster.
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "sample_cluster.h"
#include "view/cluster_view.h"
#include "viewers/viewer_filter.h"

namespace divvy::console {
namespace {

namespace bj = boost::json;

constexpr const char* kFirst = "gpu-1/GPU-gpu-1-0";
constexpr const char* kSecond = "gpu-1/GPU-gpu-1-1";

// Both devices of the first node, and the share that is on both of them.
ClusterReading withAgent() {
  ClusterReading reading = sampleCluster();
  reading.agents = {1, 1, ""};
  reading.device_use[kFirst] = {gib(30).count, 60.0};
  reading.device_use[kSecond] = {gib(50).count, 0.0};
  reading.share_use[{"ml", "train-0", "main", "GPU-gpu-1-0"}] = {
      gib(10).count, gib(8).count, gib(2).count, 200.0, {}};
  reading.share_use[{"ml", "train-0", "main", "GPU-gpu-1-1"}] = {
      gib(20).count, gib(20).count, 0u, 300.0, {}};
  reading.share_use[{"ml", "train-0", "main", ""}].idle_ms = kIdleMs;
  return reading;
}

ConsoleView viewOf(ClusterReading reading) {
  numberWaiting(reading);
  return ClusterViewBuilder().build(reading, 1);
}

TEST(ClusterUse, AgentReports_SumsOverDevices) {
  const ConsoleView view = viewOf(withAgent());
  EXPECT_EQ(view.devices.at(kFirst)->at("memory_used_bytes"), gib(30).count);
  EXPECT_EQ(view.devices.at(kFirst)->at("utilisation_percent"), 60.0);
  const ListRow& share = *view.shares.at("ml/train-0/main");
  EXPECT_EQ(share.at("used_bytes"), gib(30).count);
  EXPECT_EQ(share.at("swapped_bytes"), gib(2).count);
  EXPECT_EQ(share.at("usage_permille"), 500.0);
  EXPECT_EQ(share.at("idle_ms"), kIdleMs);
  EXPECT_EQ(view.nodes.at("gpu-1")->at("memory_used_bytes"), gib(80).count);
}

TEST(ClusterUse, TurnAndReasons_Shown) {
  ClusterReading reading = withAgent();
  reading.device_use[kFirst].memory_swapped = gib(2).count;
  reading.device_use[kFirst].turn = "ml/train-0/main";
  ShareUse& use = reading.share_use[{"ml", "train-0", "main", ""}];
  use.slow = {"waits for kernels of lab/serve-1/main"};
  use.slow_unnamed = {"waits for kernels of another tenant"};
  const ConsoleView view = viewOf(reading);
  EXPECT_EQ(view.devices.at(kFirst)->at("turn_tenant"), "ml/train-0/main");
  EXPECT_EQ(view.devices.at(kFirst)->at("memory_swapped_bytes"), gib(2).count);
  EXPECT_TRUE(view.devices.at(kSecond)->at("turn_tenant").is_null());
  EXPECT_EQ(view.shares.at("ml/train-0/main")->at("slow_reasons"),
            bj::array{"waits for kernels of lab/serve-1/main"});
  ViewerScope scope;
  scope.nodes = true;
  scope.pods.names = {"ml"};
  const ConsoleView limited = viewOf(visiblePart(ReadingIndex(reading), scope));
  EXPECT_EQ(limited.devices.at(kFirst)->at("turn_tenant"), "ml/train-0/main");
  EXPECT_EQ(limited.shares.at("ml/train-0/main")->at("slow_reasons"),
            bj::array{"waits for kernels of another tenant"});
  scope.pods.names = {"lab"};
  EXPECT_TRUE(viewOf(visiblePart(ReadingIndex(reading), scope))
                  .devices.at(kFirst)
                  ->at("turn_tenant")
                  .is_null());
}

// Regression: after its start a console showed the sum of the first agents as that of all.
TEST(ClusterUse, AgentsNotAskedYet_SumsNotKnown) {
  ClusterReading reading = withAgent();
  const auto used = [](const ConsoleView& view) {
    return view.overview->at("funnel").at("compute").at("used_percent");
  };
  EXPECT_FALSE(used(viewOf(reading)).is_null());
  reading.agents.unasked = 1;
  EXPECT_TRUE(used(viewOf(reading)).is_null());
  ViewerScope scope;
  scope.pods.all = true;
  EXPECT_TRUE(used(viewOf(visiblePart(ReadingIndex(reading), scope))).is_null());
}

TEST(ClusterUse, NodeWithoutAgent_NotKnown) {
  const ConsoleView view = viewOf(withAgent());
  EXPECT_TRUE(view.nodes.at("gpu-2")->at("memory_used_bytes").is_null());
  EXPECT_TRUE(view.shares.at("ml/old/main")->at("used_bytes").is_null());
  EXPECT_TRUE(view.shares.at("lab/serve-1/main")->at("used_bytes").is_null());
}

TEST(ClusterUse, OneDeviceNotKnown_NoSumOfNodeAndShare) {
  ClusterReading reading = withAgent();
  reading.device_use.erase(kSecond);
  reading.share_use.erase({"ml", "train-0", "main", "GPU-gpu-1-1"});
  const ConsoleView view = viewOf(reading);
  EXPECT_TRUE(view.nodes.at("gpu-1")->at("memory_used_bytes").is_null());
  EXPECT_TRUE(view.shares.at("ml/train-0/main")->at("used_bytes").is_null());
  EXPECT_TRUE(view.shares.at("ml/train-0/main")->at("usage_permille").is_null());
}

TEST(ClusterUse, Overview_SumsOfWhatIsKnown) {
  const ConsoleView view = viewOf(withAgent());
  const bj::object& funnel = view.overview->at("funnel").as_object();
  EXPECT_EQ(funnel.at("memory").at("used_bytes"), gib(80).count);
  EXPECT_EQ(funnel.at("compute").at("used_percent"), 60.0);
  EXPECT_EQ(funnel.at("memory").at("idle_bytes"), gib(100).count);
}

TEST(ClusterUse, AgentsSilent_OneSourceAndFinding) {
  ClusterReading reading = withAgent();
  reading.agents = {3, 1, "gpu-2: 503 ServiceUnavailable"};
  const ConsoleView view = viewOf(reading);
  EXPECT_EQ(view.sources.back().node, "agents");
  EXPECT_EQ(view.sources.back().failure,
            "2 of 3 agents do not answer, such as gpu-2: 503 ServiceUnavailable");
  // Allocation is still up to date.
  EXPECT_EQ(view.data_ms, 1);
  bool found = false;
  for (const bj::value& one : view.overview->at("attention").get_array())
    found = found || one.at("code") == "agent-unreachable";
  EXPECT_TRUE(found);
}

}  // namespace
}  // namespace divvy::console
