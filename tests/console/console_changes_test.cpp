// Changes of a cluster over real HTTP.
#include <gmock/gmock.h>

#include <mutex>
#include <vector>

#include "history/store.h"
#include "served_viewers.h"

namespace divvy::console {
namespace {

namespace bj = boost::json;
using testing::HasSubstr;
using testing::Not;

class ConsoleChanges : public ServedViewers {
 protected:
  ConsoleChanges() {
    options_.allow_changes = true;
    outcome_.effects = {"something changes"};
    outcome_.warnings = {"look out"};
    cluster_->onChange([this](const ClusterChange& change) -> Result<ClusterChangeOutcome> {
      const std::lock_guard lock(mutex_);
      calls_.push_back(change);
      if (failure_) return *failure_;
      return outcome_;
    });
    // A viewer of one namespace with a token that the API server accepts.
    FakeReviewState::Account maria = accountOf("maria", {"lab"});
    maria.viewer.api_token = true;
    reviews_->set("maria-token", maria);
  }
  ~ConsoleChanges() override { stop(); }

  void startWithLink() {
    options_.host = "127.0.0.1";
    serve(std::make_unique<FakeClusterSource>(cluster_));
    ASSERT_TRUE(eventually([&] { return ask("GET", "/readyz").status == 200; }));
  }
  std::vector<ClusterChange> calls() {
    const std::lock_guard lock(mutex_);
    return calls_;
  }
  void answer(const ClusterChangeOutcome& outcome) {
    const std::lock_guard lock(mutex_);
    outcome_ = outcome;
  }
  void fail(const Error& error) {
    const std::lock_guard lock(mutex_);
    failure_ = error;
  }

  std::vector<ClusterChange> calls_;
  ClusterChangeOutcome outcome_;
  std::optional<Error> failure_;
};

const std::string kEvict = R"({"what": "evict", "target": {"pod": "lab/serve-1"}})";
const std::string kEvictNow =
    R"({"what": "evict", "target": {"pod": "lab/serve-1"}, "dry_run": false})";

TEST_F(ConsoleChanges, LinkSession_AnswerOfSource) {
  startWithLink();
  const Session session = opened();
  const bj::object told = get(session, "session").json();
  EXPECT_EQ(told.at("can").at("change"), true);
  EXPECT_EQ(told.at("changes").at("enabled"), true);
  const Reply planned = post(session, "changes", kEvict);
  ASSERT_EQ(planned.status, 200u) << planned.body;
  const bj::object plan = planned.json();
  EXPECT_EQ(plan.at("dry_run"), true);
  EXPECT_EQ(plan.at("effects"), bj::array{"something changes"});
  EXPECT_EQ(plan.at("warnings"), bj::array{"look out"});
  EXPECT_TRUE(plan.at("refused").is_null());
  EXPECT_EQ(plan.at("state"), "planned");
  EXPECT_TRUE(plan.at("recorded").is_null());
  ASSERT_EQ(calls().size(), 1u);
  EXPECT_TRUE(calls()[0].dry_run);
  EXPECT_EQ(calls()[0].user, "ana");
  EXPECT_EQ(calls()[0].token, "");
  EXPECT_EQ(calls()[0].target.pod, "serve-1");
  ClusterChangeOutcome outcome;
  outcome.state = ClusterChangeState::kRequested;
  outcome.recorded = false;
  outcome.refused = ClusterRefusal{"NoRoom", "it is full"};
  answer(outcome);
  const bj::object done = post(session, "changes", kEvictNow).json();
  EXPECT_EQ(done.at("dry_run"), false);
  EXPECT_EQ(done.at("state"), "requested");
  EXPECT_EQ(done.at("recorded"), false);
  EXPECT_EQ(done.at("refused").at("code"), "NoRoom");
  EXPECT_FALSE(calls()[1].dry_run);
}

TEST_F(ConsoleChanges, ChangesOff_403AndSourceNotAsked) {
  options_.allow_changes = false;
  startViewers();
  const Session session = signedIn("admin-token");
  const Reply reply = post(session, "changes", kEvict);
  EXPECT_EQ(reply.status, 403u);
  EXPECT_EQ(reply.errorCode(), "forbidden");
  EXPECT_THAT(reply.body, HasSubstr("--allow-changes"));
  const bj::object told = get(session, "session").json();
  EXPECT_EQ(told.at("can").at("change"), false);
  EXPECT_EQ(told.at("changes").at("enabled"), false);
  EXPECT_THAT(std::string(told.at("changes").at("how").as_string()),
              HasSubstr("console.allowChanges"));
  EXPECT_TRUE(calls().empty());
}

TEST_F(ConsoleChanges, TokenForConsolesOnly_403) {
  startViewers();
  const Session session = signedIn("lab-token");
  for (const std::string& body : {kEvict, kEvictNow}) {
    const Reply reply = post(session, "changes", body);
    EXPECT_EQ(reply.status, 403u);
    EXPECT_EQ(reply.errorCode(), "forbidden");
    EXPECT_THAT(reply.body, HasSubstr("sign in with a token that the API server accepts"));
  }
  const bj::object told = get(session, "session").json();
  EXPECT_EQ(told.at("can").at("change"), false);
  EXPECT_EQ(told.at("changes").at("enabled"), true);
  EXPECT_THAT(std::string(told.at("changes").at("how").as_string()),
              HasSubstr("kubectl create token"));
  EXPECT_TRUE(calls().empty());
}

TEST_F(ConsoleChanges, TokenOfApiServer_UsedForTheChange) {
  startViewers();
  const Session session = signedIn("maria-token");
  EXPECT_EQ(get(session, "session").json().at("can").at("change"), true);
  EXPECT_EQ(post(session, "changes", kEvict).status, 200u);
  ASSERT_EQ(calls().size(), 1u);
  EXPECT_EQ(calls()[0].token, "maria-token");
  EXPECT_EQ(calls()[0].user, "maria");
  // A script without a session.
  const Reply script =
      ask("POST", "/api/v1/changes", "Authorization: Bearer maria-token\r\n", kEvict);
  EXPECT_EQ(script.status, 200u) << script.body;
  EXPECT_THAT(script.body, Not(HasSubstr("maria-token")));
}

TEST_F(ConsoleChanges, WithoutCsrfOrSession_Refused) {
  startViewers();
  const Session session = signedIn("maria-token");
  EXPECT_EQ(ask("POST", "/api/v1/changes", "Cookie: " + session.cookie + "\r\n", kEvict).status,
            403u);
  EXPECT_EQ(ask("POST", "/api/v1/changes",
                "Cookie: " + session.cookie + "\r\nX-Divvy-CSRF: " + std::string(32, 'a') + "\r\n",
                kEvict)
                .status,
            403u);
  EXPECT_EQ(ask("POST", "/api/v1/changes", "", kEvict).status, 401u);
  EXPECT_EQ(
      ask("POST", "/api/v1/changes", fieldsOf(session) + "Origin: https://evil.example\r\n", kEvict)
          .status,
      403u);
  EXPECT_TRUE(calls().empty());
}

// What a viewer does not see is not there, whether it exists or not.
TEST_F(ConsoleChanges, ObjectsOfOthers_404AndSourceNotAsked) {
  startViewers();
  const Session session = signedIn("maria-token");
  for (const char* target :
       {R"("evict", "target": {"pod": "ml/train-0"})", R"("evict", "target": {"pod": "lab/none"})",
        R"("evict", "target": {"pod": "lab/serve"})", R"("evict", "target": {"pod": "ml/wrong"})",
        R"("notice", "to": {"text": "x"}, "target": {"pod": "ml/train-0"})",
        R"("resize", "to": {"cores": 5}, "target": {"share": "ml/train-0/main"})",
        R"("priority", "to": {"priority": "low"}, "target": {"share": "lab/serve-1/side"})",
        R"("cordon", "target": {"node": "gpu-1"})",
        R"("cordon", "target": {"device": "gpu-2/GPU-gpu-2-0"})",
        R"("queue", "to": {"weight": 5}, "target": {"queue": "other"})"}) {
    const Reply reply = post(session, "changes", "{\"what\": " + std::string(target) + "}");
    EXPECT_EQ(reply.status, 404u) << target;
    EXPECT_THAT(reply.body, HasSubstr("nothing was changed")) << target;
  }
  EXPECT_TRUE(calls().empty());
  // Control: what it sees.
  for (const char* target :
       {R"("evict", "target": {"pod": "lab/serve-1"})",
        R"("notice", "to": {"text": "x"}, "target": {"pod": "lab/serve-2"})",
        R"("priority", "to": {"priority": "low"}, "target": {"share": "lab/serve-1/main"})",
        R"("cordon", "target": {"device": "gpu-1/GPU-gpu-1-0"})",
        R"("queue", "to": {"weight": 5}, "target": {"queue": "research"})"})
    EXPECT_EQ(post(session, "changes", "{\"what\": " + std::string(target) + "}").status, 200u)
        << target;
  EXPECT_EQ(calls().size(), 5u);
}

TEST_F(ConsoleChanges, WrongBody_400) {
  startWithLink();
  const Session session = opened();
  for (const char* body : {"", "5", R"({"what": "evict"})", R"({"what": "evict", "x": 1})"}) {
    const Reply reply = post(session, "changes", body);
    EXPECT_EQ(reply.status, 400u) << body;
    EXPECT_EQ(reply.errorCode(), "usage") << body;
  }
  EXPECT_TRUE(calls().empty());
}

TEST_F(ConsoleChanges, UseOfShare_LargestOfItsDevices) {
  ClusterReading reading = sampleCluster();
  const auto use = [&](const char* device, std::uint64_t bytes) {
    reading.share_use[{"ml", "train-0", "main", device}].memory_used = bytes;
  };
  use("GPU-gpu-1-0", 5);
  use("GPU-gpu-1-1", 7);
  cluster_->set(reading);
  startWithLink();
  const Session session = opened();
  const char* body =
      R"({"what": "resize", "target": {"share": "ml/train-0/main"}, "to": {"cores": 5}})";
  EXPECT_EQ(post(session, "changes", body).status, 200u);
  ASSERT_EQ(calls().size(), 1u);
  EXPECT_EQ(calls()[0].used_bytes, 7u);
}

TEST_F(ConsoleChanges, ErrorsOfSource_Mapped) {
  startWithLink();
  const Session session = opened();
  for (const auto& [code, status] : std::map<ErrorCode, unsigned>{
           {ErrorCode::kNotFound, 404}, {ErrorCode::kUsage, 400}, {ErrorCode::kUnavailable, 503}}) {
    fail({code, "why not"});
    const Reply reply = post(session, "changes", kEvictNow);
    EXPECT_EQ(reply.status, status);
    EXPECT_THAT(reply.body, HasSubstr("why not"));
  }
}

TEST_F(ConsoleChanges, ManyChanges_FurtherOnesBusyAndPagesAnswered) {
  Gate gate;
  cluster_->onChange([&gate](const ClusterChange&) {
    gate.pass();
    return ClusterChangeOutcome();
  });
  startWithLink();
  const Session session = opened();
  std::vector<std::future<Reply>> changes;
  for (int i = 0; i < 2; ++i)
    changes.push_back(
        std::async(std::launch::async, [&] { return post(session, "changes", kEvict); }));
  ASSERT_TRUE(gate.waitFor(2));
  EXPECT_EQ(post(session, "changes", kEvict).errorCode(), "busy");
  // Questions have a thread of their own.
  EXPECT_EQ(get(session, "waiting/lab/serve-2/explain").status, 200u);
  gate.open();
  for (std::future<Reply>& change : changes) EXPECT_EQ(change.get().status, 200u);
  EXPECT_EQ(post(session, "changes", kEvict).status, 200u);
}

// The history of the console is written by the change, and the loop goes on after both.
TEST_F(ConsoleChanges, DestroyedDuringChange_LoopGoesOn) {
  Gate gate;
  cluster_->onChange([&gate](const ClusterChange&) {
    gate.pass();
    return ClusterChangeOutcome();
  });
  startWithLink();
  const Session session = opened();
  RawClient client(port_);
  client.send(requestText("POST", "/api/v1/changes", fieldsOf(session), kEvictNow));
  ASSERT_TRUE(gate.waitFor(1));
  std::thread opener([&gate] { gate.open(); });
  inLoop([this] { console_.reset(); });
  opener.join();
  client.rest();
  for (int i = 0; i < 3; ++i) inLoop([] {});
}

// The history has changes that were made or refused, and no dry runs.
TEST_F(ConsoleChanges, MadeChanges_InTheHistory) {
  std::string folder = testing::TempDir() + "divvy-changes-XXXXXX";
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  options_.history_file = folder + "/history.sqlite";
  startViewers();
  const Session session = signedIn("maria-token");
  post(session, "changes", kEvict);
  post(session, "changes", kEvictNow);
  ClusterChangeOutcome refused;
  refused.refused = ClusterRefusal{"forbidden", "maria cannot"};
  answer(refused);
  post(session, "changes", kEvictNow);
  stop();
  history::StoreOptions kept;
  kept.path = options_.history_file;
  const Result<history::Store> store = history::Store::open(kept);
  ASSERT_TRUE(store) << store.error().message();
  history::EventQuery changes;
  changes.kind = "change";
  const auto events = store->events(changes);
  ASSERT_TRUE(events);
  ASSERT_EQ(events->size(), 2u);
  const history::Event& last = (*events)[0].event;
  EXPECT_EQ(last.kind, "change");
  EXPECT_EQ(last.actor, "maria");
  EXPECT_EQ(last.object, "lab/serve-1");
  EXPECT_EQ(last.text, "evict lab/serve-1: refused: maria cannot");
  EXPECT_EQ((*events)[1].event.text, "evict lab/serve-1: something changes");
}

}  // namespace
}  // namespace divvy::console
