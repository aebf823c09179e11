// What a console reads of a cluster's state.
#include "cluster_console/cluster_reading.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "served_api.h"
#include "vendors/catalog.h"

namespace divvy::cli {
namespace {

namespace json = boost::json;
using console::ClusterPodState;
using console::WaitingKind;
using test::boundPod;
using test::gpuNode;
using test::gpuPod;

json::object named(json::object object, const std::string& name, const std::string& ns = "") {
  json::object& meta = object["metadata"].is_object() ? object["metadata"].get_object()
                                                      : object["metadata"].emplace_object();
  meta["name"] = name;
  meta["uid"] = "uid-of-" + name;
  if (!ns.empty()) meta["namespace"] = ns;
  return object;
}

class ClusterReadingTest : public ::testing::Test {
 protected:
  ClusterReadingTest() { setNode(gpuNode("n", 2)); }

  void setNode(const json::object& node) {
    const json::value object = named(node, "n");
    facts_.setNode(object);
    EXPECT_TRUE(state_.setNode(object));
  }
  void setPod(const json::object& pod) {
    const json::value object = named(pod, "p", "lab");
    const Result<void> set = state_.setPod(object);
    (void)set;  // an unreadable request is a reason to wait
  }
  // The only pod.
  console::ClusterPodView pod() const {
    const console::ClusterReading reading = facts_.read(state_);
    EXPECT_EQ(reading.pods.size(), 1u);
    return reading.pods.empty() ? console::ClusterPodView() : reading.pods[0];
  }
  console::ClusterNode node() const {
    const console::ClusterReading reading = facts_.read(state_);
    EXPECT_EQ(reading.nodes.size(), 1u);
    return reading.nodes.empty() ? console::ClusterNode() : reading.nodes[0];
  }

  ClusterState state_{{*vendors::Catalog::of(vendors::builtIn()), {}, {}, {}}};
  ClusterFacts facts_{"team", "divvy-system"};
};

json::object withGate(json::object pod, const char* gate) {
  pod["spec"].get_object()["schedulingGates"] = json::array{json::object{{"name", gate}}};
  return pod;
}

json::object withCondition(json::object pod, const char* type, const char* message) {
  pod["status"].get_object()["conditions"] =
      json::array{json::object{{"type", type}, {"status", "False"}, {"message", message}}};
  return pod;
}

TEST_F(ClusterReadingTest, NothingToldYet_Unscheduled) {
  setPod(gpuPod("p"));
  EXPECT_EQ(pod().state, ClusterPodState::kWaiting);
  EXPECT_EQ(pod().waiting, WaitingKind::kUnscheduled);
  EXPECT_EQ(pod().reason, "");
  EXPECT_EQ(pod().devices, 1u);
  EXPECT_NE(pod().memory, "");
}

TEST_F(ClusterReadingTest, ReasonOfKubeScheduler_Shown) {
  setPod(withCondition(gpuPod("p"), "PodScheduled", "0/1 nodes: node(s) had a taint"));
  EXPECT_EQ(pod().waiting, WaitingKind::kUnscheduled);
  EXPECT_EQ(pod().reason, "0/1 nodes: node(s) had a taint");
}

TEST_F(ClusterReadingTest, GateOfOther_Held) {
  setPod(withGate(gpuPod("p"), "kueue.x-k8s.io/admission"));
  EXPECT_EQ(pod().waiting, WaitingKind::kHeld);
  EXPECT_NE(pod().reason.find("kueue.x-k8s.io/admission"), std::string::npos);
}

TEST_F(ClusterReadingTest, QueueGate_ReasonOfQueue) {
  setPod(withGate(gpuPod("p", {{"use.divvy.dev/queue", "q"}}), "divvy.dev/queued"));
  EXPECT_EQ(pod().waiting, WaitingKind::kQuota);
  EXPECT_NE(pod().reason, "") << "no queue has stated a reason";
  const json::value queue = named(
      {{"status",
        {{"waiting",
          {{{"reason", "needs 1000 gpuMilli, 0 left of the limit of queue q"}, {"pods", 1}}}}}}},
      "q");
  facts_.setQueue(queue);
  EXPECT_EQ(pod().queue, "q");
  EXPECT_EQ(pod().waiting, WaitingKind::kQuota);
  EXPECT_EQ(pod().reason, "needs 1000 gpuMilli, 0 left of the limit of queue q");
  facts_.removeQueue("q");
  EXPECT_NE(pod().reason, "needs 1000 gpuMilli, 0 left of the limit of queue q");
}

TEST_F(ClusterReadingTest, LargerThanEachDevice_NeverFits) {
  json::object large = gpuPod("p");
  large["spec"].at("containers").at(0).at("resources").at("limits") =
      json::object{{"nvidia.com/gpu", "1"}, {"nvidia.com/gpumem", "200000"}};
  setPod(large);
  EXPECT_EQ(pod().waiting, WaitingKind::kNeverFits);
  EXPECT_NE(pod().reason, "");
}

TEST_F(ClusterReadingTest, MoreDevicesThanAnyNode_NeverFits) {
  const auto wants = [](const char* devices) {
    json::object pod = gpuPod("p");
    pod["spec"].at("containers").at(0).at("resources").at("limits") =
        json::object{{"nvidia.com/gpu", devices}};
    return pod;
  };
  setPod(wants("2"));
  EXPECT_EQ(pod().waiting, WaitingKind::kUnscheduled) << "the node has two";
  setPod(wants("3"));
  EXPECT_EQ(pod().waiting, WaitingKind::kNeverFits);
}

// Regression: it was shown as waiting for room, which no end of a pod gives.
TEST_F(ClusterReadingTest, ModelThatNoNodeHas_NeverFits) {
  const auto wants = [](const char* key, const char* models) {
    json::object pod = gpuPod("p");
    pod["metadata"].as_object()["annotations"] = json::object{{key, models}};
    return pod;
  };
  setPod(wants("nvidia.com/use-gputype", "B200"));
  EXPECT_EQ(pod().waiting, WaitingKind::kNeverFits);
  setPod(wants("nvidia.com/nouse-gputype", "NVIDIA"));
  EXPECT_EQ(pod().waiting, WaitingKind::kNeverFits);
  setPod(wants("nvidia.com/nouse-gputype", "B200"));
  EXPECT_EQ(pod().waiting, WaitingKind::kUnscheduled) << "the node's devices are accepted";
}

TEST_F(ClusterReadingTest, ResourceQuotaRefuses_WaitsForQuota) {
  json::object waiting = withCondition(gpuPod("p"), "PodScheduled",
                                       "ResourceQuotaNotFit: exceeding resource quota q of "
                                       "namespace lab: limits: 1 at most, 1 held, 1 needed");
  waiting["status"]
      .at("conditions")
      .as_array()
      .push_back(json::object{{"type", "divvy.dev/DevicesFit"},
                              {"status", "False"},
                              {"message", "0 of 1 nodes fit: too little device memory free"}});
  setPod(waiting);
  EXPECT_EQ(pod().waiting, WaitingKind::kQuota);
  EXPECT_NE(pod().reason.find("exceeding resource quota q"), std::string::npos);
}

TEST_F(ClusterReadingTest, BoundPod_StateByPhase) {
  setPod(boundPod("p", "n", 0));
  EXPECT_EQ(pod().state, ClusterPodState::kRunning);
  EXPECT_EQ(pod().node, "n");
  json::object starting = boundPod("p", "n", 0);
  starting["status"] = json::object{{"phase", "Pending"}};
  setPod(starting);
  EXPECT_EQ(pod().state, ClusterPodState::kPending);
  json::object ending = boundPod("p", "n", 0);
  ending["metadata"].get_object()["deletionTimestamp"] = "2026-01-02T03:04:05Z";
  setPod(ending);
  EXPECT_EQ(pod().state, ClusterPodState::kEnding);
}

TEST_F(ClusterReadingTest, ContainersAndImages_OfEqualLength) {
  json::object two = boundPod("p", "n", 0);
  two["spec"].at("containers").as_array().push_back(json::object{{"name", "side"}});
  setPod(two);
  EXPECT_EQ(pod().containers, (std::vector<std::string>{"main", "side"}));
  EXPECT_EQ(pod().images, (std::vector<std::string>{"serve:1", ""}));
}

TEST_F(ClusterReadingTest, TeamLabelOfNamespace_BeforeQueueAndName) {
  setPod(gpuPod("p"));
  EXPECT_EQ(pod().team, "lab");
  facts_.setNamespace(named({{"metadata", {{"labels", {{"divvy.dev/queue", "q"}}}}}}, "lab"));
  EXPECT_EQ(pod().queue, "q");
  EXPECT_EQ(pod().team, "q");
  facts_.setNamespace(
      named({{"metadata", {{"labels", {{"divvy.dev/queue", "q"}, {"team", "vision"}}}}}}, "lab"));
  EXPECT_EQ(pod().team, "vision");
}

TEST_F(ClusterReadingTest, NodeClosedOrNotReady_Named) {
  EXPECT_EQ(node().state, console::ClusterNodeState::kReady);
  json::object closed = gpuNode("n", 2);
  closed["spec"] = json::object{{"unschedulable", true}};
  setNode(closed);
  EXPECT_EQ(node().state, console::ClusterNodeState::kCordoned);
  closed["status"].at("conditions").at(0) =
      json::object{{"type", "Ready"}, {"status", "False"}, {"reason", "KubeletStopped"}};
  setNode(closed);
  EXPECT_EQ(node().state, console::ClusterNodeState::kNotReady);
  EXPECT_EQ(node().reason, "KubeletStopped");
}

TEST_F(ClusterReadingTest, NodeWithoutDevices_LeftOut) {
  const json::value plain = named({}, "plain");
  facts_.setNode(plain);
  EXPECT_TRUE(state_.setNode(plain));
  EXPECT_EQ(facts_.read(state_).nodes.size(), 1u);
}

}  // namespace
}  // namespace divvy::cli
