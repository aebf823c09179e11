// The view of a cluster: what its lists have in common, and the overview.
#include "view/cluster_view.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include <boost/json.hpp>

#include "rows/cluster_rows.h"
#include "sample_cluster.h"
#include "viewers/viewer_filter.h"

namespace divvy::console {
namespace {

namespace bj = boost::json;

ConsoleView viewOf(ClusterReading reading) {
  numberWaiting(reading);
  return ClusterViewBuilder().build(reading, 1);
}

std::uint64_t sumOf(const SharedRows& rows, const char* member) {
  std::uint64_t sum = 0;
  for (const auto& [id, row] : rows) sum += row->at(member).to_number<std::uint64_t>();
  return sum;
}

// In thousandths, so that sums are exact.
std::int64_t milliOf(const SharedRows& rows, const char* member) {
  double sum = 0;
  for (const auto& [id, row] : rows) sum += row->at(member).to_number<double>();
  return static_cast<std::int64_t>(sum * 10 + 0.5);
}

std::multiset<std::string> codesOf(const Row& overview) {
  std::multiset<std::string> codes;
  for (const bj::value& one : overview.at("attention").get_array())
    codes.emplace(one.at("code").as_string());
  return codes;
}

// Waits behind others of its queue.
ClusterPodView waitingPod(const std::string& name, const std::string& queue,
                          std::int64_t priority = 0, std::int64_t created_ms = 1) {
  ClusterPodView pod = clusterPod("lab", name, ClusterPodState::kWaiting);
  pod.queue = queue;
  pod.priority = priority;
  pod.created_ms = created_ms;
  return pod;
}

ClusterReading randomCluster(unsigned seed) {
  std::mt19937 random(seed);
  const auto upTo = [&](unsigned most) { return static_cast<unsigned>(random() % (most + 1)); };
  ClusterReading reading;
  reading.collections = readCollections();
  const unsigned pools = 1 + upTo(2);
  for (unsigned pool = 0; pool < pools; ++pool)
    reading.pools.push_back({"pool-" + std::to_string(pool), {}});
  for (unsigned node = 0; node <= upTo(4); ++node) {
    const std::string name = "gpu-" + std::to_string(node);
    reading.nodes.push_back({name, static_cast<ClusterNodeState>(upTo(3)), "a reason"});
    for (unsigned index = 0; index <= upTo(3); ++index) {
      reading.devices.push_back(clusterDevice(name, index));
      reading.devices.back().pool = "pool-" + std::to_string(upTo(pools - 1));
      reading.devices.back().healthy = upTo(5) != 0;
    }
  }
  for (unsigned index = 0; index < upTo(12); ++index) {
    const bool waits = upTo(2) == 0;
    ClusterPodView pod =
        clusterPod("ns-" + std::to_string(upTo(2)), "pod-" + std::to_string(index),
                   waits ? ClusterPodState::kWaiting : static_cast<ClusterPodState>(1 + upTo(3)));
    pod.team = "team-" + std::to_string(upTo(2));
    pod.owner = upTo(1) == 0 ? "" : "Job/job-" + std::to_string(upTo(2));
    pod.served_model = upTo(1) == 0 ? "" : "model-" + std::to_string(upTo(1));
    pod.waiting = static_cast<WaitingKind>(upTo(4));
    pod.containers = {"init", "main"};
    pod.images = {"init:1", "main:2"};
    const unsigned place = upTo(static_cast<unsigned>(reading.devices.size()) - 1);
    for (unsigned part = 0; !waits && part <= upTo(2); ++part) {
      // All parts of a pod are on one node.
      const std::string& node = reading.devices[place].node;
      unsigned device = place;
      if (place > 0 && reading.devices[place - 1].node == node) device -= upTo(1);
      giveShare(reading, pod, device, upTo(80), static_cast<std::int32_t>(upTo(1000)), upTo(1));
    }
    reading.pods.push_back(std::move(pod));
  }
  return reading;
}

TEST(ClusterView, RandomReadings_SumsOfAllListsAgree) {
  for (unsigned seed = 1; seed <= 300; ++seed) {
    const ClusterReading reading = randomCluster(seed);
    const ConsoleView view = viewOf(reading);
    const std::uint64_t memory = sumOf(view.shares, "limit_bytes");
    const std::int64_t compute = milliOf(view.shares, "cores_percent");
    for (const SharedRows* list :
         {&view.devices, &view.nodes, &view.pools, &view.teams, &view.workloads}) {
      EXPECT_EQ(sumOf(*list, "memory_limits_bytes"), memory) << "seed " << seed;
      EXPECT_EQ(milliOf(*list, "compute_requested_percent"), compute) << "seed " << seed;
    }
    for (const SharedRows* list : {&view.nodes, &view.teams, &view.workloads})
      EXPECT_EQ(sumOf(*list, "shares"), view.shares.size()) << "seed " << seed;
    for (const SharedRows* list : {&view.teams, &view.workloads})
      EXPECT_EQ(sumOf(*list, "waiting"), view.waiting.size()) << "seed " << seed;
    for (const SharedRows* list : {&view.nodes, &view.pools})
      EXPECT_EQ(sumOf(*list, "devices"), view.devices.size()) << "seed " << seed;
    EXPECT_EQ(sumOf(view.workloads, "pods"), reading.pods.size()) << "seed " << seed;
    for (const auto& [id, device] : view.devices) {
      std::uint64_t parts = 0;
      for (const bj::value& part : device->at("parts").get_array()) {
        parts += part.at("limit_bytes").to_number<std::uint64_t>();
        EXPECT_TRUE(view.shares.contains(std::string_view(part.at("share").as_string())));
      }
      EXPECT_EQ(parts, device->at("memory_limits_bytes")) << "seed " << seed << ' ' << id;
    }
    const bj::object& funnel = view.overview->at("funnel").get_object();
    EXPECT_EQ(funnel.at("memory").at("allocated_bytes"), memory) << "seed " << seed;
    EXPECT_EQ(funnel.at("devices"), view.devices.size());
    EXPECT_EQ(view.overview->at("waiting").to_number<std::size_t>() +
                  view.overview->at("never_fit").to_number<std::size_t>(),
              view.waiting.size())
        << "seed " << seed;
    std::size_t kinds = 0;
    for (const auto& one : view.overview->at("waiting_kinds").get_object())
      kinds += one.value().to_number<std::size_t>();
    EXPECT_EQ(kinds, view.waiting.size()) << "seed " << seed;
  }
}

TEST(ClusterView, TwoDevicesOfOneContainer_OneRow) {
  const ConsoleView view = viewOf(sampleCluster());
  const ListRow& main = *view.shares.at("ml/train-0/main");
  ASSERT_EQ(main.at("devices").as_array().size(), 2u);
  EXPECT_EQ(main.at("limit_bytes"), gib(100).count);
  EXPECT_DOUBLE_EQ(main.at("cores_percent").as_double(), 125);
  EXPECT_EQ(main.at("image"), "train:2");
  EXPECT_EQ(view.shares.at("ml/train-0/side")->at("image"), "side:3");
  EXPECT_EQ(view.shares.size(), 4u);
  EXPECT_EQ(view.nodes.at("gpu-1")->at("shares"), 3);
}

TEST(ClusterView, DeviceOfPlugin_ContainerIsStar) {
  ClusterReading reading = sampleCluster();
  reading.devices[0].by_plugin = true;
  const ConsoleView view = viewOf(reading);
  const ListRow& share = *view.shares.at("lab/serve-1/*");
  EXPECT_EQ(share.at("container"), "*");
  EXPECT_TRUE(share.at("image").is_null());
  EXPECT_FALSE(view.shares.contains("lab/serve-1/main"));
}

TEST(ClusterView, DeviceGone_ShareStays) {
  ClusterReading reading = sampleCluster();
  reading.devices.erase(reading.devices.begin());
  const ConsoleView view = viewOf(reading);
  EXPECT_TRUE(view.shares.at("lab/serve-1/main")->at("devices").at(0).at("model").is_null());
  EXPECT_EQ(view.shares.at("lab/serve-1/main")->at("limit_bytes"), gib(40).count);
  EXPECT_EQ(view.workloads.at("lab/Deployment/serve")->at("shares"), 1);
}

TEST(ClusterView, UnknownContainer_ShareStays) {
  ClusterReading reading = sampleCluster();
  reading.shares[0].container = 7;
  const ConsoleView view = viewOf(reading);
  EXPECT_TRUE(view.shares.at("lab/serve-1/#7")->at("image").is_null());
}

TEST(ClusterView, ShareOfUnknownPod_LeftOut) {
  ClusterReading reading = sampleCluster();
  reading.shares.push_back({"lab", "unknown", "gpu-1", reading.devices[0].uuid, 0, gib(1), {}});
  EXPECT_EQ(viewOf(reading).shares.size(), 4u);
}

TEST(ClusterView, Positions_PerQueueByPriorityThenAge) {
  ClusterReading reading;
  reading.pods = {waitingPod("old", "q", 0, 5),   waitingPod("young", "q", 0, 9),
                  waitingPod("high", "q", 10, 9), waitingPod("other", "r", 0, 9),
                  waitingPod("none", "", 0, 1),   waitingPod("b", "q", 0, 20),
                  waitingPod("a", "q", 0, 20)};
  const ConsoleView view = viewOf(reading);
  const auto position = [&](const char* name) {
    return view.waiting.at(std::string("lab/") + name)->at("position").to_number<int>();
  };
  EXPECT_EQ(position("high"), 1);
  EXPECT_EQ(position("old"), 2);
  EXPECT_EQ(position("young"), 3);
  EXPECT_EQ(position("a"), 4);
  EXPECT_EQ(position("b"), 5);
  EXPECT_EQ(position("other"), 1);
  EXPECT_EQ(position("none"), 1);
}

// Priorities at the ends of their range.
TEST(ClusterView, ExtremePriorities_InOrder) {
  ClusterReading reading;
  reading.pods = {waitingPod("low", "q", -2'147'483'648), waitingPod("high", "q", 2'000'001'000)};
  const ConsoleView view = viewOf(reading);
  EXPECT_EQ(view.waiting.at("lab/high")->at("position"), 1);
  EXPECT_EQ(view.waiting.at("lab/low")->at("position"), 2);
}

TEST(ClusterView, Known_NodesAndPodsRead) {
  ClusterReading reading;
  EXPECT_FALSE(reading.known());
  reading.collections = readCollections();
  EXPECT_TRUE(reading.known());
  reading.collections[1].reached = false;
  EXPECT_FALSE(reading.known());
  reading.collections[1].reached = true;
  reading.collections[2].reached = false;
  EXPECT_TRUE(reading.known()) << "queues may be unreadable";
}

TEST(ClusterView, CollectionFails_DataTimeStaysAndRowsStay) {
  ClusterViewBuilder builder;
  ClusterReading reading = sampleCluster();
  EXPECT_EQ(builder.build(reading, 100).data_ms, 100);
  reading.collections[1].failure = "connection refused";
  const ConsoleView failed = builder.build(reading, 200);
  EXPECT_EQ(failed.data_ms, 100);
  EXPECT_EQ(failed.shares.size(), 4u);
  ASSERT_EQ(failed.sources.size(), 3u);
  EXPECT_EQ(failed.sources[1].node, "pods");
  EXPECT_EQ(failed.sources[1].failure, "connection refused");
  EXPECT_TRUE(failed.sources[1].reached);
  EXPECT_EQ(failed.sources[1].since_ms, 200);
  EXPECT_EQ(failed.sources[0].since_ms, 100);
  reading.collections[1].failure = "timed out";
  EXPECT_EQ(builder.build(reading, 300).sources[1].since_ms, 200) << "still the same failure";
  reading.collections[1].failure = "";
  const ConsoleView again = builder.build(reading, 400);
  EXPECT_EQ(again.data_ms, 400);
  EXPECT_EQ(again.sources[1].since_ms, 400);
}

TEST(ClusterView, NothingKnown_NoDataTime) {
  ClusterViewBuilder builder;
  ClusterReading reading;
  reading.collections = readCollections();
  for (ClusterCollection& one : reading.collections) one.reached = false;
  EXPECT_EQ(builder.build(reading, 100).data_ms, 0);
  EXPECT_EQ(ClusterViewBuilder().build({}, 100).data_ms, 0);
}

// ---- overview ----

TEST(ClusterOverview, Sample_CountsAndUnknownCounts) {
  const Row overview = viewOf(sampleCluster()).overview->members();
  EXPECT_EQ(overview.at("nodes"), 2);
  EXPECT_EQ(overview.at("waiting"), 1);
  EXPECT_EQ(overview.at("never_fit"), 1);
  const bj::object& shares = overview.at("shares").get_object();
  EXPECT_EQ(shares.at("running"), 1);
  EXPECT_EQ(shares.at("pending"), 1);
  EXPECT_EQ(shares.at("ending"), 1);
  for (const char* name : {"reserved", "idle", "throttled", "swapped"})
    EXPECT_TRUE(shares.at(name).is_null()) << name;
  for (const char* name : {"memory", "compute"})
    for (const char* what : {"used_", "idle_"})
      for (const char* unit : {"bytes", "percent"}) {
        const bj::value* figure =
            overview.at("funnel").at(name).as_object().if_contains(std::string(what) + unit);
        EXPECT_TRUE(figure == nullptr || figure->is_null()) << name << what << unit;
      }
  EXPECT_EQ(overview.at("waiting_kinds"), bj::value({{"held", 0},
                                                     {"never-fits", 1},
                                                     {"unscheduled", 0},
                                                     {"waits-for-quota", 0},
                                                     {"waits-for-room", 1}}));
  EXPECT_EQ(codesOf(overview), (std::multiset<std::string>{"never-fits"}));
}

TEST(ClusterOverview, EachFault_NamedWithLink) {
  ClusterReading reading = sampleCluster();
  reading.collections[0].failure = "connection refused";
  reading.collections[2].failure = "forbidden";
  reading.collections[2].reached = false;
  reading.collections[1].unread = 2;
  reading.collections[1].example = "pod-x: no name";
  reading.nodes[0] = {"gpu-1", ClusterNodeState::kNotReady, "kubelet stopped"};
  reading.nodes[1] = {"gpu-2", ClusterNodeState::kUnreadable, "bad annotation"};
  reading.devices[3].healthy = false;
  reading.queues[0].status.fault = "its parent is missing";
  const Row overview = viewOf(reading).overview->members();
  EXPECT_EQ(codesOf(overview),
            (std::multiset<std::string>{
                "collection-unreadable", "collection-unreadable", "device-faulty", "never-fits",
                "node-not-ready", "node-unreadable", "object-unreadable", "queue-not-in-force"}));
  std::set<std::string> links;
  std::vector<std::string> severities;
  for (const bj::value& one : overview.at("attention").get_array()) {
    links.emplace(one.at("link").as_string());
    severities.emplace_back(one.at("severity").as_string());
  }
  EXPECT_TRUE(std::is_sorted(severities.begin(), severities.end())) << "critical before warning";
  EXPECT_EQ(links,
            (std::set<std::string>{"", "nodes/gpu-1", "nodes/gpu-2", "devices/gpu-2/GPU-gpu-2-1",
                                   "waiting/ml/wrong", "queues/research"}));
  EXPECT_EQ(overview.at("funnel").at("healthy_devices"), 3);
}

TEST(ClusterOverview, ManyFindingsOfOneCode_RestIsCounted) {
  ClusterReading reading = sampleCluster();
  reading.pods.clear();
  for (int i = 0; i < 1000; ++i) {
    reading.pods.push_back(clusterPod("lab", "p" + std::to_string(i), ClusterPodState::kWaiting));
    reading.pods.back().waiting = WaitingKind::kNeverFits;
  }
  reading.devices[3].healthy = false;
  const Row overview = viewOf(reading).overview->members();
  const bj::array& items = overview.at("attention").get_array();
  ASSERT_EQ(items.size(), 22u) << "a device, 20 pods, the number of the others";
  EXPECT_EQ(items.front().at("code").get_string(), "device-faulty");
  EXPECT_EQ(items.back(), bj::value({{"severity", "warning"},
                                     {"code", "never-fits"},
                                     {"text", "980 more"},
                                     {"link", "waiting"}}));
}

// While pods are listed again, a pod and its successor are there for a moment.
TEST(ClusterOverview, PodAndSuccessorOfSameName_NoNegativeCount) {
  ClusterReading reading;
  ClusterPodView pod = clusterPod("lab", "a", ClusterPodState::kWaiting);
  pod.waiting = WaitingKind::kNeverFits;
  reading.pods = {pod, pod};
  const ConsoleView view = viewOf(reading);
  EXPECT_EQ(view.overview->at("waiting"), 0);
  EXPECT_EQ(view.waiting.size(), 1u);
}

TEST(ClusterOverview, CordonedNode_NoFinding) {
  ClusterReading reading = sampleCluster();
  reading.nodes[0] = {"gpu-1", ClusterNodeState::kCordoned, "kubectl cordon"};
  reading.pods.clear();
  const ConsoleView view = viewOf(reading);
  EXPECT_TRUE(codesOf(view.overview->members()).empty());
  EXPECT_EQ(view.nodes.at("gpu-1")->at("state"), "cordoned");
}

}  // namespace
}  // namespace divvy::console
