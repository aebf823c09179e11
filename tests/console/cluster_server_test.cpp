// The console of a cluster over real HTTP on the loopback interface.
#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <future>
#include <map>
#include <set>

#include "sample_cluster.h"
#include "served_console.h"

namespace divvy::console {
namespace {

namespace bj = boost::json;
using testing::HasSubstr;

class ClusterServer : public ServedConsole {
 protected:
  ClusterServer() {
    options_.place = "staging";
    cluster_->set(sampleCluster());
    cluster_->onExplain([](const std::string& namespace_name, const std::string& pod) {
      return Result<bj::object>(bj::object{{"pod", namespace_name + '/' + pod}, {"fits", false}});
    });
    cluster_->onPlan(
        [](const std::string& manifest, const std::string& namespace_name, const std::string&) {
          return Result<bj::array>(
              bj::array{bj::object{{"pod", namespace_name}, {"size", manifest.size()}}});
        });
  }
  ~ClusterServer() override { stop(); }

  void startCluster() {
    serve(std::make_unique<FakeClusterSource>(cluster_));
    ASSERT_TRUE(eventually([&] { return ask("GET", "/readyz").status == 200; }));
  }

  std::shared_ptr<FakeClusterState> cluster_ = std::make_shared<FakeClusterState>();
};

using Ids = std::set<std::string>;

TEST_F(ClusterServer, Ready_OnceNodesAndPodsAreRead) {
  ClusterReading unread = sampleCluster();
  for (ClusterCollection& one : unread.collections) one.reached = false;
  cluster_->set(unread);
  serve(std::make_unique<FakeClusterSource>(cluster_));
  EXPECT_EQ(ask("GET", "/readyz").status, 503u);
  EXPECT_EQ(ask("GET", "/healthz").status, 200u);
  EXPECT_TRUE(get(opened(), "overview").json().at("data_time_ms").is_null());
  cluster_->set(sampleCluster());
  EXPECT_TRUE(eventually([&] { return ask("GET", "/readyz").status == 200; }));
  EXPECT_FALSE(get(opened(), "overview").json().at("data_time_ms").is_null());
}

// A collection that fails at once is shown, before any list has been read.
TEST_F(ClusterServer, ServerUnreachableFromStart_FailureShown) {
  ClusterReading unread;
  unread.collections = readCollections();
  for (ClusterCollection& one : unread.collections) {
    one.reached = false;
    one.failure = "connection refused";
  }
  cluster_->set(unread);
  serve(std::make_unique<FakeClusterSource>(cluster_));
  const Session session = opened();
  ASSERT_TRUE(eventually(
      [&] { return get(session, "overview").json().at("attention").as_array().size() == 3u; }));
  const bj::object overview = get(session, "overview").json();
  EXPECT_TRUE(overview.at("data_time_ms").is_null());
  EXPECT_EQ(overview.at("sources").at(0).at("message"), "connection refused");
  EXPECT_EQ(overview.at("sources").at(0).at("state"), "never-reached");
  EXPECT_EQ(ask("GET", "/readyz").status, 503u);
}

TEST_F(ClusterServer, Session_ModeClusterAndNoChanges) {
  startCluster();
  const bj::object session = get(opened(), "session").json();
  EXPECT_EQ(session.at("mode"), "cluster");
  EXPECT_EQ(session.at("node"), "staging");
  EXPECT_EQ(session.at("can").at("change"), false);
  EXPECT_EQ(session.at("changes").at("enabled"), false);
  EXPECT_EQ(session.at("can").at("plan"), true);
}

TEST_F(ClusterServer, EachList_Answers) {
  startCluster();
  const Session session = opened();
  EXPECT_EQ(ids(session, "nodes"), (Ids{"gpu-1", "gpu-2"}));
  EXPECT_EQ(ids(session, "devices").size(), 4u);
  EXPECT_EQ(ids(session, "shares"),
            (Ids{"lab/serve-1/main", "ml/old/main", "ml/train-0/main", "ml/train-0/side"}));
  EXPECT_EQ(ids(session, "waiting"), (Ids{"lab/serve-2", "ml/wrong"}));
  EXPECT_EQ(ids(session, "events"), Ids{"e-1"});
  EXPECT_EQ(ids(session, "workloads"),
            (Ids{"lab/Deployment/serve", "ml/Pod/old", "ml/Pod/train-0", "ml/Pod/wrong"}));
  EXPECT_EQ(ids(session, "queues"), Ids{"research"});
  EXPECT_EQ(ids(session, "pools"), Ids{"all"});
  EXPECT_EQ(ids(session, "teams"), (Ids{"lab", "ml"}));
  EXPECT_EQ(ids(session, "models"), Ids{"llama"});
}

TEST_F(ClusterServer, EachItem_ByIdWithSlashes) {
  startCluster();
  const Session session = opened();
  for (const std::string& target : std::vector<std::string>{
           "nodes/gpu-1", "devices/gpu-1/GPU-gpu-1-0", "shares/ml/train-0/side", "waiting/ml/wrong",
           "workloads/lab/Deployment/serve", "queues/research", "pools/all", "teams/ml",
           "models/llama", "events/e-1"}) {
    const Reply reply = get(session, target);
    ASSERT_EQ(reply.status, 200u) << target;
    EXPECT_EQ(reply.json().at("item").at("id").as_string(), target.substr(target.find('/') + 1));
  }
  EXPECT_EQ(get(session, "shares/ml%2Ftrain-0%2Fside").status, 200u);
  for (const char* target : {"shares/ml/train-0", "shares/", "nodes/gpu-3", "queues/a/b",
                             "waiting/lab/serve-2/other", "waiting/lab/serve-2/explain/more"})
    EXPECT_EQ(get(session, target).status, 404u) << target;
}

TEST_F(ClusterServer, ExactFilter_BesidePartOfText) {
  startCluster();
  const Session session = opened();
  EXPECT_EQ(ids(session, "waiting?filter=queue%3Dresearch"), Ids{"lab/serve-2"});
  EXPECT_EQ(ids(session, "waiting?filter=queue=research"), Ids{"lab/serve-2"});
  EXPECT_EQ(ids(session, "waiting?filter=queue%3Dresear"), Ids{});
  EXPECT_EQ(ids(session, "waiting?filter=queue:resear"), Ids{"lab/serve-2"});
  EXPECT_EQ(ids(session, "shares?filter=team%3Dml&filter=container%3Dside"),
            Ids{"ml/train-0/side"});
}

TEST_F(ClusterServer, QueueList_SortsAsTree) {
  ClusterReading reading = sampleCluster();
  for (const char* name : {"a-first", "vision"}) {
    kube::Queue& queue = reading.queues.emplace_back();
    queue.meta.name = name;
  }
  reading.queues.back().parent = "a-first";
  cluster_->set(reading);
  startCluster();
  const Session session = opened();
  const bj::object list = get(session, "queues").json();
  ASSERT_EQ(list.at("total"), 3);
  EXPECT_EQ(list.at("items").at(0).at("path"), "a-first");
  EXPECT_EQ(list.at("items").at(1).at("path"), "a-first/vision");
  EXPECT_EQ(list.at("items").at(2).at("path"), "research");
}

// ---- explain ----

TEST_F(ClusterServer, Explain_WinsOverItemOfList) {
  startCluster();
  const Session session = opened();
  const Reply reply = get(session, "waiting/lab/serve-2/explain");
  ASSERT_EQ(reply.status, 200u) << reply.body;
  EXPECT_EQ(reply.json().at("explanation").at("pod"), "lab/serve-2");
  EXPECT_EQ(get(session, "waiting/ml/train-0/explain").status, 200u) << "a bound pod";
  EXPECT_EQ(get(session, "waiting/explain").status, 404u);
}

TEST_F(ClusterServer, ExplainAndPlanErrors_Mapped) {
  startCluster();
  const Session session = opened();
  struct Mapped {
    ErrorCode code;
    unsigned status;
    std::string word;
  };
  for (const Mapped& one :
       {Mapped{ErrorCode::kUsage, 400, "usage"}, Mapped{ErrorCode::kNotFound, 404, "not-found"},
        Mapped{ErrorCode::kUnavailable, 503, "unavailable"},
        Mapped{ErrorCode::kCorrupt, 500, "internal"}}) {
    const Error error{one.code, "the API server says \"no\""};
    cluster_->onExplain(
        [error](const std::string&, const std::string&) { return Result<bj::object>(error); });
    cluster_->onPlan([error](const std::string&, const std::string&, const std::string&) {
      return Result<bj::array>(error);
    });
    for (const Reply& reply : {get(session, "waiting/lab/serve-2/explain"),
                               post(session, "plan", R"({"manifest": "kind: Pod"})")}) {
      EXPECT_EQ(reply.status, one.status);
      EXPECT_EQ(reply.errorCode(), one.word);
      EXPECT_EQ(reply.json().at("error").at("message"), "the API server says \"no\"");
    }
  }
}

TEST_F(ClusterServer, ManyQuestions_BusyAndListsAnswer) {
  startCluster();
  const Session session = opened();
  Gate gate;
  cluster_->onExplain([&gate](const std::string&, const std::string&) {
    gate.pass();
    return Result<bj::object>(bj::object());
  });
  std::vector<std::future<Reply>> questions;
  for (int i = 0; i < 20; ++i)
    questions.push_back(std::async(std::launch::async,
                                   [&] { return get(session, "waiting/lab/serve-2/explain"); }));
  ASSERT_TRUE(gate.waitFor(1));
  // Those above the bound are answered while the first one waits.
  EXPECT_TRUE(eventually([&] {
    return std::count_if(questions.begin(), questions.end(), [](std::future<Reply>& one) {
             return one.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
           }) == 4;
  }));
  EXPECT_EQ(post(session, "plan", R"({"manifest": "kind: Pod"})").errorCode(), "busy");
  EXPECT_EQ(get(session, "shares").status, 200u);
  gate.open();
  std::map<unsigned, int> counts;
  for (std::future<Reply>& question : questions) ++counts[question.get().status];
  EXPECT_EQ(counts, (std::map<unsigned, int>{{200, 16}, {503, 4}}));
}

// ---- plan ----

TEST_F(ClusterServer, Plan_ManifestAndNamespacePassedOn) {
  startCluster();
  const Session session = opened();
  const Reply reply = post(session, "plan", R"({"manifest": "kind: Pod\n", "namespace": "lab"})");
  ASSERT_EQ(reply.status, 200u) << reply.body;
  EXPECT_EQ(reply.json().at("plan").at(0).at("pod"), "lab");
  EXPECT_EQ(reply.json().at("plan").at(0).at("size"), 10);
  for (const char* body :
       {"", "{}", "[]", "{\"manifest\": \"\"}", "{\"manifest\": 5}", "{\"manifest\"",
        R"({"manifest": "kind: Pod", "namespace": 5})", R"({"manifest": "a", "more": 1})"}) {
    const Reply refused = post(session, "plan", body);
    EXPECT_EQ(refused.status, 400u) << body;
    EXPECT_EQ(refused.errorCode(), "usage") << body;
  }
}

TEST_F(ClusterServer, PlanWithoutCsrf_403AndSourceNotCalled) {
  std::atomic<int> calls = 0;
  cluster_->onPlan([&](const std::string&, const std::string&, const std::string&) {
    ++calls;
    return Result<bj::array>(bj::array());
  });
  startCluster();
  const Session session = opened();
  const std::string body = R"({"manifest": "kind: Pod"})";
  const std::string cookie = "Cookie: " + session.cookie + "\r\n";
  EXPECT_EQ(ask("POST", "/api/v1/plan", cookie, body).status, 403u);
  EXPECT_EQ(ask("POST", "/api/v1/plan", cookie + "X-Divvy-CSRF: 0\r\n", body).status, 403u);
  EXPECT_EQ(
      ask("POST", "/api/v1/plan", fieldsOf(session) + "Origin: http://attacker.example\r\n", body)
          .status,
      403u);
  EXPECT_EQ(calls, 0);
  EXPECT_EQ(post(session, "plan", body).status, 200u);
  EXPECT_EQ(calls, 1);
}

TEST_F(ClusterServer, LargeManifest_UpToOneMebibyte) {
  startCluster();
  const Session session = opened();
  const std::size_t most = std::size_t{1} << 20;
  const std::string frame = R"({"manifest": ""})";
  const auto bodyOf = [&](std::size_t size) {
    return "{\"manifest\": \"" + std::string(size - frame.size(), 'x') + "\"}";
  };
  const Reply most_reply = post(session, "plan", bodyOf(most));
  ASSERT_EQ(most_reply.status, 200u) << most_reply.header;
  EXPECT_EQ(most_reply.json().at("plan").at(0).at("size"), most - frame.size());
  // The refusal comes before the body.
  RawClient client(port_);
  client.send("POST /api/v1/plan HTTP/1.1\r\nHost: " + host() + "\r\n" + fieldsOf(session) +
              "Content-Length: " + std::to_string(most + 1) + "\r\n\r\n");
  EXPECT_THAT(client.until("\r\n\r\n"), testing::StartsWith("HTTP/1.1 413"));
}

// ---- access ----

TEST_F(ClusterServer, RoutesOfOneMachine_Absent) {
  startCluster();
  const Session session = opened();
  const unsigned status = post(session, "explain", "{}").status;
  EXPECT_TRUE(status == 404u || status == 405u) << status;
  EXPECT_EQ(post(session, "waiting/lab/serve-2/explain", "{}").status, 405u);
  EXPECT_EQ(get(session, "plan").status, 404u);
}

TEST_F(ClusterServer, NoSession_EveryRoute401) {
  startCluster();
  for (const char* list : {"nodes", "devices", "shares", "waiting", "events", "workloads", "queues",
                           "pools", "teams", "models"})
    for (const std::string& target : {std::string(list), std::string(list) + "/a/b"}) {
      const Reply reply = ask("GET", "/api/v1/" + target);
      EXPECT_EQ(reply.status, 401u) << target;
      EXPECT_EQ(reply.errorCode(), "unauthenticated") << target;
    }
  for (const char* target :
       {"session", "overview", "series", "usage", "usage.csv", "usage.focus.csv", "rightsize",
        "rightsize.csv", "about", "stream?topics=queues", "waiting/lab/serve-2/explain"})
    EXPECT_EQ(ask("GET", std::string("/api/v1/") + target).status, 401u) << target;
  EXPECT_EQ(ask("POST", "/api/v1/plan", "", R"({"manifest": "a"})").status, 401u);
}

// ---- changes of the cluster ----

TEST_F(ClusterServer, Stream_EachTopicAndItsChange) {
  startCluster();
  const Session session = opened();
  RawClient client(port_);
  client.send(requestText("GET",
                          "/api/v1/stream?topics=overview,nodes,devices,shares,waiting,events,"
                          "workloads,queues,pools,teams,models",
                          "Cookie: " + session.cookie + "\r\n", ""));
  EXPECT_THAT(client.until("\r\n\r\n"), testing::StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(client.until("\n\n"), HasSubstr("retry:"));
  ClusterReading reading = sampleCluster();
  reading.queues[0].status.pending = 7;
  cluster_->set(reading);
  // Each reading is a message about the overview; others follow changes.
  EXPECT_THAT(client.until("\"topic\":\"queues\""), HasSubstr("event: delta\n"));
  EXPECT_THAT(client.until("\n\n"), HasSubstr("\"pending\":7"));
  EXPECT_EQ(get(session, "stream?topics=pods").status, 400u);
}

TEST_F(ClusterServer, CollectionFails_RowsAndTimeStay) {
  startCluster();
  const Session session = opened();
  ClusterReading reading = sampleCluster();
  for (ClusterCollection& one : reading.collections) one.failure = "connection refused";
  cluster_->set(reading);
  const auto failed = [&] {
    return get(session, "shares").json().at("sources").at(0).at("message") == "connection refused";
  };
  ASSERT_TRUE(eventually(failed));
  const bj::object first = get(session, "shares").json();
  EXPECT_EQ(first.at("total"), 4);
  EXPECT_EQ(get(session, "overview").json().at("data_time_ms"), first.at("data_time_ms"));
}

// The cluster did not answer in time: no collection is known, and the rows stay.
TEST_F(ClusterServer, ReadingWithoutRows_EarlierRowsStay) {
  startCluster();
  const Session session = opened();
  ClusterReading failed;
  ClusterCollection& one = failed.collections.emplace_back();
  one.name = "console";
  one.failure = "busy";
  cluster_->set(failed);
  ASSERT_TRUE(eventually(
      [&] { return get(session, "nodes").json().at("sources").at(0).at("message") == "busy"; }));
  EXPECT_EQ(ids(session, "nodes").size(), 2u);
  cluster_->set(sampleCluster());
  EXPECT_TRUE(eventually(
      [&] { return get(session, "nodes").json().at("sources").at(0).at("state") == "ok"; }));
}

}  // namespace
}  // namespace divvy::console
