// Evictions at a fake API server: leadership that is lost between two writes, writes that are lost,
// and objects that cannot be read. Notices, platforms and kills: eviction_controller_test.cpp.
#include "controllers/eviction_controller.h"

#include "controller_fixture.h"
#include "kube/eviction_request.h"
#include "runtime/clock.h"

namespace divvy::scheduler {
namespace {

namespace json = boost::json;
using std::chrono::seconds;

constexpr std::int64_t kNotice = 60;

// Pod p on node n does not use its devices, and its agent requests the eviction.
class EvictionTest : public ControllerTest {
 protected:
  void SetUp() override {
    api.set(nodePath("n"), nodeJson({}));
    json::object pod = podJson({});
    pod["spec"].as_object()["nodeName"] = "n";
    pod["status"] = json::object{{"phase", "Running"}};
    api.set(podPath("p"), std::move(pod));
    requested.namespace_name = "lab";
    requested.name = "p";
    requested.since = wallNanoseconds() / 1'000'000'000 - 1'000;
  }
  // The agent reports, and confirms the deadline once it has passed.
  void report() {
    if (withdrawn) return;
    const std::int64_t deadline = notice() ? notice()->deadline : 0;
    if (deadline != 0 && deadline <= wallNanoseconds() / 1'000'000'000)
      requested.confirmed = deadline;
    api.annotate(nodePath("n"), kube::kIdleKey,
                 kube::encode(kube::Complaints{{"uid-of-p", requested}}));
    controller->onNodeUpdate(nodeAt(nodePath("n")));
  }
  std::optional<kube::Notice> notice() const {
    const Result<kube::Notice> read =
        kube::decodeNotice(api.annotation(podPath("p"), kube::kIdleNoticeKey));
    return read ? std::optional(*read) : std::nullopt;
  }
  bool reportUntil(const std::function<bool()>& so) {
    return until(
        [&] {
          report();
          return so();
        },
        seconds(300), std::chrono::milliseconds(500));
  }
  bool noticed() {
    return reportUntil([&] { return notice() && notice()->told; });
  }
  bool terminating() const { return podAt(podPath("p")).meta.deleting; }
  std::size_t evictions() const { return api.count("POST", podPath("p") + "/eviction"); }

  kube::EvictionRequest requested;
  bool withdrawn = false;
  std::unique_ptr<EvictionController> controller = std::move(*EvictionController::make(
      kIdleGround, loop.get_executor(), *client, std::nullopt, counts.idle,
      {"divvy-scheduler", {kNotice, 300}, whyNot(), &stopped}));
};

TEST_F(EvictionTest, DeadlineConfirmed_PodIsEvictedOnce) {
  ASSERT_TRUE(noticed());
  EXPECT_FALSE(terminating());
  ASSERT_TRUE(reportUntil([&] { return terminating(); }));
  controller->onPodUpdate(podAt(podPath("p")));
  pass(seconds(60));
  EXPECT_EQ(evictions(), 1u);
  EXPECT_EQ(counts.idle.evicted, 1u);
}

TEST_F(EvictionTest, AnswerLostAfterEviction_PodIsEvictedOnce) {
  ASSERT_TRUE(noticed());
  api.inject({.path = podPath("p") + "/eviction", .kind = test::FaultKind::kAnswerLost});
  ASSERT_TRUE(reportUntil([&] { return terminating(); }));
  pass(seconds(60));
  EXPECT_EQ(evictions(), 1u) << "it terminates already";
}

TEST_F(EvictionTest, EvictionFails_IsRepeatedAfterAPause) {
  ASSERT_TRUE(noticed());
  api.inject({.path = podPath("p") + "/eviction", .kind = test::FaultKind::kStatus, .status = 503});
  ASSERT_TRUE(reportUntil([&] { return evictions() == 1; }));
  EXPECT_FALSE(terminating());
  EXPECT_TRUE(reportUntil([&] { return terminating(); }));
  EXPECT_EQ(evictions(), 2u);
}

TEST_F(EvictionTest, AnswerLostAfterNotice_DeadlineStays) {
  api.inject({.method = "PATCH", .path = podPath("p"), .kind = test::FaultKind::kAnswerLost});
  ASSERT_TRUE(reportUntil([&] { return notice().has_value(); }));
  const std::int64_t deadline = notice()->deadline;
  ASSERT_TRUE(noticed());
  EXPECT_EQ(notice()->deadline, deadline);
}

TEST_F(EvictionTest, LeadershipLostBeforeEviction_PodStays) {
  ASSERT_TRUE(noticed());
  // The last read before the eviction.
  api.inject({.method = "GET", .path = nodePath("n"), .before = [this] { why_not = "lost"; }});
  ASSERT_TRUE(reportUntil([&] { return !why_not.empty(); }));
  pass(seconds(120));
  EXPECT_EQ(evictions(), 0u);
  EXPECT_FALSE(terminating());
}

TEST_F(EvictionTest, LeadershipLostBeforeNotice_NothingIsWritten) {
  api.inject({.method = "GET", .path = podPath("p"), .before = [this] { why_not = "lost"; }});
  ASSERT_TRUE(reportUntil([&] { return !why_not.empty(); }));
  pass(seconds(60));
  EXPECT_EQ(api.count("PATCH", podPath("p")), 0u);
}

TEST_F(EvictionTest, RequestWithdrawnBeforeEviction_PodStays) {
  ASSERT_TRUE(noticed());
  api.inject({.method = "GET", .path = nodePath("n"), .before = [this] {
                withdrawn = true;
                api.set(nodePath("n"), nodeJson({}));
              }});
  ASSERT_TRUE(reportUntil([&] { return withdrawn; }));
  EXPECT_TRUE(until([&] { return !notice(); })) << "its notice is withdrawn, too";
  EXPECT_EQ(evictions(), 0u);
  EXPECT_EQ(counts.idle.called_off, 1u);
}

TEST_F(EvictionTest, NameReused_OtherPodStays) {
  ASSERT_TRUE(noticed());
  api.inject({.method = "GET", .path = nodePath("n"), .before = [this] {
                json::object other = *api.find(podPath("p"));
                other["metadata"].as_object()["uid"] = "another";
                api.set(podPath("p"), std::move(other));
              }});
  ASSERT_TRUE(reportUntil([&] { return evictions() == 1; }));
  pass(seconds(60));
  EXPECT_FALSE(terminating());
  EXPECT_EQ(counts.idle.evicted, 0u);
}

TEST_F(EvictionTest, UnreadableRequest_PodStays) {
  for (const char* text : {"garbage", R"({"uid-of-p":{"namespace":"../x","name":"p"}})"}) {
    api.annotate(nodePath("n"), kube::kIdleKey, text);
    controller->onNodeUpdate(nodeAt(nodePath("n")));
    pass(seconds(10));
  }
  EXPECT_TRUE(api.calls().empty());
}

}  // namespace
}  // namespace divvy::scheduler
