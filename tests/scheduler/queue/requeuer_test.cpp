// Unschedulable pods are requeued by a write, at a fake API server.
#include "queue/requeuer.h"

#include "controller_fixture.h"
#include "runtime/clock.h"

namespace divvy::scheduler {
namespace {

constexpr const char* kRequeuedAt = "divvy.dev/requeued-at";
const Texts kWhole{{"nvidia.com/gpu", "1"}, {"nvidia.com/gpucores", "100"}};

// Pods p0 to p2 wait, and there is no node.
class RequeuerTest : public ControllerTest {
 protected:
  void SetUp() override {
    for (const char* name : {"p0", "p1", "p2"}) {
      api.set(podPath(name), podJson(kWhole));
      const kube::Pod pod = podAt(podPath(name));
      const auto choice = cache.filterAndReserve(pod, {}, {now().ms + 1'000'000});
      ASSERT_TRUE(choice && !choice->node);
    }
    ASSERT_EQ(cache.pods().waiting(), 3u);
  }
  // A node with so many free devices.
  void addNode(unsigned devices) {
    api.set(nodePath("a"), deviceNodeJson("a", devices));
    ASSERT_TRUE(cache.setNode(nodeAt(nodePath("a"))));
    requeuer.requeueSoon();
  }
  std::size_t requeued() const {
    std::size_t count = 0;
    for (const std::string& path : api.paths("/api/v1/pods"))
      if (!api.annotation(path, kRequeuedAt).empty()) ++count;
    return count;
  }
  std::size_t writes() const { return api.count("PATCH", "/api/v1/namespaces"); }

  Requeuer requeuer{loop.get_executor(), *client, cache, counts, whyNot()};
};

TEST_F(RequeuerTest, CapacityAdded_WaitingPodsAreRequeued) {
  pass(std::chrono::seconds(1));
  EXPECT_EQ(writes(), 0u);
  addNode(3);
  ASSERT_TRUE(until([&] { return requeued() == 3; }));
  EXPECT_EQ(counts.kicked, 3u);
  EXPECT_EQ(writes(), 3u);
}

TEST_F(RequeuerTest, ManyCalls_OneLookAtPods) {
  addNode(3);
  for (int i = 0; i < 10; ++i) requeuer.requeueSoon();
  pass(std::chrono::milliseconds(500));
  EXPECT_EQ(writes(), 3u);
}

TEST_F(RequeuerTest, WriteFails_PodIsRequeuedLater) {
  api.inject({.method = "PATCH", .kind = test::FaultKind::kStatus, .times = 3});
  addNode(3);
  ASSERT_TRUE(until([&] { return writes() == 3; }));
  pass(std::chrono::milliseconds(100));
  EXPECT_EQ(requeued(), 0u);
  EXPECT_EQ(counts.kicked, 0u);
  EXPECT_TRUE(until([&] {
    requeuer.requeueSoon();
    return requeued() == 3;
  }));
}

TEST_F(RequeuerTest, PodGone_OthersAreRequeued) {
  api.remove(podPath("p0"));
  addNode(3);
  EXPECT_TRUE(until([&] { return requeued() == 2; }));
}

TEST_F(RequeuerTest, LeadershipLostBeforeLook_NothingIsWritten) {
  addNode(3);
  why_not = "another leads";
  pass(std::chrono::seconds(5));
  EXPECT_EQ(writes(), 0u);
  why_not.clear();
  requeuer.requeueSoon();
  EXPECT_TRUE(until([&] { return requeued() == 3; }));
}

TEST_F(RequeuerTest, LeadershipLostBetweenWrites_NoMoreAreWritten) {
  api.inject({.method = "PATCH", .before = [this] { why_not = "another leads"; }});
  addNode(3);
  pass(std::chrono::seconds(5));
  EXPECT_EQ(writes(), 1u);
  EXPECT_EQ(requeued(), 1u);
}

}  // namespace
}  // namespace divvy::scheduler
