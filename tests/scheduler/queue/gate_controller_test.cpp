// Scheduling gates and the status of queues, written to a fake API server.
#include "queue/gate_controller.h"

#include "controller_fixture.h"
#include "gate_world.h"

namespace divvy::scheduler {
namespace {

namespace json = boost::json;
using std::chrono::seconds;

const Texts kWhole{{"nvidia.com/gpu", "1"}, {"nvidia.com/gpucores", "100"}};

std::string queuePath(const std::string& name) {
  return std::string(kube::kQueuesPath) + '/' + name;
}

json::object limitOf(std::int64_t devices) {
  return {{"spec", json::object{{"limit", json::array{json::object{
                                              {"model", "*"}, {"gpuMilli", devices * 1000}}}}}}};
}

// A node with two devices; queue q has a limit of two.
class GateTest : public ControllerTest {
 protected:
  void SetUp() override {
    api.set("/api/v1/namespaces/lab", json::object{});
    api.set(queuePath("q"), limitOf(2));
    api.set(nodePath("a"), deviceNodeJson("a", 2));
    ASSERT_TRUE(cache.setNode(nodeAt(nodePath("a"))));
  }
  void begin() { begin(*client); }
  void begin(kube::Client& with) {
    lease = std::move(*LeaseWatcher::make(loop, access(), {}));
    preemption = std::make_unique<PreemptionController>(
        loop.get_executor(), with, cache, counts.preemption,
        PreemptionController::Options{"divvy-scheduler", 0, whyNot(), &stopped});
    gate = std::make_unique<GateController>(loop.get_executor(), with, allVendors(), cache, *lease,
                                            GateController::Options{seconds(3'600), whyNot()},
                                            *preemption, counts.preemption, &stopped);
    gate->start();
  }
  void add(const std::string& name, const std::string& queue = "q") {
    json::object pod = podJson(kWhole, {{kQueueKey, queue}});
    json::object& spec = pod["spec"].as_object();
    spec["schedulerName"] = "divvy-scheduler";
    spec["schedulingGates"] = json::array{json::object{{"name", kQueueGate}}};
    api.set(podPath(name), std::move(pod));
    tell(name);
  }
  // As the watch does.
  void tell(const std::string& name) {
    const kube::Pod pod = podAt(podPath(name));
    ASSERT_TRUE(cache.setPod(pod));
    gate->onPodUpdate(pod);
  }
  bool gated(const std::string& name) const { return isGated(podAt(podPath(name))); }
  std::size_t writes(const std::string& name) const { return api.count("PATCH", podPath(name)); }
  json::value status(const std::string& queue) const {
    const json::value* found = api.find(queuePath(queue))->if_contains("status");
    return found == nullptr ? json::value() : *found;
  }

  std::unique_ptr<LeaseWatcher> lease;
  std::unique_ptr<PreemptionController> preemption;
  std::unique_ptr<GateController> gate;
};

TEST_F(GateTest, DevicesFree_GateIsRemovedWithReservation) {
  begin();
  add("p");
  ASSERT_TRUE(until([&] { return !gated("p"); }));
  EXPECT_NE(api.annotation(podPath("p"), kReservationKey), "");
  EXPECT_EQ(api.annotation(podPath("p"), "divvy.dev/plan"),
            api.annotation(podPath("p"), kReservationKey))
      << "a leader of the release before may follow";
  EXPECT_EQ(cache.pods().nodeOf("uid-of-p"), "a");
  tell("p");
  pass(seconds(10));
  EXPECT_EQ(writes("p"), 1u);
}

TEST_F(GateTest, QueueAtItsLimit_PodStaysGated) {
  api.set(queuePath("q"), limitOf(1));
  begin();
  ASSERT_TRUE(until([&] { return gate->known(); }));
  add("p1");
  add("p2");
  ASSERT_TRUE(until([&] { return !gated("p1") || !gated("p2"); }));
  pass(seconds(10));
  EXPECT_NE(gated("p1"), gated("p2"));
  EXPECT_EQ(writes("p1") + writes("p2"), 1u);
}

TEST_F(GateTest, WriteFails_IsRepeated) {
  begin();
  api.inject(
      {.method = "PATCH", .path = podPath("p"), .kind = test::FaultKind::kStatus, .times = 2});
  add("p");
  ASSERT_TRUE(until([&] { return !gated("p"); }));
  EXPECT_EQ(cache.pods().nodeOf("uid-of-p"), "a");
}

TEST_F(GateTest, AnswerLostAfterWrite_ReservationStays) {
  begin();
  api.inject({.method = "PATCH", .path = podPath("p"), .kind = test::FaultKind::kAnswerLost});
  add("p");
  ASSERT_TRUE(until([&] { return !gated("p"); }));
  tell("p");
  pass(seconds(10));
  EXPECT_EQ(cache.pods().nodeOf("uid-of-p"), "a");
  EXPECT_LE(writes("p"), 2u);
  add("p2");
  add("p3");
  ASSERT_TRUE(until([&] { return !gated("p2") || !gated("p3"); }));
  pass(seconds(10));
  EXPECT_NE(gated("p2"), gated("p3")) << "p has the other device";
}

TEST_F(GateTest, LeadershipLostBeforeWrite_NothingIsSent) {
  const std::unique_ptr<kube::Client> slow = clientWith({0.1, 1, std::chrono::hours(1), 2});
  begin(*slow);
  ASSERT_TRUE(until([&] { return gate->known(); }));
  add("p");
  ASSERT_TRUE(until([&] { return cache.pods().nodeOf("uid-of-p").has_value(); }));
  why_not = "another leads";
  pass(seconds(200));
  EXPECT_EQ(writes("p"), 0u);
  EXPECT_TRUE(gated("p"));
  why_not.clear();
  gate->takeOver();
  EXPECT_TRUE(until([&] { return !gated("p"); }, seconds(600)));
}

TEST_F(GateTest, NotLeader_NothingIsWritten) {
  begin();
  why_not = "another leads";
  add("p");
  pass(seconds(20));
  EXPECT_EQ(writes("p"), 0u);
  EXPECT_EQ(api.count("PATCH", kube::kQueuesPath), 0u);
}

TEST_F(GateTest, NameReused_OtherPodStaysGated) {
  begin();
  json::object other;
  api.inject({.method = "PATCH", .path = podPath("p"), .before = [&] {
                other = *api.find(podPath("p"));
                other["metadata"].as_object()["uid"] = "another";
                api.set(podPath("p"), other);
              }});
  add("p");
  ASSERT_TRUE(until([&] { return writes("p") == 1; }));
  pass(std::chrono::milliseconds(100));
  EXPECT_TRUE(gated("p"));
  gate->onPodDelete("uid-of-p");
  cache.removePod("uid-of-p");
  tell("p");
  EXPECT_TRUE(until([&] { return !gated("p"); }));
}

TEST_F(GateTest, QueueStatus_IsWrittenWhenItChanges) {
  api.set(queuePath("q"), limitOf(1));
  begin();
  ASSERT_TRUE(until([&] { return gate->known(); }));
  add("p1");
  add("p2");
  ASSERT_TRUE(until([&] {
    const json::value now = status("q");
    return now.is_object() && now.at("pending") == json::value(1);
  }));
  const std::size_t writes = api.count("PATCH", kube::kQueuesPath);
  pass(seconds(10));
  EXPECT_EQ(api.count("PATCH", kube::kQueuesPath), writes) << "nothing has changed";
}

TEST_F(GateTest, QueueStatusWriteFails_IsRepeated) {
  begin();
  api.inject({.method = "PATCH",
              .path = queuePath("q") + "/status",
              .kind = test::FaultKind::kStatus,
              .times = 2});
  add("p");
  ASSERT_TRUE(until([&] { return status("q").is_object(); }));
  EXPECT_GE(api.count("PATCH", queuePath("q")), 3u);
}

TEST_F(GateTest, UnreadableQueue_OtherQueuesGoOn) {
  begin();
  api.set(queuePath("bad"), json::object{{"spec", json::object{{"limit", "much"}}}});
  ASSERT_TRUE(until([&] { return gate->known(); }));
  add("p");
  add("b", "bad");
  EXPECT_TRUE(until([&] { return !gated("p"); }));
  pass(seconds(5));
  EXPECT_TRUE(gated("b"));
}

TEST_F(GateTest, ClusterWithoutQueues_IsKnown) {
  api.inject({.method = "GET",
              .path = kube::kQueuesPath,
              .kind = test::FaultKind::kStatus,
              .status = 404,
              .times = 1'000});
  begin();
  EXPECT_TRUE(until([&] { return gate->known(); }));
}

TEST_F(GateTest, HistoryExpired_QueuesAreListedAgain) {
  begin();
  ASSERT_TRUE(until([&] { return gate->known(); }));
  pass(seconds(1));
  api.breakWatches();
  api.set(queuePath("q"), limitOf(0));
  api.expireHistory();
  pass(seconds(5));
  add("p");
  pass(seconds(10));
  EXPECT_TRUE(gated("p"));
}

}  // namespace
}  // namespace divvy::scheduler
