// Resizes of running pods: what is written to a fake API server, and what stays booked.
#include "controllers/resize_controller.h"

#include "annotations/pending_resize.h"
#include "controller_fixture.h"
#include "runtime/clock.h"

namespace divvy::scheduler {
namespace {

namespace json = boost::json;
using std::chrono::seconds;

constexpr const char* kAllocated = "hami.io/vgpu-devices-allocated";

Texts sized(const std::string& mebibytes) {
  return {{"nvidia.com/gpu", "1"}, {"nvidia.com/gpumem", mebibytes}, {"nvidia.com/gpucores", "10"}};
}

// Pod p runs on the only device of node a, 10,000 MiB of 81,920.
class ResizeTest : public ControllerTest {
 protected:
  void SetUp() override {
    api.set(nodePath("a"), deviceNodeJson("a", 1));
    ASSERT_TRUE(cache.setNode(nodeAt(nodePath("a"))));
    api.set(podPath("p"), podJson(sized("10000")));
    const std::vector<std::string_view> names{"a"};
    const auto choice = cache.filterAndReserve(podAt(podPath("p")), names, {now().ms + 1'000'000});
    ASSERT_TRUE(choice && choice->node);
    const Result<BindPlan> plan = cache.assume("uid-of-p", "a", 1);
    ASSERT_TRUE(plan);
    cache.finishBinding("uid-of-p", BindOutcome::kBound);
    json::object pod = *api.find(podPath("p"));
    pod["spec"].as_object()["nodeName"] = "a";
    pod["status"] = json::object{{"phase", "Running"}};
    json::object annotations;
    for (const auto& [key, value] : plan->annotations) annotations[key] = value;
    pod["metadata"].as_object()["annotations"] = std::move(annotations);
    api.set(podPath("p"), std::move(pod));
    tell();
  }
  // As the watch does.
  void tell() {
    ASSERT_TRUE(cache.setPod(podAt(podPath("p"))));
    controller.onPodUpdate(podAt(podPath("p")));
  }
  void request(const std::string& text) {
    api.annotate(podPath("p"), kube::kChangeKey, text);
    tell();
  }
  static std::string requestOf(const std::string& id, std::uint64_t mebibytes) {
    kube::ResizeRequest change;
    change.id = id;
    change.container = "c0";
    change.mebibytes = mebibytes;
    return kube::encode(change);
  }
  void request(const std::string& id, std::uint64_t mebibytes) {
    request(requestOf(id, mebibytes));
  }
  // None: nothing is written.
  std::optional<kube::ResizeState> state() const {
    const std::string text = api.annotation(podPath("p"), kube::kChangeStateKey);
    if (text.empty()) return std::nullopt;
    return *kube::decodeChangeState(text);
  }
  bool in(kube::ResizePhase phase) const { return state() && state()->phase == phase; }
  void agentReports(const std::string& token, const kube::ResizeResult& result) {
    api.annotate(nodePath("a"), kube::kChangesKey,
                 kube::encode(kube::ChangeResults{{token, result}}));
    controller.onNodeUpdate(nodeAt(nodePath("a")));
  }
  // Whether so much is free on the device.
  bool fits(const std::string& mebibytes) {
    const kube::Pod pod = podNamed("q" + std::to_string(++tries), sized(mebibytes));
    const std::vector<std::string_view> names{"a"};
    const auto choice = cache.filterAndReserve(pod, names, {now().ms + 1'000'000});
    cache.removePod(pod.meta.uid);
    return choice && choice->node.has_value();
  }
  std::size_t writes() const { return api.count("PATCH", podPath("p")); }

  unsigned tries = 0;
  std::string beyond;  // why the queue's quota refuses it
  ResizeController controller{loop.get_executor(),
                              *client,
                              allVendors(),
                              cache,
                              counts.changes,
                              {whyNot(), [] { return std::string("term/1"); },
                               [this](const std::string&) { return beyond; },
                               [this](const kube::Pod& pod) { EXPECT_TRUE(cache.setPod(pod)); },
                               [](const std::string&) { return false; }, &stopped}};
};

TEST_F(ResizeTest, Request_IsAdmittedAndRecorded) {
  ASSERT_TRUE(fits("60000"));
  request("r1", 60'000);
  ASSERT_TRUE(until([&] { return in(kube::ResizePhase::kAdmitted); }));
  EXPECT_EQ(state()->term, "term/1");
  EXPECT_FALSE(fits("60000")) << "the larger size is booked";
  tell();
  agentReports(state()->token, {true, "", ""});
  ASSERT_TRUE(until([&] { return in(kube::ResizePhase::kDone); }));
  EXPECT_NE(api.annotation(podPath("p"), kAllocated).find(",60000,"), std::string::npos);
  tell();
  pass(seconds(5));
  EXPECT_EQ(writes(), 2u);
  EXPECT_EQ(counts.changes.admitted, 1u);
  EXPECT_EQ(counts.changes.done, 1u);
}

TEST_F(ResizeTest, NoRoom_IsRefusedOnce) {
  request("r1", 90'000);
  ASSERT_TRUE(until([&] { return in(kube::ResizePhase::kRefused); }));
  tell();
  pass(seconds(5));
  EXPECT_EQ(writes(), 1u);
  EXPECT_EQ(counts.changes.refused, 1u);
}

TEST_F(ResizeTest, QueueRefuses_NothingStaysBooked) {
  beyond = "queue q is full";
  request("r1", 60'000);
  ASSERT_TRUE(until([&] { return in(kube::ResizePhase::kRefused); }));
  EXPECT_TRUE(fits("60000"));
}

TEST_F(ResizeTest, WriteFails_IsRepeatedAndStaysBooked) {
  api.inject({.method = "PATCH", .kind = test::FaultKind::kStatus, .times = 2});
  request("r1", 60'000);
  ASSERT_TRUE(until([&] { return writes() == 1; }));
  pass(std::chrono::milliseconds(500));
  EXPECT_FALSE(fits("60000"));
  ASSERT_TRUE(until([&] { return in(kube::ResizePhase::kAdmitted); }));
  EXPECT_EQ(counts.changes.admitted, 1u);
}

// The admission is written, and the watch tells of it late: its second write meets a conflict.
TEST_F(ResizeTest, AnswerLostAfterWrite_StaysBookedUntilTold) {
  api.inject({.method = "PATCH", .kind = test::FaultKind::kAnswerLost});
  request("r1", 60'000);
  ASSERT_TRUE(until([&] { return writes() == 2; }));
  const std::string token = state()->token;
  pass(seconds(5));
  EXPECT_FALSE(fits("60000"));
  tell();
  pass(seconds(5));
  EXPECT_EQ(state()->token, token) << "it is admitted once";
  EXPECT_FALSE(fits("60000"));
}

TEST_F(ResizeTest, PodChangedBeforeWrite_IsDecidedAgain) {
  api.inject({.method = "PATCH", .before = [this] { api.annotate(podPath("p"), "other", "x"); }});
  request("r1", 60'000);
  ASSERT_TRUE(until([&] { return writes() == 1; }));
  pass(std::chrono::milliseconds(100));
  EXPECT_FALSE(state());
  tell();
  ASSERT_TRUE(until([&] { return in(kube::ResizePhase::kAdmitted); }));
  EXPECT_EQ(api.annotation(podPath("p"), "other"), "x");
}

TEST_F(ResizeTest, RequestWithdrawnBeforeWrite_NothingStaysBooked) {
  api.inject({.method = "PATCH", .before = [this] {
                json::object pod = *api.find(podPath("p"));
                pod["metadata"].at("annotations").as_object().erase(kube::kChangeKey);
                api.set(podPath("p"), std::move(pod));
              }});
  request("r1", 60'000);
  ASSERT_TRUE(until([&] { return writes() == 1; }));
  tell();
  pass(seconds(5));
  EXPECT_FALSE(state());
  EXPECT_TRUE(fits("60000"));
}

TEST_F(ResizeTest, LeadershipLostBeforeWrite_NothingIsSent) {
  const std::unique_ptr<kube::Client> slow = clientThatWaits();
  ResizeController late(loop.get_executor(), *slow, allVendors(), cache, counts.changes,
                        {whyNot(), [] { return std::string("term/1"); },
                         [](const std::string&) { return std::string(); },
                         [this](const kube::Pod& pod) { EXPECT_TRUE(cache.setPod(pod)); },
                         [](const std::string&) { return false; }, &stopped});
  api.annotate(podPath("p"), kube::kChangeKey, requestOf("r1", 60'000));
  late.onPodUpdate(podAt(podPath("p")));
  loop.restart();
  loop.poll();
  EXPECT_FALSE(fits("60000")) << "it is decided";
  why_not = "another leads";
  pass(std::chrono::hours(1));
  EXPECT_EQ(writes(), 0u);
  tell();  // as a list after the return of leadership
  EXPECT_TRUE(fits("60000"));
  why_not.clear();
  EXPECT_TRUE(until([&] { return in(kube::ResizePhase::kAdmitted); }));
}

TEST_F(ResizeTest, AgentDoesNotAnswer_IsRefusedAfterAMinute) {
  request("r1", 60'000);
  ASSERT_TRUE(until([&] { return in(kube::ResizePhase::kAdmitted); }));
  tell();
  pass(seconds(50));
  EXPECT_TRUE(in(kube::ResizePhase::kAdmitted));
  ASSERT_TRUE(until([&] { return in(kube::ResizePhase::kRefused); }));
  EXPECT_EQ(state()->reason, "NoAnswer");
}

TEST_F(ResizeTest, UnreadableRequest_IsRefusedOnce) {
  request(R"({"id":"../x","container":7})");
  ASSERT_TRUE(until([&] { return in(kube::ResizePhase::kRefused); }));
  tell();
  pass(seconds(5));
  EXPECT_EQ(writes(), 1u);
  EXPECT_TRUE(fits("60000"));
}

// During an upgrade to the next release, or after a rollback from it.
TEST_F(ResizeTest, PresentKeys_AreReadAndOldOnesWritten) {
  api.annotate(podPath("p"), kube::kResizeKey, requestOf("r1", 60'000));
  tell();
  ASSERT_TRUE(until([&] { return in(kube::ResizePhase::kAdmitted); }));
  tell();
  api.annotate(nodePath("a"), kube::kResizeResultsKey,
               kube::encode(kube::ChangeResults{{state()->token, {true, "", ""}}}));
  controller.onNodeUpdate(nodeAt(nodePath("a")));
  ASSERT_TRUE(until([&] { return in(kube::ResizePhase::kDone); }));
  EXPECT_EQ(api.annotation(podPath("p"), kube::kResizeStateKey), "");
}

TEST_F(ResizeTest, UnreadableResults_ChangeNothing) {
  request("r1", 60'000);
  ASSERT_TRUE(until([&] { return in(kube::ResizePhase::kAdmitted); }));
  tell();
  api.annotate(nodePath("a"), kube::kChangesKey, "[garbage");
  controller.onNodeUpdate(nodeAt(nodePath("a")));
  pass(seconds(5));
  EXPECT_TRUE(in(kube::ResizePhase::kAdmitted));
  EXPECT_EQ(writes(), 1u);
}

}  // namespace
}  // namespace divvy::scheduler
