// Conditions of pods that wait, written to a fake API server.
#include "controllers/pending_condition_controller.h"

#include <boost/asio/detached.hpp>

#include "controller_fixture.h"
#include "runtime/clock.h"
#include "scheduler/explain.h"

namespace divvy::scheduler {
namespace {

namespace json = boost::json;

const Texts kWhole{{"nvidia.com/gpu", "1"}, {"nvidia.com/gpucores", "100"}};

// Pod p waits.
class PendingTest : public ControllerTest {
 protected:
  void SetUp() override {
    api.set(nodePath("a"), nodeJson({}));
    ASSERT_TRUE(cache.setNode(nodeAt(nodePath("a"))));
    api.set(podPath("p"), podJson(kWhole));
    refuse();
    boost::asio::co_spawn(loop, controller.run(), boost::asio::detached);
  }
  void refuse() {
    const std::vector<std::string_view> names{"a"};
    const auto choice = cache.filterAndReserve(podAt(podPath("p")), names, {now().ms + 1'000'000});
    ASSERT_TRUE(choice && !choice->node);
  }
  // The pod gets a node: the cache and the controller are told.
  void place(const std::string& name = "p") {
    json::object pod = *api.find(podPath(name));
    pod["spec"].as_object()["nodeName"] = "a";
    api.set(podPath(name), std::move(pod));
    cache.removePod("uid-of-" + name);
    controller.onPodUpdate(podAt(podPath(name)));
  }
  // Status of the condition; empty: there is none.
  std::string condition(const std::string& name = "p") const {
    for (const kube::PodCondition& one : podAt(podPath(name)).conditions)
      if (one.type == kDevicesFit) return one.status;
    return "";
  }
  std::size_t writes() const { return api.count("PATCH", podPath("p") + "/status"); }

  PendingConditionController controller{loop.get_executor(), *client, cache, whyNot(), &stopped};
};

TEST_F(PendingTest, PodWaits_IsToldOnce) {
  pass(std::chrono::seconds(8));
  EXPECT_EQ(writes(), 0u);
  ASSERT_TRUE(until([&] { return condition() == "False"; }));
  pass(std::chrono::seconds(200));
  EXPECT_EQ(writes(), 1u) << "nothing has changed";
}

TEST_F(PendingTest, PodGetsNode_ConditionIsTrue) {
  ASSERT_TRUE(until([&] { return condition() == "False"; }));
  place();
  EXPECT_TRUE(until([&] { return condition() == "True"; }));
  pass(std::chrono::seconds(10));
  EXPECT_EQ(writes(), 2u);
}

TEST_F(PendingTest, WriteFails_IsRepeatedAfterAMinute) {
  api.inject({.method = "PATCH", .kind = test::FaultKind::kStatus});
  ASSERT_TRUE(until([&] { return writes() == 1; }));
  pass(std::chrono::seconds(50));
  EXPECT_EQ(writes(), 1u);
  EXPECT_TRUE(until([&] { return condition() == "False"; }));
}

// Of a pod that runs nothing more may be told: it is not left with a condition of the past.
TEST_F(PendingTest, WriteOfPlacedPodFails_IsRepeated) {
  ASSERT_TRUE(until([&] { return condition() == "False"; }));
  api.inject({.method = "PATCH", .kind = test::FaultKind::kStatus, .times = 2});
  place();
  EXPECT_TRUE(until([&] { return condition() == "True"; }));
  EXPECT_EQ(writes(), 4u);
}

TEST_F(PendingTest, WritesOfOnePodAlwaysFail_OthersAreWritten) {
  json::object other = podJson(kWhole);
  other["metadata"].as_object()["name"] = "q";
  other["metadata"].as_object()["uid"] = "uid-of-q";
  api.set(podPath("q"), std::move(other));
  const std::vector<std::string_view> names{"a"};
  ASSERT_TRUE(cache.filterAndReserve(podAt(podPath("q")), names, {now().ms + 1'000'000}));
  ASSERT_TRUE(until([&] { return condition() == "False" && condition("q") == "False"; }));
  api.inject({.method = "PATCH",
              .path = podPath("p") + "/status",
              .kind = test::FaultKind::kStatus,
              .times = 1'000'000});
  place("p");
  place("q");
  EXPECT_TRUE(until([&] { return condition("q") == "True"; }));
  EXPECT_EQ(condition("p"), "False");
}

TEST_F(PendingTest, AnswerLostAfterWrite_ConditionStaysAsItIs) {
  ASSERT_TRUE(until([&] { return condition() == "False"; }));
  api.inject({.method = "PATCH", .kind = test::FaultKind::kAnswerLost});
  place();
  ASSERT_TRUE(until([&] { return condition() == "True"; }));
  pass(std::chrono::seconds(10));
  EXPECT_EQ(condition(), "True");
}

TEST_F(PendingTest, NotLeader_NothingIsWritten) {
  why_not = "another leads";
  pass(std::chrono::seconds(60));
  EXPECT_EQ(writes(), 0u);
  why_not.clear();
  EXPECT_TRUE(until([&] { return condition() == "False"; }));
}

TEST_F(PendingTest, LeadershipLostBetweenWrites_NoMoreAreSent) {
  api.set(podPath("q"), podJson(kWhole));
  const std::vector<std::string_view> names{"a"};
  ASSERT_TRUE(cache.filterAndReserve(podAt(podPath("q")), names, {now().ms + 1'000'000}));
  api.inject({.method = "PATCH", .before = [this] { why_not = "another leads"; }});
  ASSERT_TRUE(until([&] { return !why_not.empty(); }));
  pass(std::chrono::seconds(200));
  EXPECT_EQ(api.count("PATCH", "/api/v1/namespaces"), 1u);
}

TEST_F(PendingTest, PodGone_IsNotRepeated) {
  api.remove(podPath("p"));
  ASSERT_TRUE(until([&] { return writes() == 1; }));
  pass(std::chrono::seconds(100));
  EXPECT_EQ(writes(), 1u);
}

TEST_F(PendingTest, NameReused_OtherPodGetsNoCondition) {
  json::object other = podJson(kWhole);
  other["metadata"].as_object()["uid"] = "another";
  api.set(podPath("p"), other);
  ASSERT_TRUE(until([&] { return writes() == 1; }));
  pass(std::chrono::seconds(10));
  EXPECT_EQ(condition(), "");
}

}  // namespace
}  // namespace divvy::scheduler
