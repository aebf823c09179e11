// Bindings that are refused, lost, late or not sent, at a fake API server.
#include "extender/binder.h"

#include "controller_fixture.h"
#include "runtime/clock.h"

namespace divvy::scheduler {
namespace {

namespace json = boost::json;

constexpr const char* kAllocated = "hami.io/vgpu-devices-allocated";
constexpr const char* kLock = "hami.io/mutex.lock";
const Texts kWhole{{"nvidia.com/gpu", "1"}, {"nvidia.com/gpucores", "100"}};

// One node with one device, which a pod takes as a whole.
class BinderTest : public ControllerTest {
 protected:
  void SetUp() override {
    api.set(nodePath("a"), deviceNodeJson("a", 1));
    ASSERT_TRUE(cache.setNode(nodeAt(nodePath("a"))));
    api.set(podPath("p"), podJson(kWhole));
    ASSERT_TRUE(reserve("p"));
    lease = std::move(*LeaseWatcher::make(loop, access(), {}));
  }

  // As /filter. False: it does not fit.
  bool reserve(const std::string& name) {
    const kube::Pod pod = podNamed(name, kWhole);
    const std::vector<std::string_view> names{"a"};
    const auto choice = cache.filterAndReserve(pod, names, {now().ms + 1'000'000});
    return choice && choice->node.has_value();
  }
  Binder::Options options() {
    Binder::Options options;
    options.why_not = whyNot();
    options.changed = [this] { ++changes; };
    return options;
  }
  static http::Query query() {
    return {"/bind", kube::kJson,
            json::serialize(json::object{
                {"PodName", "p"}, {"PodNamespace", "lab"}, {"PodUID", "uid-of-p"}, {"Node", "a"}})};
  }
  // The error that kube-scheduler gets; empty: bound.
  std::string bind(Binder& binder) {
    const http::Answer answer = run(binder.answer(query()));
    EXPECT_EQ(answer.status, 200u);
    return std::string(json::parse(answer.body).at("Error").as_string());
  }
  std::string bind() {
    Binder binder(*client, cache, *lease, counts, options());
    return bind(binder);
  }
  std::string nodeOfPod() const { return podAt(podPath("p")).node; }
  std::size_t bindings() const { return api.count("POST", podPath("p") + "/binding"); }

  std::unique_ptr<LeaseWatcher> lease;
  unsigned changes = 0;
};

TEST_F(BinderTest, ReservedPod_GetsNodeAndAssignment) {
  EXPECT_EQ(bind(), "");
  EXPECT_EQ(nodeOfPod(), "a");
  EXPECT_NE(api.annotation(podPath("p"), kAllocated).find("GPU-a-0"), std::string::npos);
  EXPECT_EQ(counts.bound, 1u);
  EXPECT_EQ(changes, 1u);
  EXPECT_FALSE(reserve("q"));
}

TEST_F(BinderTest, AnswerLostAfterWrite_PodCountsAsBound) {
  api.inject({.path = podPath("p") + "/binding", .kind = test::FaultKind::kAnswerLost});
  EXPECT_NE(bind(), "");
  EXPECT_EQ(nodeOfPod(), "a");
  EXPECT_EQ(counts.bind_uncertain, 1u);
  EXPECT_EQ(cache.pods().nodeOf("uid-of-p"), "a");
  EXPECT_FALSE(reserve("q")) << "the watch decides";
  ASSERT_TRUE(cache.setPod(podAt(podPath("p"))));
  EXPECT_FALSE(reserve("q"));
  EXPECT_EQ(bindings(), 1u);
}

TEST_F(BinderTest, ConnectionBrokenBeforeWrite_DevicesStayHeld) {
  api.inject({.path = podPath("p") + "/binding", .kind = test::FaultKind::kBroken});
  EXPECT_NE(bind(), "");
  EXPECT_EQ(nodeOfPod(), "");
  EXPECT_EQ(counts.bind_uncertain, 1u);
  EXPECT_FALSE(reserve("q")) << "whether it is written is not known here";
  EXPECT_EQ(bindings(), 1u) << "a POST is not repeated";
}

TEST_F(BinderTest, ServerOverloaded_BindingIsRepeated) {
  api.inject({.path = podPath("p") + "/binding",
              .kind = test::FaultKind::kStatus,
              .status = 429,
              .retry_after = 1});
  EXPECT_EQ(bind(), "");
  EXPECT_EQ(bindings(), 2u);
  EXPECT_EQ(nodeOfPod(), "a");
}

TEST_F(BinderTest, PodGone_DevicesAreFree) {
  api.remove(podPath("p"));
  EXPECT_NE(bind(), "");
  EXPECT_EQ(counts.bind_refused, 1u);
  EXPECT_TRUE(reserve("q"));
}

TEST_F(BinderTest, NameReused_OtherPodIsNotBound) {
  json::object other = podJson(kWhole);
  other["metadata"].as_object()["uid"] = "another";
  api.set(podPath("p"), other);
  EXPECT_NE(bind(), "");
  EXPECT_EQ(nodeOfPod(), "");
}

TEST_F(BinderTest, LeadershipLostBeforeWrite_NothingIsSent) {
  const std::unique_ptr<kube::Client> slow = clientThatWaits();
  Binder binder(*slow, cache, *lease, counts, options());
  std::optional<http::Answer> answer;
  boost::asio::co_spawn(loop, binder.answer(query()),
                        [&](std::exception_ptr, http::Answer got) { answer = std::move(got); });
  pass(std::chrono::milliseconds(100));
  ASSERT_FALSE(answer);
  why_not = "another leads";
  pass(std::chrono::hours(1));
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(answer->body, R"({"Error":"not bound: another leads"})");
  EXPECT_EQ(bindings(), 0u);
  EXPECT_EQ(counts.bind_refused, 1u);
  EXPECT_TRUE(reserve("q"));
}

TEST_F(BinderTest, NotLeader_NothingIsAssumed) {
  why_not = "another leads";
  EXPECT_EQ(bind(), "another leads");
  EXPECT_EQ(bindings(), 0u);
  why_not.clear();
  EXPECT_EQ(bind(), "");
}

TEST_F(BinderTest, LeadershipLostBetweenLockAndWrite_LockIsGivenBack) {
  Binder::Options with = options();
  with.locks = [](const BindPlan&) { return std::vector<std::string>{kLock}; };
  Binder binder(*client, cache, *lease, counts, with);
  api.inject({.method = "PATCH", .path = nodePath("a"), .before = [this] { why_not = "lost"; }});
  EXPECT_EQ(bind(binder), "not bound: lost");
  EXPECT_EQ(bindings(), 0u);
  EXPECT_EQ(api.annotation(nodePath("a"), kLock), "");
  EXPECT_TRUE(reserve("q"));
}

TEST_F(BinderTest, NodeLockedForOtherPod_NothingIsBound) {
  api.set(podPath("other"), podJson(kWhole));
  api.annotate(nodePath("a"), kLock,
               lockText(kLock, wallNanoseconds() / 1'000'000'000, {"lab", "other"}));
  Binder::Options with = options();
  with.locks = [](const BindPlan&) { return std::vector<std::string>{kLock}; };
  Binder binder(*client, cache, *lease, counts, with);
  EXPECT_NE(bind(binder).find("locked for lab/other"), std::string::npos);
  EXPECT_EQ(bindings(), 0u);
  EXPECT_EQ(counts.lock_refused, 1u);
  EXPECT_TRUE(reserve("q"));
}

TEST_F(BinderTest, UnreadableRequest_IsRefused) {
  Binder binder(*client, cache, *lease, counts, options());
  for (const char* body : {"", "[]", "{}", R"({"PodName":7})"}) {
    const http::Answer answer = run(binder.answer({"/bind", kube::kJson, body}));
    EXPECT_EQ(answer.status, 400u) << body;
  }
  EXPECT_EQ(bindings(), 0u);
}

TEST_F(BinderTest, AnswerIsNoJson_PodCountsAsBound) {
  api.inject({.path = podPath("p") + "/binding",
              .kind = test::FaultKind::kStatus,
              .status = 200,
              .body = "<html>"});
  EXPECT_NE(bind(), "");
  EXPECT_EQ(counts.bind_uncertain, 1u);
  EXPECT_FALSE(reserve("q"));
}

}  // namespace
}  // namespace divvy::scheduler
