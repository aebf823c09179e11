// Pods that their nodes complain of: what is said of them, and what becomes of them by an API
// server and a platform that fail, and a scheduler that is killed.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include <rapidcheck/gtest.h>
#include <boost/asio/io_context.hpp>
#include <boost/json.hpp>

#include "base/rng.h"
#include "controllers/eviction_controller.h"
#include "http/server.h"

namespace divvy::scheduler {
namespace {

namespace asio = boost::asio;
namespace json = boost::json;

constexpr NoticeOptions kTerms{60, 300};
const kube::EvictionRequest kIdle{"s", "p", 1'000};

TEST(NoticeAction, EvictionRequest_NoticedToldDueOrCalledOff) {
  const auto said = [](std::int64_t since, std::int64_t confirmed = 0) {
    return kube::EvictionRequest{"s", "p", since, confirmed};
  };
  kube::Notice state = noticedAt(kIdle, 5'000, kTerms);
  EXPECT_EQ(state.deadline, 5'060);
  EXPECT_EQ(noticeStep(std::nullopt, std::nullopt, 5'000), NoticeAction::kNothing);
  EXPECT_EQ(noticeStep(said(1'000), std::nullopt, 5'000), NoticeAction::kNotice);
  EXPECT_EQ(noticeStep(said(1'000, 5'060), state, 9'000), NoticeAction::kTell) << "it was not told";
  state.told = true;
  EXPECT_EQ(noticeStep(said(1'000), state, 5'059), NoticeAction::kNothing);
  EXPECT_EQ(noticeStep(said(1'000), state, 9'000), NoticeAction::kNothing)
      << "its agent may have gone";
  EXPECT_EQ(noticeStep(said(1'000, 5'000), state, 9'000), NoticeAction::kNothing)
      << "another deadline";
  EXPECT_EQ(noticeStep(said(1'000, 5'060), state, 5'060), NoticeAction::kDue);
  EXPECT_EQ(noticeStep(said(1'000 + kSameSpell, 5'060), state, 5'060), NoticeAction::kDue)
      << "rounded";
  EXPECT_EQ(noticeStep(said(1'001 + kSameSpell, 5'060), state, 5'060), NoticeAction::kCallOff)
      << "it has worked";
  EXPECT_EQ(noticeStep(std::nullopt, state, 9'000), NoticeAction::kCallOff);
}

TEST(EvictionRequest, InvalidNames_AreRefused) {
  const auto named = [](const std::string& ns, const std::string& name, const std::string& uid) {
    return kube::decodeComplaints(kube::encode(kube::Complaints{{uid, {ns, name, 1}}}));
  };
  EXPECT_TRUE(named("s", "p.q-1", "a-1"));
  for (const char* bad :
       {"", "..", "a/b", "x HTTP/1.1\r\nHost: a\r\n\r\nDELETE /api", "a?b", "a%2e", "A", "a\n"}) {
    EXPECT_FALSE(named(bad, "p", "u")) << bad;
    EXPECT_FALSE(named("s", bad, "u")) << bad;
    EXPECT_EQ(bool(named("s", "p", bad)), std::string(bad) == "A") << bad;
  }
}

TEST(NoticeAction, ReportOnly_NeverDueUntilEvicts) {
  kube::EvictionRequest said{"s", "p", 1'000, 0, "it cheats", false};
  kube::Notice notice = noticedAt(said, 5'000, kTerms);
  EXPECT_EQ(notice.deadline, 0);
  notice.told = true;
  EXPECT_EQ(noticeStep(said, notice, 1'000'000), NoticeAction::kNothing);
  EXPECT_EQ(extendedBy(notice, 60, 6'000, kTerms), notice);
  said.evicts = true;
  EXPECT_EQ(noticeStep(said, notice, 6'000), NoticeAction::kNotice);
  notice = noticedAt(said, 6'000, kTerms);
  notice.told = true;
  EXPECT_EQ(noticeStep(said, notice, 6'000), NoticeAction::kNothing);
  said.evicts = false;
  EXPECT_EQ(noticeStep(said, notice, 6'000), NoticeAction::kNotice) << "it need not go any more";
}

TEST(EvictionRequest, EncodedRequest_DecodesEqualInOneLine) {
  const kube::Complaints all{{"u", {"s", "p", 7, 9, "process 12 (python) does", false}},
                             {"v", {"s", "q", 7}}};
  EXPECT_EQ(kube::decodeComplaints(kube::encode(all)).value(), all);
  for (const std::string& bad : {std::string("two\nlines"), std::string(300, 'x')})
    EXPECT_FALSE(kube::decodeComplaints(kube::encode({{"u", {"s", "p", 7, 0, bad}}}))) << bad;
}

RC_GTEST_PROP(NoticeAction, RandomExtensions_NeverShortenAndEnd, ()) {
  const auto asked = *rc::gen::container<std::vector<std::int64_t>>(rc::gen::inRange(0, 1'000));
  const kube::Notice first = noticedAt(kIdle, 5'000, kTerms);
  kube::Notice state = first;
  std::int64_t now = 5'000;
  for (const std::int64_t seconds : asked) {
    const kube::Notice later = extendedBy(state, seconds, now, kTerms);
    RC_ASSERT(later.deadline >= state.deadline);
    RC_ASSERT(later.deadline <= first.deadline + kTerms.extension);
    RC_ASSERT(later.noticed == first.noticed);
    state = later;
    now += 17;
  }
}

TEST(PlatformCallback, PodNotice_BodyWrittenAndAnswerRead) {
  const kube::Notice state{0, 60, 3'600};
  const json::value body =
      json::parse(platformBody(CallbackKind::kDue, "u", "n", {"s", "p", 0}, state));
  EXPECT_EQ(body, json::parse(R"({"kind":"idle-due","namespace":"s","pod":"p","uid":"u","node":"n",
                                  "idleSince":"1970-01-01T00:00:00Z",
                                  "deadline":"1970-01-01T01:00:00Z"})"));
  EXPECT_EQ(platformAnswer("").value(), 0);
  EXPECT_EQ(platformAnswer(" \n").value(), 0);
  EXPECT_EQ(platformAnswer(R"({"id": 7})").value(), 0);
  EXPECT_EQ(platformAnswer(R"({"extendSeconds": 600})").value(), 600);
  for (const char* wrong : {"ok", "[]", R"({"extendSeconds": -1})", R"({"extendSeconds": "10m"})",
                            R"({"extendSeconds": 1e9})"})
    EXPECT_FALSE(platformAnswer(wrong)) << wrong;
}

// One pod on one node, as an API server has them, and its platform. Whatever is written is checked.
class Cluster {
 public:
  explicit Cluster(Rng& rng) : rng_(rng) {
    const std::string pod = "/api/v1/namespaces/s/pods/p";
    server_ =
        start({route("GET", pod, [this](const std::string&) { return readPod(); }),
               route("PATCH", pod, [this](const std::string& body) { return patch(body); }),
               route("GET", "/api/v1/nodes/n",
                     [this](const std::string&) {
                       said_idle_ = idle_since.has_value();
                       return http::Answer{200, nodeText()};
                     }),
               route("POST", pod + "/eviction", [this](const std::string&) { return evict(); }),
               route("PATCH", pod + "/status",
                     [this](const std::string&) {
                       ++version_;
                       return http::Answer{200, "{}"};
                     }),
               route("POST", "/api/v1/namespaces/s/events", [](const std::string&) {
                 return http::Answer{201, "{}"};
               })});
    platform_ =
        start({route("POST", "/told", [this](const std::string& body) { return told(body); })});
  }

  kube::Access access(const http::Server& server, const std::string& base = "") const {
    kube::Access access;
    access.host = "127.0.0.1";
    access.port = std::to_string(server.port());
    access.tls = false;
    access.base = base;
    return access;
  }
  kube::Access api() const { return access(*server_); }
  kube::Access platform() const { return access(*platform_, "/told"); }

  kube::Node node() const {
    kube::Node node;
    node.meta.name = "n";
    if (idle_since) node.meta.annotations[kube::kIdleKey] = said();
    return node;
  }
  // As an agent would that lives.
  std::string said() const {
    kube::EvictionRequest pod{"s", "p", *idle_since};
    pod.evicts = evicts;
    const Result<kube::Notice> told = kube::decodeNotice(state);
    if (told && agent_lives && told->deadline != 0 && now >= told->deadline)
      pod.confirmed = told->deadline;
    return kube::encode(kube::Complaints{{"u", pod}});
  }
  void poll() { loop_.poll(), loop_.restart(); }

  std::int64_t now = 10'000;
  std::optional<std::int64_t> idle_since;
  bool evicts = true;
  std::string state;  // annotation; empty: none
  bool there = true;
  bool agent_lives = true;
  bool ending = false;  // evicted, and not gone yet
  bool lingers = false;
  bool failing = false;  // the API, before or after it did what was asked
  bool platform_ok = true;
  std::int64_t extend = 0;
  int evictions = 0;
  bool protected_by_budget = false;
  int refused = 0;      // evictions, for a budget's sake
  bool agreed = false;  // the platform, to this very end
  std::vector<std::string> kinds;

 private:
  std::unique_ptr<http::Server> start(std::vector<http::Route> routes) {
    return std::move(*http::Server::start(loop_.get_executor(), {}, std::move(routes)));
  }
  static http::Route route(const char* method, std::string path,
                           std::function<http::Answer(const std::string&)> answer) {
    return {method, std::move(path), 10'000,
            [answer](http::Query query) -> asio::awaitable<http::Answer> {
              co_return answer(query.body);
            }};
  }
  bool fails() { return failing && rng_.below(3) == 0; }

  http::Answer readPod() {
    if (fails()) return {500, "{}"};
    if (!there) return {404, "{}"};
    json::object meta{{"namespace", "s"},
                      {"name", "p"},
                      {"uid", "u"},
                      {"resourceVersion", std::to_string(version_)}};
    if (ending) meta["deletionTimestamp"] = "2026-01-01T00:00:00Z";
    if (!state.empty()) meta["annotations"] = json::object{{kube::kIdleNoticeKey, state}};
    return {200, json::serialize(json::object{{"metadata", std::move(meta)},
                                              {"spec", json::object{{"nodeName", "n"}}},
                                              {"status", json::object{{"phase", "Running"}}}})};
  }
  std::string nodeText() const {
    json::object meta{{"name", "n"}, {"uid", "n"}};
    if (idle_since) meta["annotations"] = json::object{{kube::kIdleKey, said()}};
    return json::serialize(json::object{{"metadata", std::move(meta)}});
  }
  http::Answer patch(const std::string& body) {
    if (fails()) return {500, "{}"};
    const json::object meta = json::parse(body).at("metadata").as_object();
    EXPECT_EQ(meta.at("uid").as_string(), "u");
    const json::value* asked = meta.if_contains("resourceVersion");
    if (asked != nullptr && asked->as_string() != std::to_string(version_)) return {409, "{}"};
    const json::value& value = meta.at("annotations").at(kube::kIdleNoticeKey);
    state = value.is_null() ? std::string() : std::string(value.as_string());
    ++version_;
    return fails() ? http::Answer{500, "{}"} : http::Answer{200, "{}"};
  }
  http::Answer told(const std::string& body) {
    const std::string kind(json::parse(body).at("kind").as_string());
    if (!platform_ok) return {503, ""};
    kinds.push_back(kind);
    agreed = kind == "idle-due";
    return {200, extend > 0 ? R"({"extendSeconds":)" + std::to_string(extend) + "}" : ""};
  }
  http::Answer evict() {
    if (fails()) return {500, "{}"};
    if (!there) return {404, "{}"};
    if (protected_by_budget) {
      ++refused;
      return {429,
              R"({"kind":"Status","status":"Failure","reason":"TooManyRequests","code":429,)"
              R"("message":"Cannot evict pod as it would violate the pod's disruption budget.",)"
              R"("details":{"causes":[{"reason":"DisruptionBudget","message":"it needs 1"}]}})"};
    }
    const Result<kube::Notice> noticed = kube::decodeNotice(state);
    EXPECT_TRUE(noticed) << "it was never told";
    EXPECT_TRUE(said_idle_) << "its node says that it works";
    EXPECT_TRUE(agreed) << "its platform does not know";
    EXPECT_TRUE(noticed && noticed->told);
    EXPECT_GE(now, noticed ? noticed->noticed + kTerms.notice : now);
    EXPECT_FALSE(ending) << "a second time";
    ++evictions;
    there = there && lingers;
    ending = true;
    return fails() ? http::Answer{500, "{}"} : http::Answer{201, "{}"};
  }

  Rng& rng_;
  asio::io_context loop_;
  std::uint64_t version_ = 1;
  bool said_idle_ = false;  // when its node was asked last
  std::unique_ptr<http::Server> server_, platform_;
};

// A scheduler, until it is killed: whatever it was about to do is not done.
struct Life {
  explicit Life(Cluster& with) : cluster(with) {
    client = std::move(*kube::Client::make(loop.get_executor(), cluster.api(),
                                           {1e6, 1e6, std::chrono::seconds(10), 1}));
    controller = std::make_unique<EvictionController>(
        kIdleGround, loop.get_executor(), *client,
        std::move(*PlatformCallback::make(loop.get_executor(), cluster.platform())), counts,
        EvictionController::Options{"divvy-scheduler", kTerms, [] { return std::string(); },
                                    &stopped, [this] { return cluster.now; },
                                    std::chrono::milliseconds(0)});
    hear();
  }
  void hear() {
    controller->onNodeUpdate(cluster.node());
    if (cluster.state.empty()) return;
    kube::Pod pod;
    pod.meta.namespace_name = "s", pod.meta.name = "p", pod.meta.uid = "u", pod.node = "n";
    pod.meta.annotations[kube::kIdleNoticeKey] = cluster.state;
    pod.meta.deleting = cluster.ending;
    if (cluster.there) controller->onPodUpdate(pod);
    if (!cluster.there) controller->onPodDelete("u");
  }
  void run(unsigned polls) {
    for (unsigned i = 0; i < polls; ++i) {
      loop.poll_one(), loop.restart();
      cluster.poll();
    }
  }

  Cluster& cluster;
  asio::io_context loop;
  NoticeCounts counts;
  bool stopped = false;
  std::unique_ptr<kube::Client> client;
  std::unique_ptr<EvictionController> controller;
};

// Until that is so, within what anybody would wait.
template <typename So>
bool until(Life& life, const So& so, std::int64_t seconds = 0) {
  const unsigned most = seconds > 0 ? static_cast<unsigned>(3 * seconds + 1'000) : 20'000;
  for (unsigned i = 0; i < most && !so(); ++i) {
    life.run(20);
    life.hear();
    if (seconds > 0 && i % 3 == 0) life.cluster.now += 1, --seconds;
  }
  return so();
}

TEST(EvictionController, IdlePod_ToldAndPlatformAskedFirst) {
  Rng rng(1);
  Cluster cluster(rng);
  cluster.idle_since = 1'000;
  Life life(cluster);
  ASSERT_TRUE(until(life, [&] { return !cluster.state.empty(); }));
  EXPECT_EQ(kube::decodeNotice(cluster.state)->deadline, cluster.now + kTerms.notice);
  life.run(2'000);
  EXPECT_EQ(cluster.evictions, 0) << "not before its time";
  cluster.now += kTerms.notice;
  ASSERT_TRUE(until(life, [&] { return cluster.evictions == 1; }));
  EXPECT_EQ(cluster.kinds, (std::vector<std::string>{"idle-notice", "idle-due"}));
  EXPECT_EQ(life.counts.noticed, 1u);
}

TEST(EvictionController, BudgetForbids_PodStaysUntilAllowed) {
  Rng rng(1);
  Cluster cluster(rng);
  cluster.idle_since = 1'000;
  cluster.protected_by_budget = true;
  Life life(cluster);
  ASSERT_TRUE(until(life, [&] { return !cluster.state.empty(); }));
  cluster.now += kTerms.notice;
  ASSERT_TRUE(until(
      life, [&] { return cluster.refused > 1; }, 600));
  EXPECT_EQ(cluster.evictions, 0);
  EXPECT_EQ(life.counts.evicted, 0u);
  cluster.protected_by_budget = false;
  ASSERT_TRUE(until(
      life, [&] { return life.counts.evicted == 1; }, 600));
  EXPECT_EQ(cluster.evictions, 1);
}

TEST(EvictionController, ReportOnly_PodStaysUntilEvicts) {
  Rng rng(1);
  Cluster cluster(rng);
  cluster.idle_since = 1'000;
  cluster.evicts = false;
  Life life(cluster);
  ASSERT_TRUE(until(life, [&] { return cluster.kinds.size() == 1; }));
  EXPECT_FALSE(until(
      life, [&] { return cluster.evictions > 0; }, 600));
  EXPECT_EQ(kube::decodeNotice(cluster.state)->deadline, 0);
  cluster.evicts = true;
  const std::int64_t began = cluster.now;
  ASSERT_TRUE(until(
      life, [&] { return cluster.evictions == 1; }, 600));
  EXPECT_GE(cluster.now, began + kTerms.notice);
}

TEST(EvictionController, PlatformExtends_NoticeGrowsToLimit) {
  Rng rng(1);
  Cluster cluster(rng);
  cluster.idle_since = 1'000;
  cluster.extend = 120;
  Life life(cluster);
  const std::int64_t began = cluster.now;
  ASSERT_TRUE(until(
      life, [&] { return cluster.evictions == 1; }, 1'000));
  EXPECT_GE(cluster.now, began + kTerms.notice + kTerms.extension);
}

TEST(EvictionController, PlatformSilent_PodStays) {
  Rng rng(1);
  Cluster cluster(rng);
  cluster.idle_since = 1'000;
  cluster.platform_ok = false;
  Life life(cluster);
  ASSERT_TRUE(until(life, [&] { return !cluster.state.empty(); }));
  cluster.now += kTerms.notice + kTerms.extension;
  ASSERT_TRUE(until(
      life, [&] { return life.counts.unheard >= 3; }, 100));
  EXPECT_EQ(cluster.evictions, 0);
  cluster.platform_ok = true;
  EXPECT_TRUE(until(
      life, [&] { return cluster.evictions == 1; }, 100));
}

// An agent that has gone leaves behind what it said.
TEST(EvictionController, AgentGone_PodStays) {
  Rng rng(1);
  Cluster cluster(rng);
  cluster.idle_since = 1'000;
  cluster.agent_lives = false;
  Life life(cluster);
  ASSERT_TRUE(until(life, [&] { return cluster.kinds.size() == 1; }));
  EXPECT_FALSE(until(
      life, [&] { return cluster.evictions > 0; }, 600));
  cluster.agent_lives = true;
  EXPECT_TRUE(until(
      life, [&] { return cluster.evictions == 1; }, 1'000));
}

// It ends for as long as its grace: its agent says meanwhile that it is idle.
TEST(EvictionController, PodEnding_NeitherEvictedNorCalledOff) {
  Rng rng(1);
  Cluster cluster(rng);
  cluster.idle_since = 1'000;
  cluster.lingers = true;
  Life life(cluster);
  ASSERT_TRUE(until(
      life, [&] { return cluster.evictions == 1; }, 1'000));
  const std::vector<std::string> kinds = cluster.kinds;
  EXPECT_FALSE(until(
      life, [&] { return cluster.evictions > 1; }, 100));
  cluster.idle_since.reset();
  EXPECT_FALSE(until(
      life, [&] { return life.counts.called_off > 0; }, 100));
  EXPECT_EQ(cluster.kinds, kinds);
}

TEST(EvictionController, WorkAgain_PlatformToldOnce) {
  Rng rng(1);
  Cluster cluster(rng);
  cluster.idle_since = 1'000;
  Life life(cluster);
  ASSERT_TRUE(until(life, [&] { return cluster.kinds.size() == 1; }));
  cluster.idle_since.reset();
  life.hear();
  // Its platform is told, its state taken away and it is counted: one after another.
  ASSERT_TRUE(until(life, [&] {
    return cluster.kinds.size() == 2 && cluster.state.empty() && life.counts.called_off == 1;
  }));
  EXPECT_EQ(cluster.kinds.back(), "idle-called-off");
  cluster.now += 10'000;
  life.run(2'000);
  EXPECT_EQ(cluster.evictions, 0);
  EXPECT_EQ(life.counts.called_off, 1u) << "and no second time";
}

TEST(EvictionController, NodeNamesForeignPod_IsIgnored) {
  Rng rng(1);
  Cluster cluster(rng);
  Life life(cluster);
  kube::Node other = cluster.node();
  other.meta.name = "other";
  other.meta.annotations[kube::kIdleKey] = kube::encode(kube::Complaints{{"u", {"s", "p", 1'000}}});
  life.controller->onNodeUpdate(other);
  life.run(2'000);
  EXPECT_EQ(cluster.state, "");
  EXPECT_TRUE(cluster.kinds.empty());
}

// Killed at any instant, with a server and a platform that fail: the checks are the cluster's.
RC_GTEST_PROP(EvictionController, RandomKills_EvictedOnceAndTold, ()) {
  Rng rng(*rc::gen::arbitrary<std::uint64_t>());
  Cluster cluster(rng);
  auto life = std::make_unique<Life>(cluster);
  for (unsigned step = 0; step < 150; ++step) {
    cluster.failing = rng.below(2) == 0;
    cluster.platform_ok = rng.below(4) != 0;
    cluster.agent_lives = rng.below(4) != 0;
    cluster.extend = rng.below(3) == 0 ? static_cast<std::int64_t>(rng.below(90)) : 0;
    switch (rng.below(6)) {
      case 0:
        cluster.idle_since = cluster.idle_since.value_or(cluster.now - 100);
        break;
      case 1:
        if (rng.below(3) == 0) cluster.idle_since.reset();
        break;
      case 2:
        life.reset();
        life = std::make_unique<Life>(cluster);
        break;
      default:
        cluster.now += static_cast<std::int64_t>(rng.below(30));
    }
    // What is heard takes a while.
    if (rng.below(2) == 0) life->hear();
    life->run(static_cast<unsigned>(rng.below(60)));
  }
  RC_ASSERT(cluster.evictions <= 1);
  cluster.failing = false, cluster.platform_ok = true, cluster.extend = 0;
  cluster.agent_lives = true;
  if (!cluster.there) return;
  if (!cluster.idle_since) cluster.idle_since = cluster.now - 100;
  life->hear();
  RC_ASSERT(until(
      *life, [&] { return !cluster.there; }, 2'000));
  RC_ASSERT(cluster.evictions == 1);
}

}  // namespace
}  // namespace divvy::scheduler
