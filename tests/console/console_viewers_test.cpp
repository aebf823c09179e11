// Viewers that sign in to the console of a cluster with tokens, over real HTTP.
#include <gmock/gmock.h>

#include <algorithm>
#include <future>
#include <map>
#include <set>
#include <sstream>

#include "served_viewers.h"

namespace divvy::console {
namespace {

namespace bj = boost::json;
using testing::HasSubstr;
using testing::Not;
using Ids = std::set<std::string>;

using ConsoleViewers = ServedViewers;

// ---- sign in ----

TEST_F(ConsoleViewers, Login_SaysHowToSignIn) {
  startViewers();
  const Reply reply = ask("GET", "/api/v1/login");
  ASSERT_EQ(reply.status, 200u);
  EXPECT_EQ(reply.json().at("login"), "token");
  EXPECT_EQ(reply.json().at("cluster"), "staging");
  EXPECT_THAT(std::string(reply.json().at("command").as_string()),
              HasSubstr("--audience divvy-console"));
}

TEST_F(ConsoleViewers, WithoutSession_EveryAddress401) {
  startViewers();
  std::istringstream targets(
      "session overview nodes devices shares waiting workloads queues pools teams models events "
      "series usage usage.csv usage.focus.csv about stream?topics=shares shares/lab/serve-1/main "
      "waiting/lab/serve-2/explain");
  for (std::string target; targets >> target;) {
    const Reply reply = ask("GET", "/api/v1/" + target);
    EXPECT_EQ(reply.status, 401u) << target;
    EXPECT_THAT(reply.body, Not(HasSubstr("lab"))) << target;
  }
  EXPECT_EQ(ask("POST", "/api/v1/plan", "", "{}").status, 401u);
}

TEST_F(ConsoleViewers, WrongToken_401AndHowToGetOne) {
  startViewers();
  for (const std::string& token : {std::string("wrong"), std::string("Admin-token"),
                                   std::string("admin-token "), std::string(40'000, 'a')}) {
    const Reply reply = useToken(token);
    EXPECT_EQ(reply.status, 401u);
    EXPECT_THAT(reply.body, HasSubstr("kubectl create token"));
    EXPECT_EQ(reply.field("Set-Cookie"), "");
  }
}

TEST_F(ConsoleViewers, ReviewsFail_503AndNoSession) {
  startViewers();
  reviews_->setFailure("the API server is gone");
  const Reply reply = useToken("admin-token");
  EXPECT_EQ(reply.status, 503u);
  EXPECT_EQ(reply.errorCode(), "unavailable");
  EXPECT_THAT(reply.body, HasSubstr("the API server is gone"));
  EXPECT_EQ(reply.field("Set-Cookie"), "");
}

// The browser would drop the cookie, and each further request would be refused.
TEST_F(ConsoleViewers, HttpUnderAName_RefusedWithTheReason) {
  startViewers();
  const std::string body = R"({"token": "lab-token"})";
  const std::string name = "Host: gpu.example.org\r\nOrigin: ";
  const Reply plain = ask("POST", "/api/v1/session", name + "http://gpu.example.org\r\n", body);
  EXPECT_EQ(plain.status, 403u);
  EXPECT_THAT(plain.body, HasSubstr("HTTPS"));
  const Reply encrypted =
      ask("POST", "/api/v1/session", name + "https://gpu.example.org\r\n", body);
  EXPECT_EQ(encrypted.status, 200u);
  EXPECT_THAT(encrypted.field("Set-Cookie"), HasSubstr("Secure"));
}

TEST_F(ConsoleViewers, Session_UserScopeAndWayIn) {
  startViewers();
  const bj::object lara = get(signedIn("lab-token"), "session").json();
  EXPECT_EQ(lara.at("user"), "lara");
  EXPECT_EQ(lara.at("way_in"), "console-token");
  EXPECT_EQ(lara.at("can").at("plan"), false);
  EXPECT_EQ(lara.at("scope").at("everything"), false);
  EXPECT_EQ(lara.at("scope").at("pods"), bj::array{"lab"});
  const bj::object admin = get(signedIn("admin-token"), "session").json();
  EXPECT_EQ(admin.at("way_in"), "api-token");
  EXPECT_EQ(admin.at("can").at("plan"), true);
  EXPECT_EQ(admin.at("scope").at("everything"), true);
  EXPECT_TRUE(admin.at("scope").at("pods").is_null());
}

TEST_F(ConsoleViewers, ManySignIns_BusyAndSessionsGoOn) {
  startViewers();
  const Session session = signedIn("lab-token");
  unsigned busy = 0;
  for (int i = 0; i < 60 && busy == 0; ++i) {
    const Reply reply = useToken("wrong");
    EXPECT_TRUE(reply.status == 401 || reply.status == 503) << reply.body;
    busy += reply.errorCode() == "busy" ? 1 : 0;
  }
  EXPECT_EQ(busy, 1u);
  EXPECT_EQ(get(session, "shares").status, 200u);
}

// ---- what a viewer sees ----

TEST_F(ConsoleViewers, TwoViewers_EachItsNamespace) {
  startViewers();
  const Session admin = signedIn("admin-token"), lab = signedIn("lab-token"),
                ml = signedIn("ml-token"), none = signedIn("no-token");
  EXPECT_EQ(ids(lab, "shares"), Ids{"lab/serve-1/main"});
  EXPECT_EQ(ids(ml, "shares"), (Ids{"ml/old/main", "ml/train-0/main", "ml/train-0/side"}));
  EXPECT_EQ(ids(none, "shares"), Ids{});
  EXPECT_EQ(ids(admin, "shares").size(), 4u);
  EXPECT_EQ(ids(lab, "devices"), Ids{"gpu-1/GPU-gpu-1-0"});
  EXPECT_EQ(ids(admin, "devices").size(), 4u);
  EXPECT_EQ(ids(lab, "nodes"), Ids{});
  EXPECT_EQ(ids(lab, "queues"), Ids{"research"});
  EXPECT_EQ(ids(ml, "queues"), Ids{});
  EXPECT_EQ(ids(lab, "events"), Ids{"e-1"});
  EXPECT_EQ(ids(ml, "events"), Ids{});
  EXPECT_EQ(get(lab, "shares/ml/train-0/main").status, 404u);
  EXPECT_EQ(get(lab, "overview").json().at("funnel").at("devices"), 1);
  for (const char* target : {"overview", "devices", "shares", "waiting", "workloads", "queues",
                             "pools", "teams", "models", "events", "about", "session"}) {
    EXPECT_THAT(get(lab, target).body, Not(HasSubstr("train"))) << target;
    EXPECT_THAT(get(ml, target).body, Not(HasSubstr("serve-"))) << target;
  }
}

TEST_F(ConsoleViewers, Explanation_OfOwnPodsAndWithoutNodes) {
  startViewers();
  const Session lab = signedIn("lab-token");
  const Reply own = get(lab, "waiting/lab/serve-2/explain");
  ASSERT_EQ(own.status, 200u);
  EXPECT_EQ(own.json().at("explanation").at("limited"), true);
  EXPECT_THAT(own.body, Not(HasSubstr("gpu-1")));
  EXPECT_EQ(get(lab, "waiting/ml/wrong/explain").status, 404u);
  const Reply whole = get(signedIn("admin-token"), "waiting/ml/wrong/explain");
  EXPECT_THAT(whole.body, HasSubstr("gpu-1"));
  EXPECT_THAT(whole.body, Not(HasSubstr("limited")));
}

// Regression: sixteen questions of one viewer left none to the others.
TEST_F(ConsoleViewers, OneViewersQuestions_LeaveRoomForOthers) {
  startViewers();
  const Session lab = signedIn("lab-token"), again = signedIn("lab-token"),
                ml = signedIn("ml-token");
  Gate gate;
  cluster_->onExplain([&gate](const std::string&, const std::string&) {
    gate.pass();
    return Result<bj::object>(bj::object{{"pod", "a"}});
  });
  std::vector<std::future<Reply>> questions;
  const auto askFrom = [&](const Session& session, const char* pod) {
    questions.push_back(std::async(std::launch::async, [this, &session, pod] {
      return get(session, std::string("waiting/") + pod + "/explain");
    }));
  };
  for (int i = 0; i < 8; ++i) askFrom(i % 2 == 0 ? lab : again, "lab/serve-2");
  // Four are in progress, however many sessions they come from.
  const auto refused = [&] {
    return std::count_if(questions.begin(), questions.end(), [](std::future<Reply>& one) {
      return one.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
    });
  };
  EXPECT_TRUE(eventually([&] { return refused() == 4; }));
  askFrom(ml, "ml/train-0");
  gate.open();
  std::map<unsigned, int> statuses;
  for (std::size_t at = 0; at < 8; ++at) ++statuses[questions[at].get().status];
  EXPECT_EQ(statuses, (std::map<unsigned, int>{{200, 4}, {503, 4}}));
  EXPECT_EQ(questions.back().get().status, 200u);
}

TEST_F(ConsoleViewers, Plan_WithTheViewersOwnToken) {
  startViewers();
  const std::string body = R"({"manifest": "kind: Pod"})";
  const Reply refused = post(signedIn("lab-token"), "plan", body);
  EXPECT_EQ(refused.status, 403u);
  EXPECT_THAT(refused.body, HasSubstr("sign in with a token"));
  EXPECT_EQ(planned_with_, "");
  EXPECT_EQ(post(signedIn("admin-token"), "plan", body).status, 200u);
  EXPECT_EQ(planned_with_, "admin-token");
}

TEST_F(ConsoleViewers, Series_OwnSharesAndVisibleDevices) {
  startViewers();
  const Session lab = signedIn("lab-token");
  const auto status = [&](const Session& session, const std::string& of, const char* what) {
    return get(session, "series?of=" + of + "&what=" + what).status;
  };
  EXPECT_EQ(status(lab, "share:ml/train-0/main", "memory_used_bytes"), 403u);
  EXPECT_EQ(status(lab, "overview:all", "tenants"), 403u);
  EXPECT_EQ(status(lab, "device:gpu-2/GPU-gpu-2-0", "tenants"), 403u);
  EXPECT_EQ(status(lab, "device:gpu-1/GPU-gpu-1-0", "tenants"), 200u);
  EXPECT_NE(status(lab, "share:lab/serve-1/main", "memory_used_bytes"), 403u);
  EXPECT_EQ(status(signedIn("admin-token"), "overview:all", "tenants"), 200u);
}

TEST_F(ConsoleViewers, Usage_OwnSharesOnly) {
  options_.prices.currency = "EUR";
  startViewers();
  const Session admin = signedIn("admin-token"), lab = signedIn("lab-token");
  // Usage is known after two readings.
  ASSERT_TRUE(eventually(
      [&] { return get(admin, "usage").body.find("ml/train-0/main") != std::string::npos; }));
  EXPECT_THAT(get(lab, "usage").body, HasSubstr("lab/serve-1/main"));
  EXPECT_THAT(get(admin, "usage.focus.csv").body, HasSubstr("ml/train-0/main"));
  EXPECT_THAT(get(lab, "usage.focus.csv").body, HasSubstr("lab/serve-1/main"));
  for (const char* target :
       {"usage", "usage.csv", "usage?by=device", "usage.csv?by=device", "usage.focus.csv"}) {
    EXPECT_THAT(get(lab, target).body, Not(HasSubstr("train"))) << target;
    EXPECT_THAT(get(lab, target).body, Not(HasSubstr("gpu-2"))) << target;
  }
}

TEST_F(ConsoleViewers, RightSize_OwnWorkloadsOnly) {
  ClusterReading cluster = sampleCluster();
  cluster.pods[1].state = ClusterPodState::kRunning;  // train-0
  cluster_->set(cluster);
  startViewers();
  const Session admin = signedIn("admin-token"), lab = signedIn("lab-token");
  EXPECT_THAT(get(lab, "rightsize").body, HasSubstr("lab/Deployment/serve/main"));
  for (const char* target : {"rightsize", "rightsize.csv", "rightsize?namespace=ml"}) {
    EXPECT_THAT(get(admin, target).body, HasSubstr("ml/Pod/train-0/main")) << target;
    EXPECT_THAT(get(lab, target).body, Not(testing::ContainsRegex("train|ml/|gpu-"))) << target;
  }
}
// ---- while a session lasts ----

class ViewersReviewed : public ConsoleViewers {
 protected:
  ViewersReviewed() { options_.review_interval = std::chrono::milliseconds(100); }

  std::unique_ptr<RawClient> streamOf(const Session& session) {
    auto client = std::make_unique<RawClient>(port_);
    client->send(requestText("GET", "/api/v1/stream?topics=shares",
                             "Cookie: " + session.cookie + "\r\n", ""));
    EXPECT_THAT(client->until("\n\n"), testing::StartsWith("HTTP/1.1 200"));
    return client;
  }
};

TEST_F(ViewersReviewed, TokenRevoked_StreamAndSessionEnd) {
  startViewers();
  const Session lab = signedIn("lab-token"), ml = signedIn("ml-token");
  const auto stream = streamOf(lab), other = streamOf(ml);
  reviews_->remove("lab-token");
  EXPECT_THAT(stream->until("event: end\n"), HasSubstr("event: end"));
  EXPECT_THAT(stream->rest(), HasSubstr("the token is no longer valid"));
  EXPECT_TRUE(stream->ended());
  EXPECT_EQ(get(lab, "shares").status, 401u);
  EXPECT_EQ(get(ml, "shares").status, 200u);
}

TEST_F(ViewersReviewed, TokenRevoked_NextUseEndsSession) {
  startViewers();
  const Session lab = signedIn("lab-token");
  reviews_->remove("lab-token");
  EXPECT_TRUE(eventually([&] { return get(lab, "shares").status == 401u; }));
}

// An account that was deleted and made again has another identifier.
TEST_F(ViewersReviewed, SameNameOtherAccount_SessionEnds) {
  startViewers();
  const Session lab = signedIn("lab-token");
  FakeReviewState::Account again = accountOf("lara", {"lab", "ml"});
  again.viewer.uid = "another";
  reviews_->set("lab-token", again);
  EXPECT_TRUE(eventually([&] { return get(lab, "shares").status == 401u; }));
}

TEST_F(ViewersReviewed, RightsChange_ListsFollowAndStreamReopens) {
  startViewers();
  const Session lab = signedIn("lab-token");
  const auto stream = streamOf(lab);
  reviews_->set("lab-token", accountOf("lara", {"ml"}));
  EXPECT_THAT(stream->rest(), Not(HasSubstr("event: end"))) << "the browser opens it again";
  EXPECT_TRUE(stream->ended());
  EXPECT_TRUE(eventually([&] { return ids(lab, "shares").contains("ml/train-0/main"); }));
  EXPECT_FALSE(ids(lab, "shares").contains("lab/serve-1/main"));
}

TEST_F(ViewersReviewed, ServerDoesNotAnswer_FiveIntervalsThen503) {
  options_.review_interval = std::chrono::milliseconds(400);
  startViewers();
  const Session lab = signedIn("lab-token");
  reviews_->setFailure("the API server is gone");
  EXPECT_EQ(get(lab, "shares").status, 200u);
  EXPECT_TRUE(eventually([&] { return get(lab, "shares").status == 503u; }));
  reviews_->setFailure("");
  EXPECT_TRUE(eventually([&] { return get(lab, "shares").status == 200u; }));
}

// A stream shows what a viewer may not see any more, unless its rights can be reviewed.
TEST_F(ViewersReviewed, ReviewsFail_StreamEndsAfterFiveIntervals) {
  startViewers();
  const Session lab = signedIn("lab-token");
  const auto stream = streamOf(lab);
  reviews_->setFailure("too many requests");
  stream->rest();
  EXPECT_TRUE(stream->ended());
  EXPECT_EQ(get(lab, "shares").status, 503u);
}

TEST_F(ViewersReviewed, FirstPodOfItsNamespace_Shown) {
  startViewers();
  reviews_->set("lab-token", accountOf("lara", {"lab", "new"}));
  const Session lab = signedIn("lab-token");
  ClusterReading reading = sampleCluster();
  ClusterPodView pod = clusterPod("new", "first");
  giveShare(reading, pod, 3, 10, 100);
  reading.pods.push_back(pod);
  cluster_->set(reading);
  EXPECT_TRUE(eventually([&] { return ids(lab, "shares").contains("new/first/main"); }));
}

// Its rights are not asked about again.
TEST_F(ConsoleViewers, NextPodOfEmptiedNamespace_Shown) {
  startViewers();
  const Session lab = signedIn("lab-token");
  ClusterReading empty = sampleCluster();
  std::erase_if(empty.pods, [](const auto& pod) { return pod.namespace_name == "lab"; });
  std::erase_if(empty.shares, [](const auto& share) { return share.namespace_name == "lab"; });
  cluster_->set(empty);
  EXPECT_TRUE(eventually([&] { return ids(lab, "shares").empty(); }));
  cluster_->set(sampleCluster());
  EXPECT_TRUE(eventually([&] { return ids(lab, "shares").contains("lab/serve-1/main"); }));
}

// ---- without a cookie ----

TEST_F(ConsoleViewers, Bearer_SessionOfTheToken) {
  startViewers();
  const std::string bearer = "Authorization: Bearer lab-token\r\n";
  for (int i = 0; i < 5; ++i) {
    const Reply reply = ask("GET", "/api/v1/shares", bearer);
    EXPECT_EQ(reply.status, 200u);
    EXPECT_THAT(reply.body, HasSubstr("lab/serve-1"));
    EXPECT_THAT(reply.body, Not(HasSubstr("train")));
  }
  EXPECT_EQ(reviews_->authenticated, 1);
  EXPECT_EQ(ask("GET", "/api/v1/shares", "Authorization: Bearer wrong\r\n").status, 401u);
  EXPECT_EQ(ask("GET", "/api/v1/shares", "Authorization: Basic lab-token\r\n").status, 401u);
}

// A proxy signs in each request; the cookie may be of the viewer before.
TEST_F(ConsoleViewers, BearerBesideCookie_BearerCounts) {
  startViewers();
  const Session lab = signedIn("lab-token");
  const Reply reply =
      ask("GET", "/api/v1/session", fieldsOf(lab) + "Authorization: Bearer ml-token\r\n");
  EXPECT_EQ(reply.json().at("user"), "mia");
}

TEST_F(ConsoleViewers, BearerFromBrowser_CsrfNeeded) {
  startViewers();
  const std::string bearer = "Authorization: Bearer admin-token\r\n";
  const std::string body = R"({"manifest": "kind: Pod"})";
  const std::string own = "Origin: http://" + host() + "\r\n";
  EXPECT_EQ(ask("POST", "/api/v1/plan", bearer, body).status, 200u) << "a script";
  EXPECT_EQ(ask("POST", "/api/v1/plan", bearer + own, body).status, 403u);
  const std::string csrf(ask("GET", "/api/v1/session", bearer).json().at("csrf").as_string());
  EXPECT_EQ(
      ask("POST", "/api/v1/plan", bearer + own + "X-Divvy-CSRF: " + csrf + "\r\n", body).status,
      200u);
  EXPECT_EQ(ask("POST", "/api/v1/plan",
                bearer + "Origin: https://evil.example\r\nX-Divvy-CSRF: " + csrf + "\r\n", body)
                .status,
            403u);
}

// ---- the console itself ----

TEST_F(ConsoleViewers, SignOut_OnlyThatSession) {
  startViewers();
  const Session one = signedIn("lab-token"), two = signedIn("lab-token");
  EXPECT_EQ(ask("DELETE", "/api/v1/session", fieldsOf(one)).status, 204u);
  EXPECT_EQ(get(one, "shares").status, 401u);
  EXPECT_EQ(get(two, "shares").status, 200u);
}

TEST_F(ConsoleViewers, ReviewsHang_ListsAnswerAndConsoleEnds) {
  startViewers();
  const Session lab = signedIn("lab-token");
  Gate gate;
  reviews_->setGate(&gate);
  RawClient waiting(port_);
  waiting.send(requestText("POST", "/api/v1/session", "", R"({"token": "ml-token"})"));
  ASSERT_TRUE(gate.waitFor(1));
  EXPECT_EQ(get(lab, "shares").status, 200u);
  std::thread opener([&gate] { gate.open(); });
  stop();
  opener.join();
}

TEST_F(ConsoleViewers, Link_OpensNothing) {
  startViewers();
  EXPECT_TRUE(links().empty());
  EXPECT_EQ(useToken("").status, 401u);
}

TEST_F(ConsoleViewers, ListenOnAName_Refused) {
  options_.host = "gpu.example.org";
  const auto console =
      Console::start(loop_.get_executor(), options_, std::make_unique<FakeClusterSource>(cluster_),
                     std::make_unique<FakeReviews>(reviews_));
  ASSERT_FALSE(console);
  EXPECT_THAT(console.error().message(), HasSubstr("accepted is an IP address"));
}

}  // namespace
}  // namespace divvy::console
