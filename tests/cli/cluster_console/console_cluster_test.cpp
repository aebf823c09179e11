// Questions about pods while a cluster is watched: they change nothing.
#include "cluster_console/console_cluster.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include <boost/json.hpp>

#include "served_api.h"

namespace divvy::cli {
namespace {

namespace json = boost::json;
using std::chrono::seconds;
using test::boundPod;
using test::gpuNode;
using test::gpuPod;

constexpr seconds kPatience{20};
constexpr const char* kPods = "/api/v1/namespaces/lab/pods";

// All that a reading states, but for events.
std::string textOf(const console::ClusterReading& reading) {
  std::string text;
  for (const console::ClusterNode& one : reading.nodes)
    text += "node " + one.name + ' ' + std::to_string(static_cast<int>(one.state)) + '\n';
  for (const scheduler::DeviceUsage& one : reading.devices)
    text += "device " + one.uuid + ' ' + std::to_string(one.promised.count) + ' ' +
            std::to_string(one.promised_compute.milli) + ' ' + std::to_string(one.tenants) + '\n';
  for (const scheduler::AllocatedShare& one : reading.shares)
    text += "share " + one.pod + ' ' + one.uuid + ' ' + std::to_string(one.memory.count) + '\n';
  for (const console::ClusterPodView& one : reading.pods)
    text += "pod " + one.name + ' ' + one.node + ' ' + one.queue + ' ' + one.reason + ' ' +
            std::to_string(static_cast<int>(one.state)) +
            std::to_string(static_cast<int>(one.waiting)) + '\n';
  for (const kube::Queue& one : reading.queues) text += "queue " + one.meta.name + '\n';
  return text;
}

json::object gated(json::object pod) {
  pod["spec"].get_object()["schedulingGates"] =
      json::array{json::object{{"name", "divvy.dev/queued"}}};
  return pod;
}

class ConsoleClusterTest : public ::testing::Test {
 protected:
  void start(std::size_t pods) {
    ClusterWatch::Options options;
    options.cluster.connection.kubeconfig = api_.kubeconfig();
    Result<std::unique_ptr<ClusterWatch>> watch = ClusterWatch::start(options);
    ASSERT_TRUE(watch) << watch.error().message();
    cluster_ = std::make_unique<ConsoleCluster>(options.cluster, std::move(*watch), false);
    ASSERT_TRUE(until([&](const console::ClusterReading& now) {
      return now.pods.size() == pods && std::all_of(now.collections.begin(), now.collections.end(),
                                                    [](const auto& one) { return one.reached; });
    }));
  }
  bool until(const std::function<bool(const console::ClusterReading&)>& condition) {
    for (const auto end = std::chrono::steady_clock::now() + kPatience;
         std::chrono::steady_clock::now() < end; std::this_thread::yield())
      if (condition(cluster_->read())) return true;
    return false;
  }
  void set(const std::string& name, const json::object& pod) {
    api_.set(std::string(kPods) + '/' + name, pod);
  }
  // Explains twice. Expects equal answers, and the state as before.
  json::object explained(const std::string& name) {
    const std::string before = textOf(cluster_->read());
    const Result<json::object> first = cluster_->explain("lab", name);
    EXPECT_TRUE(first) << first.error().message();
    EXPECT_EQ(textOf(cluster_->read()), before);
    const Result<json::object> second = cluster_->explain("lab", name);
    EXPECT_TRUE(second) << second.error().message();
    EXPECT_EQ(textOf(cluster_->read()), before);
    if (!first || !second) return {};
    EXPECT_EQ(*first, *second);
    return *first;
  }
  std::size_t writes() {
    std::size_t count = 0;
    api_.use([&](test::FakeApi& api) {
      for (const test::FakeCall& call : api.calls())
        count += call.method != "GET" && call.query.find("dryRun=All") == std::string::npos ? 1 : 0;
    });
    return count;
  }

  test::ServedApi api_;
  std::unique_ptr<ConsoleCluster> cluster_;
};

TEST_F(ConsoleClusterTest, WaitingPodThatFits_StateAsBefore) {
  api_.set("/api/v1/nodes/n", gpuNode("n", 2));
  set("a", boundPod("a", "n", 0));
  set("p", gpuPod("p"));
  start(2);
  const json::object answer = explained("p");
  EXPECT_EQ(answer.at("pod"), "lab/p");
  EXPECT_EQ(answer.at("fits"), true);
  EXPECT_EQ(answer.at("bound"), false);
  EXPECT_EQ(answer.at("node"), "n");
  ASSERT_EQ(answer.at("devices").as_array().size(), 1u);
  EXPECT_EQ(answer.at("devices").at(0).at("memory"), gib(8).count);
  EXPECT_EQ(writes(), 0u);
}

TEST_F(ConsoleClusterTest, NoRoom_ReasonsAndStateAsBefore) {
  api_.set("/api/v1/nodes/n", gpuNode("n", 1));
  json::object large = gpuPod("p");
  large["spec"]
      .at("containers")
      .at(0)
      .at("resources")
      .at("limits")
      .get_object()["nvidia.com/gpumem"] = "81000";
  set("a", boundPod("a", "n", 0));
  set("p", large);
  start(2);
  const json::object answer = explained("p");
  EXPECT_EQ(answer.at("fits"), false);
  EXPECT_FALSE(answer.at("reasons").as_object().empty());
  ASSERT_EQ(answer.at("nodes").as_array().size(), 1u);
  const json::value& node = answer.at("nodes").at(0);
  EXPECT_EQ(node.at("node"), "n");
  EXPECT_EQ(node.at("code"), "node-devices");
  EXPECT_EQ(node.at("devices").at(0).at("code"), "memory");
}

// The devices are free: the quota is the reason, at each node.
TEST_F(ConsoleClusterTest, QuotaRefuses_NodesDoNotFit) {
  api_.set("/api/v1/nodes/n", gpuNode("n", 1));
  api_.set(
      "/api/v1/namespaces/lab/resourcequotas/q",
      json::object{
          {"metadata", json::object{{"name", "q"}, {"namespace", "lab"}, {"uid", "q"}}},
          {"spec", json::object{{"hard", json::object{{"limits.nvidia.com/gpumem", "1000"}}}}}});
  set("p", gpuPod("p"));
  start(1);
  const json::object answer = explained("p");
  EXPECT_EQ(answer.at("fits"), false);
  ASSERT_EQ(answer.at("nodes").as_array().size(), 1u);
  const json::value& node = answer.at("nodes").at(0);
  EXPECT_EQ(node.at("fits"), false);
  const std::string why(node.at("why").as_string());
  EXPECT_NE(why.find("quota"), std::string::npos) << why;
}

TEST_F(ConsoleClusterTest, GangMember_StateAsBefore) {
  api_.set("/api/v1/nodes/n", gpuNode("n", 2));
  const json::object gang{{"use.divvy.dev/gang", "g"}, {"use.divvy.dev/gang-min", "2"}};
  set("g-0", gated(gpuPod("g-0", gang)));
  set("g-1", gated(gpuPod("g-1", gang)));
  start(2);
  EXPECT_EQ(explained("g-0").at("fits"), true);
  EXPECT_EQ(explained("g-1").at("fits"), true);
}

TEST_F(ConsoleClusterTest, GangIncomplete_GatedAndStateAsBefore) {
  api_.set("/api/v1/nodes/n", gpuNode("n", 2));
  set("g-0", gated(gpuPod("g-0", {{"use.divvy.dev/gang", "g"}, {"use.divvy.dev/gang-min", "3"}})));
  set("p", gpuPod("p"));
  start(2);
  const json::object answer = explained("g-0");
  EXPECT_EQ(answer.at("fits"), false);
  EXPECT_EQ(answer.at("gated"), "1 of 3 members of the gang are there");
  EXPECT_EQ(explained("p").at("fits"), true);
}

TEST_F(ConsoleClusterTest, PodBehindQueueLimit_GatedAndStateAsBefore) {
  api_.set("/api/v1/nodes/n", gpuNode("n", 2));
  const char* queue = "/apis/divvy.dev/v1alpha1/queues/q";
  api_.set(queue, {{"spec", {{"limit", {{{"model", "*"}, {"memoryMiB", 1024}}}}}}});
  set("p", gated(gpuPod("p", {{"use.divvy.dev/queue", "q"}})));
  api_.set("/api/v1/namespaces/lab", {});
  start(1);
  const json::object answer = explained("p");
  EXPECT_EQ(answer.at("fits"), false);
  ASSERT_TRUE(answer.contains("gated")) << json::serialize(answer);
  EXPECT_NE(answer.at("gated").as_string().find("queue q"), json::string::npos);
  // The limit is raised: the next answer heeds it.
  api_.set(queue, {{"spec", {{"limit", {{{"model", "*"}, {"memoryMiB", 65536}}}}}}});
  ASSERT_TRUE(until([](const console::ClusterReading& now) {
    return now.queues.size() == 1 && now.queues[0].limit[0].mebibytes == 65536;
  }));
  EXPECT_EQ(explained("p").at("fits"), true);
}

TEST_F(ConsoleClusterTest, BoundPod_ItsDevices) {
  api_.set("/api/v1/nodes/n", gpuNode("n", 2));
  set("a", boundPod("a", "n", 1));
  start(1);
  const json::object answer = explained("a");
  EXPECT_EQ(answer.at("bound"), true);
  EXPECT_EQ(answer.at("fits"), true);
  EXPECT_EQ(answer.at("node"), "n");
  ASSERT_EQ(answer.at("devices").as_array().size(), 1u);
  EXPECT_EQ(answer.at("devices").at(0).at("uuid"), "GPU-n-1");
  EXPECT_EQ(answer.at("devices").at(0).at("container"), "main");
}

TEST_F(ConsoleClusterTest, PodWithoutDevices_StaysOutOfState) {
  api_.set("/api/v1/nodes/n", gpuNode("n", 1));
  json::object plain = gpuPod("web");
  plain["spec"].at("containers").at(0).get_object().erase("resources");
  set("web", plain);
  start(0);
  EXPECT_EQ(explained("web").at("asks_for_devices"), false);
}

// The pod that a question is about may be gone at the watch, and not yet at the API server's
// answer.
TEST_F(ConsoleClusterTest, PodGoneMeanwhile_StaysGone) {
  api_.set("/api/v1/nodes/n", gpuNode("n", 1));
  set("p", gpuPod("p"));
  start(1);
  api_.use([](test::FakeApi& api) {
    test::Fault fault;
    fault.method = "GET";
    fault.path = std::string(kPods) + "/p";
    fault.kind = test::FaultKind::kStatus;
    fault.status = 200;
    fault.body = json::serialize(*api.find(fault.path));
    fault.times = 3;
    api.inject(fault);
    api.remove(fault.path);
  });
  ASSERT_TRUE(until([](const console::ClusterReading& now) { return now.pods.empty(); }));
  const Result<json::object> answer = cluster_->explain("lab", "p");
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code(), ErrorCode::kNotFound) << answer.error().message();
  EXPECT_TRUE(cluster_->read().pods.empty());
}

// Regression: the answer of an older version was put into the state.
TEST_F(ConsoleClusterTest, PodBoundMeanwhile_StaysBound) {
  api_.set("/api/v1/nodes/n", gpuNode("n", 1));
  set("p", gpuPod("p"));
  start(1);
  api_.use([](test::FakeApi& api) {
    test::Fault fault;
    fault.method = "GET";
    fault.path = std::string(kPods) + "/p";
    fault.kind = test::FaultKind::kStatus;
    fault.status = 200;
    fault.body = json::serialize(*api.find(fault.path));
    fault.times = 10;
    api.inject(fault);
    api.set(fault.path, boundPod("p", "n", 0));
  });
  ASSERT_TRUE(until([](const console::ClusterReading& now) { return now.shares.size() == 1; }));
  const Result<json::object> answer = cluster_->explain("lab", "p");
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code(), ErrorCode::kUnavailable);
  EXPECT_EQ(cluster_->read().shares.size(), 1u);
}

TEST_F(ConsoleClusterTest, UnknownPod_NotFound) {
  start(0);
  const Result<json::object> answer = cluster_->explain("lab", "none");
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code(), ErrorCode::kNotFound);
}

// Names of an address must not become another request to the API server.
TEST_F(ConsoleClusterTest, NamesThatArePaths_NotFoundAndNotAsked) {
  set("p", gpuPod("p"));
  start(1);
  for (const auto& [ns, name] :
       std::vector<std::pair<std::string, std::string>>{{"lab", "p/log"},
                                                        {"lab", "p?x"},
                                                        {"lab/pods", "p"},
                                                        {"..", "p"},
                                                        {"", "p"},
                                                        {"lab", ""},
                                                        {"lab", "p%2Flog"},
                                                        {"lab", "p\r\nX: y"},
                                                        {"lab", "."}}) {
    const Result<json::object> answer = cluster_->explain(ns, name);
    ASSERT_FALSE(answer) << ns << ' ' << name;
    EXPECT_EQ(answer.error().code(), ErrorCode::kNotFound) << ns << ' ' << name;
  }
  api_.use([](test::FakeApi& api) { EXPECT_EQ(api.count("GET", kPods), 0u); });
}

// ---- plans ----

constexpr const char* kManifest = R"(
kind: Pod
metadata: {name: new}
spec: {schedulerName: divvy-scheduler,
       containers: [{name: main, resources: {limits: {nvidia.com/gpu: "1"}}}]}
)";

TEST_F(ConsoleClusterTest, Plan_NothingCreated) {
  api_.set("/api/v1/nodes/n", gpuNode("n", 1));
  start(0);
  const std::string before = textOf(cluster_->read());
  const Result<json::array> plan = cluster_->plan(kManifest, "lab", "");
  ASSERT_TRUE(plan) << plan.error().message();
  ASSERT_EQ(plan->size(), 1u);
  EXPECT_EQ(plan->at(0).at("pod"), "lab/new");
  EXPECT_EQ(plan->at(0).at("fits"), true) << json::serialize(*plan);
  EXPECT_EQ(plan->at(0).at("node"), "n");
  EXPECT_EQ(writes(), 0u);
  api_.use([](test::FakeApi& api) { EXPECT_TRUE(api.paths("/api/v1/pods").empty()); });
  EXPECT_EQ(textOf(cluster_->read()), before);
}

// Regression: a namespace with a question mark took the dry run away from the request.
TEST_F(ConsoleClusterTest, PlanForNamespaceThatIsPath_NothingSent) {
  api_.set("/api/v1/nodes/n", gpuNode("n", 1));
  start(0);
  for (const char* ns : {"lab/pods?x=", "lab/pods/p/eviction?x=", "../lab", "lab#", "l b"}) {
    const Result<json::array> plan = cluster_->plan(kManifest, ns, "");
    ASSERT_TRUE(plan) << plan.error().message();
    EXPECT_EQ(plan->at(0).at("fits"), false) << ns;
    EXPECT_NE(plan->at(0).at("why").as_string().find("namespace"), json::string::npos) << ns;
  }
  api_.use([](test::FakeApi& api) { EXPECT_EQ(api.count("POST", ""), 0u); });
}

TEST_F(ConsoleClusterTest, PlanOfBadManifest_Usage) {
  start(0);
  for (const char* manifest : {"", "a: [", "kind: Service\nspec: {}", "\t", "{\"kind\": \"Pod\""}) {
    const Result<json::array> plan = cluster_->plan(manifest, "lab", "");
    ASSERT_FALSE(plan) << manifest;
    EXPECT_EQ(plan.error().code(), ErrorCode::kUsage) << manifest;
  }
}

TEST_F(ConsoleClusterTest, PodThatServerRefuses_WhyInPlan) {
  api_.set("/api/v1/nodes/n", gpuNode("n", 1));
  start(0);
  api_.use([](test::FakeApi& api) {
    test::Fault fault;
    fault.method = "POST";
    fault.kind = test::FaultKind::kStatus;
    fault.status = 422;
    fault.body = R"({"kind":"Status","message":"spec.containers: Invalid value"})";
    api.inject(fault);
  });
  const Result<json::array> plan = cluster_->plan(kManifest, "lab", "");
  ASSERT_TRUE(plan) << plan.error().message();
  EXPECT_EQ(plan->at(0).at("fits"), false);
  EXPECT_NE(plan->at(0).at("why").as_string().find("Invalid value"), json::string::npos);
}

TEST_F(ConsoleClusterTest, ServerGone_Unavailable) {
  start(0);
  api_.close();
  const Result<json::object> answer = cluster_->explain("lab", "p");
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code(), ErrorCode::kUnavailable);
  const Result<json::array> plan = cluster_->plan(kManifest, "lab", "");
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().code(), ErrorCode::kUnavailable);
}

}  // namespace
}  // namespace divvy::cli
