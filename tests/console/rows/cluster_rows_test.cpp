// Rows of a cluster's lists, each by itself.
#include "rows/cluster_rows.h"

#include <gtest/gtest.h>

#include <random>

#include <boost/json.hpp>

#include "base/utf8.h"
#include "rows/group_rows.h"
#include "rows/json_text.h"
#include "sample_cluster.h"

namespace divvy::console {
namespace {

namespace bj = boost::json;

std::vector<std::string_view> membersOf(const Row& row) {
  std::vector<std::string_view> names;
  for (const auto& member : row) names.push_back(member.key());
  return names;
}

kube::Queue queueNamed(const std::string& name, const std::string& parent = "") {
  kube::Queue queue;
  queue.meta.name = name;
  queue.parent = parent;
  return queue;
}

// One share of one container on one device.
struct OneShare {
  scheduler::DeviceUsage device = clusterDevice("gpu-1", 0);
  ClusterPodView pod = clusterPod("lab", "serve");
  scheduler::AllocatedShare share{"lab", "serve", "gpu-1", device.uuid, 0, gib(4), {250}};
  ContainerShare container{"lab/serve/main", "main", "serve:1", &pod, nullptr, {{&share, &device}}};
};

TEST(ClusterRows, EachKind_ExactlyItsFieldsInOrder) {
  const OneShare one;
  ClusterReading reading = sampleCluster();
  EXPECT_EQ(membersOf(clusterNodeRow(reading.nodes[0], {&one.device}, 1)), clusterNodeFields());
  EXPECT_EQ(membersOf(clusterNodeRow({}, {}, 0)), clusterNodeFields());
  EXPECT_EQ(membersOf(clusterDeviceRow(one.device, {&one.container})), clusterDeviceFields());
  EXPECT_EQ(membersOf(clusterShareRow(one.container)), clusterShareFields());
  EXPECT_EQ(membersOf(clusterWaitingRow({})), clusterWaitingFields());
  EXPECT_EQ(membersOf(clusterEventRow({})), eventFields());
  EXPECT_EQ(membersOf(workloadRows(reading, {}).begin()->second), workloadFields());
  EXPECT_EQ(membersOf(teamRows(reading, {}).begin()->second), teamFields());
  EXPECT_EQ(membersOf(queueRows(reading.queues).begin()->second), queueFields());
  EXPECT_EQ(membersOf(poolRows(reading).begin()->second), poolFields());
  OneShare serving;
  serving.pod.served_model = "llama";
  const Rows models = servedModelRows({serving.container});
  ASSERT_EQ(models.size(), 1u);
  EXPECT_EQ(membersOf(models.begin()->second), servedModelFields());
}

TEST(ClusterRows, UnknownUse_NullNeverZero) {
  const OneShare one;
  const Row share = clusterShareRow(one.container);
  for (const char* name :
       {"used_bytes", "resident_bytes", "swapped_bytes", "usage_permille", "slow_reasons"})
    EXPECT_TRUE(share.at(name).is_null()) << name;
  const Row device = clusterDeviceRow(one.device, {&one.container});
  for (const char* name :
       {"memory_used_bytes", "memory_swapped_bytes", "utilisation_percent", "turn_tenant"})
    EXPECT_TRUE(device.at(name).is_null()) << name;
  EXPECT_TRUE(device.at("parts").at(0).at("used_bytes").is_null());
  EXPECT_TRUE(clusterNodeRow({}, {&one.device}, 1).at("memory_used_bytes").is_null());
  ClusterReading reading = sampleCluster();
  for (const auto& [id, row] : workloadRows(reading, {}))
    EXPECT_TRUE(row.at("memory_used_bytes").is_null()) << id;
  for (const auto& [id, row] : teamRows(reading, {}))
    EXPECT_TRUE(row.at("memory_used_bytes").is_null()) << id;
}

TEST(ClusterRows, UnstatedTexts_Null) {
  OneShare one;
  one.container.image = "";
  one.pod.created_ms = 0;
  const Row share = clusterShareRow(one.container);
  for (const char* name : {"queue", "model_served", "image", "created_ms"})
    EXPECT_TRUE(share.at(name).is_null()) << name;
  EXPECT_EQ(share.at("owner").as_string(), "Pod/" + one.pod.name);
  const Row waiting = clusterWaitingRow(one.pod);
  for (const char* name : {"queue", "memory", "gpus", "since_ms"})
    EXPECT_TRUE(waiting.at(name).is_null()) << name;
}

TEST(ClusterRows, DeviceGone_PartKeepsIdAndLimit) {
  OneShare one;
  one.container.parts[0].device = nullptr;
  const Row row = clusterShareRow(one.container);
  const bj::object& part = row.at("devices").at(0).get_object();
  EXPECT_EQ(part.at("id"), "gpu-1/GPU-gpu-1-0");
  EXPECT_TRUE(part.at("index").is_null());
  EXPECT_TRUE(part.at("model").is_null());
  EXPECT_EQ(part.at("limit_bytes"), gib(4).count);
  EXPECT_EQ(row.at("limit_bytes"), gib(4).count);
}

TEST(ClusterRows, FaultAndCordon_StateOfDevice) {
  scheduler::DeviceUsage device = clusterDevice("gpu-1", 0);
  EXPECT_EQ(clusterDeviceRow(device, {}).at("state"), "healthy");
  EXPECT_EQ(clusterDeviceRow(device, {}).at("state_reason"), "");
  device.cordoned = true;
  EXPECT_EQ(clusterDeviceRow(device, {}).at("state"), "cordoned");
  device.healthy = false;
  EXPECT_EQ(clusterDeviceRow(device, {}).at("state"), "faulty");
  EXPECT_NE(clusterDeviceRow(device, {}).at("state_reason"), "");
}

TEST(ClusterRows, NodeOfTwoModels_BothCounted) {
  scheduler::DeviceUsage one = clusterDevice("gpu-1", 0), two = clusterDevice("gpu-1", 1),
                         other = clusterDevice("gpu-1", 2);
  other.model = "NVIDIA L4";
  two.healthy = false;
  const Row row = clusterNodeRow({"gpu-1", ClusterNodeState::kReady, ""}, {&one, &two, &other}, 0);
  EXPECT_EQ(row.at("models"), "2 x NVIDIA H100 80GB HBM3, 1 x NVIDIA L4");
  EXPECT_EQ(row.at("devices"), 3);
  EXPECT_EQ(row.at("healthy_devices"), 2);
}

// Regression: a pool whose name is a part of another one was left out.
TEST(ClusterRows, NodeOfTwoPools_BothNamed) {
  scheduler::DeviceUsage one = clusterDevice("gpu-1", 0), two = clusterDevice("gpu-1", 1),
                         none = clusterDevice("gpu-1", 2);
  one.pool = "gold-large";
  two.pool = "gold";
  EXPECT_EQ(clusterNodeRow({}, {&one, &two, &none, &two}, 0).at("pool"), "gold, gold-large");
  EXPECT_EQ(clusterNodeRow({}, {&none}, 0).at("pool"), "");
}

TEST(ClusterRows, WorkloadOfTwoContainers_PodCountedOnce) {
  ClusterReading reading;
  ClusterPodView pod = clusterPod("lab", "serve-1");
  pod.owner = "Deployment/serve";
  ClusterPodView waiting = clusterPod("lab", "serve-2", ClusterPodState::kWaiting);
  waiting.owner = "Deployment/serve";
  reading.pods = {pod, waiting};
  OneShare one, two;
  one.container.pod = two.container.pod = &reading.pods[0];
  const Rows rows = workloadRows(reading, {one.container, two.container});
  ASSERT_EQ(rows.size(), 1u);
  const Row& row = rows.at("lab/Deployment/serve");
  EXPECT_EQ(row.at("kind"), "Deployment");
  EXPECT_EQ(row.at("name"), "serve");
  EXPECT_EQ(row.at("pods"), 2);
  EXPECT_EQ(row.at("shares"), 2);
  EXPECT_EQ(row.at("waiting"), 1);
  EXPECT_EQ(row.at("devices"), 1) << "both containers have the same one";
  EXPECT_EQ(row.at("memory_limits_bytes"), gib(8).count);
}

TEST(ClusterRows, PodWithoutOwner_IsItsOwnWorkload) {
  ClusterReading reading;
  reading.pods = {clusterPod("lab", "a"), clusterPod("ml", "a")};
  const Rows rows = workloadRows(reading, {});
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows.at("lab/Pod/a").at("kind"), "Pod");
  EXPECT_TRUE(rows.contains("ml/Pod/a"));
}

TEST(ClusterRows, TeamDevices_LargerOfMemoryAndCompute) {
  OneShare half, quarter, whole, gone;
  half.share.memory = gib(40);    // half of the memory, a quarter of the compute
  quarter.share.memory = gib(8);  // a quarter of the compute, a tenth of the memory
  whole.share.compute = engine::kWholeDevice;
  gone.container.parts[0].device = nullptr;  // only its compute is known
  ClusterReading reading;
  reading.pods = {half.pod};
  const Rows rows =
      teamRows(reading, {half.container, quarter.container, whole.container, gone.container});
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_DOUBLE_EQ(rows.at("lab").at("devices").as_double(), 2.0);
  EXPECT_EQ(rows.at("lab").at("shares"), 4);
}

TEST(ClusterRows, PoolLargestFree_OfUsableDevices) {
  ClusterReading reading;
  reading.pools = {{"gold", {"lab"}}, {"empty", {}}};
  for (std::size_t index = 0; index < 4; ++index) {
    reading.devices.push_back(clusterDevice("gpu-1", index));
    reading.devices.back().pool = "gold";
  }
  reading.devices[0].healthy = false;
  reading.devices[1].cordoned = true;
  reading.devices[2].promised = gib(50), reading.devices[2].tenants = 1;
  reading.devices[3].promised = gib(90), reading.devices[3].tenants = 2;
  const Rows rows = poolRows(reading);
  const Row& gold = rows.at("gold");
  EXPECT_EQ(gold.at("largest_free_bytes"), gib(30).count);
  EXPECT_EQ(gold.at("devices"), 4);
  EXPECT_EQ(gold.at("free_devices"), 2);
  EXPECT_EQ(gold.at("shares"), 3);
  EXPECT_EQ(gold.at("nodes"), 1);
  EXPECT_EQ(gold.at("namespaces"), bj::array({"lab"}));
  EXPECT_EQ(rows.at("empty").at("devices"), 0);
  EXPECT_EQ(rows.at("empty").at("largest_free_bytes"), 0);
}

TEST(ClusterRows, QueueTree_DepthAndPath) {
  const Rows rows = queueRows({queueNamed("vision", "research"), queueNamed("research"),
                               queueNamed("small", "vision"), queueNamed("lost", "gone")});
  EXPECT_EQ(rows.at("research").at("path"), "research");
  EXPECT_EQ(rows.at("research").at("depth"), 0);
  EXPECT_TRUE(rows.at("research").at("parent").is_null());
  EXPECT_EQ(rows.at("small").at("path"), "research/vision/small");
  EXPECT_EQ(rows.at("small").at("depth"), 2);
  EXPECT_EQ(rows.at("lost").at("path"), "lost");
  EXPECT_EQ(rows.at("lost").at("depth"), 0);
  EXPECT_EQ(rows.at("lost").at("parent"), "gone");
}

// Regression: each queue of a circle had a path of 65 names.
TEST(ClusterRows, QueueCircle_EachNameOnceInPath) {
  const Rows rows = queueRows({queueNamed("a", "b"), queueNamed("b", "c"), queueNamed("c", "a"),
                               queueNamed("own", "own"), queueNamed("below", "a")});
  EXPECT_EQ(rows.at("a").at("path"), "c/b/a");
  EXPECT_EQ(rows.at("a").at("depth"), 2);
  EXPECT_EQ(rows.at("own").at("path"), "own");
  EXPECT_EQ(rows.at("own").at("depth"), 0);
  EXPECT_EQ(rows.at("below").at("path"), "c/b/a/below");
}

TEST(ClusterRows, QueueAmounts_UnstatedIsNull) {
  kube::Queue queue = queueNamed("q");
  queue.guarantee = {{"*", 1500, {}}};
  queue.limit = {{"H100", {}, 4096}};
  const Row row = queueRows({queue}).at("q");
  EXPECT_EQ(row.at("guarantee").at(0).at("model"), "*");
  EXPECT_EQ(row.at("guarantee").at(0).at("devices_milli"), 1500);
  EXPECT_TRUE(row.at("guarantee").at(0).at("memory_bytes").is_null());
  EXPECT_TRUE(row.at("limit").at(0).at("devices_milli").is_null());
  EXPECT_EQ(row.at("limit").at(0).at("memory_bytes"), gib(4).count);
  EXPECT_EQ(row.at("borrowed"), bj::array());
}

TEST(ClusterRows, RandomQueues_BorrowedIsUseBeyondGuarantee) {
  std::mt19937 random(7);
  const auto amount = [&]() -> std::optional<std::int64_t> {
    if (random() % 4 == 0) return std::nullopt;
    return static_cast<std::int64_t>(random() % 4000);
  };
  for (unsigned draw = 0; draw < 500; ++draw) {
    kube::Queue queue = queueNamed("q");
    for (const char* model : {"*", "H100", "L4"}) {
      if (random() % 3 != 0) queue.guarantee.push_back({model, amount(), amount()});
      if (random() % 3 != 0) queue.status.used.push_back({model, amount(), amount()});
    }
    const Row row = queueRows({queue}).at("q");
    std::map<std::string, kube::QueueAmount> guarantees;
    for (const kube::QueueAmount& one : queue.guarantee) guarantees[one.model] = one;
    std::map<std::string, const bj::object*> borrowed;
    for (const bj::value& one : row.at("borrowed").get_array())
      borrowed[std::string(one.at("model").as_string())] = &one.get_object();
    for (const kube::QueueAmount& used : queue.status.used) {
      const std::int64_t more = used.milli.value_or(0) - guarantees[used.model].milli.value_or(0);
      const auto shown = borrowed.find(used.model);
      if (shown == borrowed.end()) {
        EXPECT_LE(more, 0) << "draw " << draw << ' ' << used.model;
      } else if (used.milli) {
        EXPECT_EQ(shown->second->at("devices_milli"), std::max<std::int64_t>(more, 0))
            << "draw " << draw << ' ' << used.model;
      } else {
        EXPECT_TRUE(shown->second->at("devices_milli").is_null());
      }
    }
  }
}

TEST(ClusterRows, HostileNames_ValidJson) {
  for (const std::string& name :
       {std::string("a\"b\\c\n\t"), std::string("<script>alert(1)</script>"),
        std::string("\xE2\x80\xAE\xD7\x90\xD7\x91"), std::string(253, 'x'), std::string("\xff\xfe"),
        std::string("\xC3"), std::string("\0nul", 4), std::string("a/b/c")}) {
    OneShare one;
    one.pod.namespace_name = one.pod.name = one.pod.owner = one.pod.team = name;
    one.pod.served_model = one.pod.reason = one.device.model = one.device.pool = name;
    one.container.id = one.container.container = one.container.image = name;
    kube::Queue queue = queueNamed(name, name);
    queue.status.fault = name;
    ClusterReading reading;
    reading.pods = {one.pod};
    reading.pools = {{name, {name}}};
    std::vector<Row> rows{
        clusterShareRow(one.container), clusterDeviceRow(one.device, {&one.container}),
        clusterNodeRow({name, ClusterNodeState::kUnreadable, name}, {&one.device}, 1),
        clusterWaitingRow(one.pod), clusterEventRow({name, name, name, name, name, name, 1})};
    for (const Rows& list :
         {workloadRows(reading, {one.container}), teamRows(reading, {one.container}),
          servedModelRows({one.container}), queueRows({queue}), poolRows(reading)}) {
      ASSERT_EQ(list.size(), 1u);
      rows.push_back(list.begin()->second);
    }
    for (const Row& row : rows) {
      const std::string text = jsonText(row);
      EXPECT_TRUE(isUtf8(text));
      boost::system::error_code fault;
      const bj::value parsed = bj::parse(text, fault);
      ASSERT_FALSE(fault) << text;
      if (isUtf8(name)) {
        EXPECT_EQ(parsed, bj::value(row));
      }
    }
  }
}

}  // namespace
}  // namespace divvy::console
