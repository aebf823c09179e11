// Watches of a fake API server, and what a console reads of them.
#include "cluster_console/cluster_watch.h"

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
constexpr const char* kNode = "/api/v1/nodes/n";
constexpr const char* kPod = "/api/v1/namespaces/lab/pods/p";
constexpr const char* kQueue = "/apis/divvy.dev/v1alpha1/queues/research";

class ClusterWatchTest : public ::testing::Test {
 protected:
  void start() {
    ClusterWatch::Options options;
    options.cluster.connection.kubeconfig = api_->kubeconfig();
    options.team_label = "team";
    Result<std::unique_ptr<ClusterWatch>> watch = ClusterWatch::start(options);
    ASSERT_TRUE(watch) << watch.error().message();
    watch_ = std::move(*watch);
  }
  console::ClusterReading read() {
    Result<console::ClusterReading> reading = watch_->read(kPatience);
    EXPECT_TRUE(reading) << reading.error().message();
    return reading ? std::move(*reading) : console::ClusterReading();
  }
  // Reads until the condition is true; `reading_` is the last reading.
  bool until(const std::function<bool(const console::ClusterReading&)>& condition) {
    for (const auto end = std::chrono::steady_clock::now() + kPatience;
         std::chrono::steady_clock::now() < end; std::this_thread::yield()) {
      reading_ = read();
      if (condition(reading_)) return true;
    }
    return false;
  }
  bool untilKnown() {
    return until([](const auto& reading) {
      return std::all_of(reading.collections.begin(), reading.collections.end(),
                         [](const auto& one) { return one.reached; });
    });
  }
  const console::ClusterCollection& collection(const std::string& name) const {
    const auto found =
        std::find_if(reading_.collections.begin(), reading_.collections.end(),
                     [&](const console::ClusterCollection& one) { return one.name == name; });
    static const console::ClusterCollection none;
    EXPECT_NE(found, reading_.collections.end()) << name;
    return found == reading_.collections.end() ? none : *found;
  }

  std::unique_ptr<test::ServedApi> api_ = std::make_unique<test::ServedApi>();
  std::unique_ptr<ClusterWatch> watch_;
  console::ClusterReading reading_;
};

TEST_F(ClusterWatchTest, EmptyCluster_KnownWithoutFailures) {
  start();
  ASSERT_TRUE(untilKnown());
  EXPECT_TRUE(reading_.known());
  for (const console::ClusterCollection& one : reading_.collections)
    EXPECT_EQ(one.failure, "") << one.name;
  EXPECT_TRUE(reading_.nodes.empty());
  EXPECT_TRUE(reading_.pods.empty());
  EXPECT_EQ(reading_.collections.size(), 7u);
}

TEST_F(ClusterWatchTest, Node_AppearsChangesDisappears) {
  start();
  ASSERT_TRUE(untilKnown());
  api_->set(kNode, gpuNode("n", 2));
  ASSERT_TRUE(until([](const auto& now) { return now.devices.size() == 2; }));
  ASSERT_EQ(reading_.nodes.size(), 1u);
  EXPECT_EQ(reading_.nodes[0].name, "n");
  EXPECT_EQ(reading_.nodes[0].state, console::ClusterNodeState::kReady);
  EXPECT_EQ(reading_.devices[0].memory, gib(80));
  json::object node = gpuNode("n", 2);
  node["status"].at("conditions").at(0) =
      json::object{{"type", "Ready"}, {"status", "Unknown"}, {"message", "kubelet stopped"}};
  api_->set(kNode, node);
  ASSERT_TRUE(until([](const auto& now) {
    return now.nodes.size() == 1 && now.nodes[0].state == console::ClusterNodeState::kNotReady;
  }));
  EXPECT_EQ(reading_.nodes[0].reason, "kubelet stopped");
  api_->set(kNode, gpuNode("n", 3));
  ASSERT_TRUE(until([](const auto& now) { return now.devices.size() == 3; }));
  api_->remove(kNode);
  ASSERT_TRUE(until([](const auto& now) { return now.nodes.empty(); }));
  EXPECT_TRUE(reading_.devices.empty());
}

TEST_F(ClusterWatchTest, Pod_WaitsThenRunsThenGone) {
  api_->set(kNode, gpuNode("n", 1));
  start();
  ASSERT_TRUE(untilKnown());
  api_->set(kPod, gpuPod("p"));
  ASSERT_TRUE(until([](const auto& now) { return now.pods.size() == 1; }));
  EXPECT_EQ(reading_.pods[0].state, console::ClusterPodState::kWaiting);
  EXPECT_EQ(reading_.pods[0].devices, 1u);
  EXPECT_EQ(reading_.pods[0].team, "lab");
  EXPECT_EQ(reading_.pods[0].created_ms, 1'767'323'045'000);
  EXPECT_TRUE(reading_.shares.empty());
  api_->set(kPod, boundPod("p", "n", 0));
  ASSERT_TRUE(until([](const auto& now) { return now.shares.size() == 1; }));
  EXPECT_EQ(reading_.pods[0].state, console::ClusterPodState::kRunning);
  EXPECT_EQ(reading_.shares[0].memory, gib(8));
  EXPECT_EQ(reading_.shares[0].uuid, "GPU-n-0");
  EXPECT_EQ(reading_.devices[0].promised, gib(8));
  EXPECT_EQ(reading_.devices[0].tenants, 1u);
  api_->remove(kPod);
  ASSERT_TRUE(until([](const auto& now) { return now.pods.empty(); }));
  EXPECT_TRUE(reading_.shares.empty());
  EXPECT_EQ(reading_.devices[0].promised, Bytes{});
}

TEST_F(ClusterWatchTest, PodEnds_ShareFreed) {
  api_->set(kNode, gpuNode("n", 1));
  api_->set(kPod, boundPod("p", "n", 0));
  start();
  ASSERT_TRUE(until([](const auto& now) { return now.shares.size() == 1; }));
  json::object ended = boundPod("p", "n", 0);
  ended["status"] = json::object{{"phase", "Succeeded"}};
  api_->set(kPod, ended);
  ASSERT_TRUE(until([](const auto& now) { return now.pods.empty(); }));
  EXPECT_TRUE(reading_.shares.empty());
}

TEST_F(ClusterWatchTest, Queue_AppearsChangesDisappears) {
  start();
  ASSERT_TRUE(untilKnown());
  api_->set(kQueue, {{"spec", {{"limit", {{{"model", "*"}, {"gpuMilli", 1000}}}}}}});
  ASSERT_TRUE(until([](const auto& now) { return now.queues.size() == 1; }));
  EXPECT_EQ(reading_.queues[0].meta.name, "research");
  api_->set(kQueue, {{"spec", {{"parent", "all"}}}});
  ASSERT_TRUE(until(
      [](const auto& now) { return now.queues.size() == 1 && now.queues[0].parent == "all"; }));
  api_->remove(kQueue);
  ASSERT_TRUE(until([](const auto& now) { return now.queues.empty(); }));
}

TEST_F(ClusterWatchTest, Namespace_TeamAndQueueOfPods) {
  api_->set("/api/v1/namespaces/lab",
            {{"metadata", {{"labels", {{"team", "vision"}, {"divvy.dev/queue", "research"}}}}}});
  api_->set(kPod, gpuPod("p"));
  start();
  ASSERT_TRUE(
      until([](const auto& now) { return now.pods.size() == 1 && now.pods[0].team == "vision"; }));
  EXPECT_EQ(reading_.pods[0].queue, "research");
  api_->remove("/api/v1/namespaces/lab");
  ASSERT_TRUE(until([](const auto& now) { return now.pods[0].team == "lab"; }));
  EXPECT_EQ(reading_.pods[0].queue, "");
}

TEST_F(ClusterWatchTest, Event_ShownAfterItsEnd) {
  start();
  ASSERT_TRUE(untilKnown());
  const std::string path = "/api/v1/namespaces/lab/events/p.1";
  api_->set(path, {{"source", {{"component", "divvy-scheduler"}}},
                   {"reason", "FailedScheduling"},
                   {"message", "0/1 nodes"},
                   {"lastTimestamp", "2026-01-02T03:04:05Z"},
                   {"involvedObject", {{"namespace", "lab"}, {"name", "p"}}}});
  ASSERT_TRUE(until([](const auto& now) { return now.events.size() == 1; }));
  EXPECT_EQ(reading_.events[0].pod, "p");
  EXPECT_EQ(reading_.events[0].reason, "FailedScheduling");
  EXPECT_EQ(reading_.events[0].time_ms, 1'767'323'045'000);
  api_->remove(path);
  api_->set(kPod, gpuPod("p"));
  ASSERT_TRUE(until([](const auto& now) { return now.pods.size() == 1; }));
  EXPECT_EQ(read().events.size(), 1u);
}

// Of a node the Event is in the namespace "default".
TEST_F(ClusterWatchTest, EventOfConsole_Shown) {
  start();
  ASSERT_TRUE(untilKnown());
  api_->set("/api/v1/namespaces/default/events/n.1",
            {{"source", {{"component", "divvy-console"}}},
             {"reason", "DeviceCordoned"},
             {"message", "jane: device GPU-1 of n takes no new pods"},
             {"lastTimestamp", "2026-01-02T03:04:05Z"},
             {"involvedObject", {{"kind", "Node"}, {"name", "n"}}}});
  ASSERT_TRUE(until([](const auto& now) { return now.events.size() == 1; }));
  EXPECT_EQ(reading_.events[0].namespace_name, "default");
  EXPECT_EQ(reading_.events[0].pod, "n");
  EXPECT_EQ(reading_.events[0].actor, "divvy-console");
  EXPECT_EQ(reading_.collections.size(), 7u);
}

TEST_F(ClusterWatchTest, UnreadablePod_CountedUntilReadable) {
  json::object wrong = gpuPod("p");
  wrong["spec"].get_object()["containers"] = 5;
  api_->set(kPod, wrong);
  api_->set("/api/v1/namespaces/lab/pods/q", wrong);
  start();
  ASSERT_TRUE(untilKnown());
  EXPECT_EQ(collection("pods").unread, 2u);
  EXPECT_EQ(collection("pods").example.find("p: "), 0u) << collection("pods").example;
  EXPECT_EQ(collection("pods").failure, "");
  api_->set(kPod, gpuPod("p"));
  ASSERT_TRUE(until([](const auto& now) { return now.pods.size() == 1; }));
  EXPECT_EQ(collection("pods").unread, 1u);
  api_->remove("/api/v1/namespaces/lab/pods/q");
  ASSERT_TRUE(until([this](const auto&) { return collection("pods").unread == 0; }));
  EXPECT_EQ(collection("pods").example, "");
}

TEST_F(ClusterWatchTest, NoQueueKind_NoFailure) {
  std::set<std::string> collections = test::FakeApi::allCollections();
  collections.erase("/apis/divvy.dev/v1alpha1/queues");
  api_ = std::make_unique<test::ServedApi>(collections);
  start();
  ASSERT_TRUE(untilKnown());
  EXPECT_EQ(collection("queues").failure, "");
}

TEST_F(ClusterWatchTest, NoRightToReadBudgets_FailureOfThemOnly) {
  api_->use([](test::FakeApi& api) {
    test::Fault fault;
    fault.path = "/apis/policy/v1/poddisruptionbudgets";
    fault.kind = test::FaultKind::kStatus;
    fault.status = 403;
    fault.times = 1000;
    api.inject(fault);
  });
  start();
  ASSERT_TRUE(until([this](const auto& now) {
    return now.known() && !collection("poddisruptionbudgets").failure.empty();
  }));
  EXPECT_FALSE(collection("poddisruptionbudgets").reached);
  EXPECT_EQ(collection("pods").failure, "");
}

TEST_F(ClusterWatchTest, ServerGone_FailureAndRowsStay) {
  api_->set(kNode, gpuNode("n", 1));
  api_->set(kPod, boundPod("p", "n", 0));
  start();
  ASSERT_TRUE(untilKnown());
  ASSERT_TRUE(until([](const auto& now) { return now.shares.size() == 1; }));
  api_->close();
  ASSERT_TRUE(until([](const auto& now) {
    return std::all_of(now.collections.begin(), now.collections.end(),
                       [](const auto& one) { return !one.failure.empty(); });
  }));
  EXPECT_TRUE(reading_.known());
  EXPECT_EQ(reading_.nodes.size(), 1u);
  EXPECT_EQ(reading_.shares.size(), 1u);
}

TEST_F(ClusterWatchTest, HistoryExpired_ListedAgain) {
  api_->set(kNode, gpuNode("n", 1));
  api_->set(kPod, gpuPod("p"));
  start();
  ASSERT_TRUE(until([](const auto& now) { return now.pods.size() == 1; }));
  api_->use([](test::FakeApi& api) {
    api.remove(kPod);
    api.set("/api/v1/namespaces/lab/pods/q", gpuPod("q"));
    api.expireHistory();
    api.breakWatches();
  });
  ASSERT_TRUE(
      until([](const auto& now) { return now.pods.size() == 1 && now.pods[0].name == "q"; }));
}

TEST_F(ClusterWatchTest, ThreadBusy_ReadUnavailable) {
  start();
  ASSERT_TRUE(untilKnown());
  auto gate = std::make_shared<std::promise<void>>();
  std::shared_future<void> opened = gate->get_future().share();
  const Result<void> ran =
      watch_->run([opened](Cluster&) { opened.wait_for(kPatience); }, std::chrono::milliseconds(1));
  EXPECT_FALSE(ran);
  const Result<console::ClusterReading> reading = watch_->read(std::chrono::milliseconds(1));
  ASSERT_FALSE(reading);
  EXPECT_EQ(reading.error().code(), ErrorCode::kUnavailable);
  gate->set_value();
  EXPECT_TRUE(watch_->read(kPatience));
}

TEST_F(ClusterWatchTest, Name_IsTheCurrentContext) {
  ClusterWatch::Options options;
  options.cluster.connection.kubeconfig = api_->kubeconfig();
  const auto named = ClusterWatch::start(options);
  ASSERT_TRUE(named) << named.error().message();
  EXPECT_EQ((*named)->name(), "staging");
}

TEST_F(ClusterWatchTest, DestroyedWhileWatching_EndsAtOnce) {
  start();
  ASSERT_TRUE(untilKnown());
  const auto begin = std::chrono::steady_clock::now();
  watch_.reset();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, seconds(5));
}

TEST_F(ClusterWatchTest, DestroyedWhileServerSilent_EndsWithin5s) {
  api_->use([](test::FakeApi& api) {
    test::Fault fault;
    fault.delay = seconds(60);
    fault.times = 1000;
    api.inject(fault);
  });
  start();
  EXPECT_FALSE(read().known());
  const auto begin = std::chrono::steady_clock::now();
  watch_.reset();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, seconds(5));
}

TEST_F(ClusterWatchTest, DestroyedWithoutServer_EndsWithin5s) {
  api_->close();
  start();
  ASSERT_TRUE(until([](const auto& now) { return !now.collections[0].failure.empty(); }));
  EXPECT_FALSE(reading_.known());
  const auto begin = std::chrono::steady_clock::now();
  watch_.reset();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, seconds(5));
}

}  // namespace
}  // namespace divvy::cli
