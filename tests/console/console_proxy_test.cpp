// Viewers that a reverse proxy names in header fields, over real HTTP.
#include <gmock/gmock.h>

#include <atomic>
#include <map>
#include <set>

#include "console/viewer.h"
#include "sample_cluster.h"
#include "served_console.h"

namespace divvy::console {
namespace {

namespace bj = boost::json;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using Ids = std::set<std::string>;

// The API server's reviews: namespaces of users and of groups. Shared by the console's threads and
// the test.
class FakeRights {
 public:
  void set(const std::string& name, const Ids& namespaces) {
    const std::lock_guard lock(mutex_);
    rights_[name] = namespaces;
  }
  void setFailure(const std::string& failure) {
    const std::lock_guard lock(mutex_);
    failure_ = failure;
  }
  Result<ViewerScope> scopeOf(const Viewer& viewer) {
    const std::lock_guard lock(mutex_);
    if (!failure_.empty()) return Error{ErrorCode::kUnavailable, failure_};
    ViewerScope scope;
    scope.pods.names = rights_[viewer.user];
    for (const std::string& group : viewer.groups) scope.pods.names.merge(Ids(rights_[group]));
    return scope;
  }

  std::atomic<int> reviews = 0, authenticated = 0;
  std::atomic<Gate*> gate = nullptr;

 private:
  std::mutex mutex_;
  std::map<std::string, Ids> rights_;
  std::string failure_;
};

class FakeRightsReviews : public ViewerReviews {
 public:
  explicit FakeRightsReviews(std::shared_ptr<FakeRights> rights) : rights_(std::move(rights)) {}

  Result<Viewer> authenticate(const std::string&) override {
    ++rights_->authenticated;
    return Error{ErrorCode::kNotFound, "there are no tokens"};
  }
  Result<ViewerScope> scopeOf(const Viewer& viewer, const std::vector<std::string>&) override {
    EXPECT_EQ(viewer.token, "");
    EXPECT_FALSE(viewer.api_token);
    ++rights_->reviews;
    if (Gate* gate = rights_->gate) gate->pass();
    return rights_->scopeOf(viewer);
  }

 private:
  std::shared_ptr<FakeRights> rights_;
};

std::string named(const std::string& user, const std::string& groups = "") {
  return "X-Forwarded-User: " + user + "\r\n" +
         (groups.empty() ? "" : "X-Forwarded-Groups: " + groups + "\r\n");
}

class ConsoleProxy : public ServedConsole {
 protected:
  ConsoleProxy() {
    options_.place = "staging";
    options_.host = "0.0.0.0";
    options_.trust_headers_from = {"127.0.0.1"};
    cluster_->set(sampleCluster());
    cluster_->onPlan([this](const std::string&, const std::string&, const std::string&) {
      ++planned_;
      return Result<bj::array>(bj::array());
    });
    rights_->set("lara", {"lab"});
    rights_->set("mlers", {"ml"});
  }
  ~ConsoleProxy() override { stop(); }

  auto started() {
    return Console::start(loop_.get_executor(), options_,
                          std::make_unique<FakeClusterSource>(cluster_),
                          std::make_unique<FakeRightsReviews>(rights_));
  }
  void startViewers() {
    run(started());
    ASSERT_TRUE(eventually([&] { return ask("GET", "/readyz").status == 200; }));
  }
  Reply read(const std::string& target, const std::string& fields) const {
    return ask("GET", "/api/v1/" + target, fields);
  }
  std::string csrfOf(const std::string& fields) const {
    const Reply reply = read("session", fields);
    EXPECT_EQ(reply.status, 200u) << reply.body;
    return reply.status == 200 ? std::string(reply.json().at("csrf").as_string()) : "";
  }
  Ids shares(const std::string& fields) const {
    const Reply reply = read("shares", fields);
    EXPECT_EQ(reply.status, 200u) << reply.body;
    Ids found;
    if (reply.status != 200) return found;
    const bj::object answer = reply.json();
    for (const bj::value& item : answer.at("items").as_array())
      found.emplace(item.at("id").as_string());
    return found;
  }
  std::unique_ptr<RawClient> streamOf(const std::string& fields) const {
    auto client = std::make_unique<RawClient>(port_);
    client->send(requestText("GET", "/api/v1/stream?topics=shares", fields, ""));
    EXPECT_THAT(client->until("\n\n"), testing::StartsWith("HTTP/1.1 200"));
    return client;
  }

  std::shared_ptr<FakeClusterState> cluster_ = std::make_shared<FakeClusterState>();
  std::shared_ptr<FakeRights> rights_ = std::make_shared<FakeRights>();
  std::atomic<int> planned_ = 0;
};

// ---- which peers are trusted ----

TEST_F(ConsoleProxy, NamedViewer_ItsRightsAndNoCookie) {
  startViewers();
  const Reply reply = read("session", named("lara"));
  ASSERT_EQ(reply.status, 200u) << reply.body;
  const bj::object session = reply.json();
  EXPECT_EQ(session.at("user"), "lara");
  EXPECT_EQ(session.at("way_in"), "proxy-headers");
  EXPECT_EQ(session.at("can").at("plan"), false);
  EXPECT_EQ(session.at("can").at("change"), false);
  EXPECT_EQ(session.at("scope").at("pods"), bj::array{"lab"});
  EXPECT_THAT(std::string(session.at("changes").at("how").as_string()), HasSubstr("no token"));
  EXPECT_EQ(reply.field("Set-Cookie"), "");
  EXPECT_EQ(shares(named("lara")), Ids{"lab/serve-1/main"});
  EXPECT_THAT(shares(named("noor")), IsEmpty());
  EXPECT_EQ(rights_->authenticated, 0);
}

TEST_F(ConsoleProxy, Login_SaysHeaders) {
  startViewers();
  const Reply reply = read("login", "");
  EXPECT_EQ(reply.json().at("login"), "headers");
  EXPECT_EQ(reply.json().at("cluster"), "staging");
}

// The address of the connection counts, not that of X-Forwarded-For.
TEST_F(ConsoleProxy, OtherAddress_401WithAndWithoutNames) {
  options_.trust_headers_from = {"127.0.0.2"};
  options_.trusted_proxies = {"127.0.0.1"};
  startViewers();
  for (const std::string& fields : {std::string(), named("lara"), named("lara", "mlers"),
                                    named("lara") + "X-Forwarded-For: 127.0.0.2\r\n",
                                    named("lara") + "Forwarded: for=127.0.0.2\r\n",
                                    std::string("Authorization: Bearer lab-token\r\n")}) {
    for (const char* target : {"session", "overview", "shares", "waiting", "events", "about",
                               "stream?topics=shares", "usage.csv", "series"}) {
      const Reply reply = read(target, fields);
      EXPECT_EQ(reply.status, 401u) << target << fields;
      EXPECT_THAT(reply.body, HasSubstr("comes from 127.0.0.1")) << target << fields;
    }
    EXPECT_EQ(ask("POST", "/api/v1/plan", fields, "{}").status, 401u);
  }
  EXPECT_EQ(rights_->reviews + rights_->authenticated, 0);
}

TEST_F(ConsoleProxy, WithoutUser_401) {
  startViewers();
  read("session", named("lara"));
  for (const std::string& fields :
       {std::string(), named(""), std::string("X-Forwarded-Groups: ml\r\n"),
        std::string("Authorization: Bearer lara\r\n")}) {
    const Reply reply = read("shares", fields);
    EXPECT_EQ(reply.status, 401u) << fields;
    EXPECT_EQ(reply.errorCode(), "unauthenticated");
    EXPECT_THAT(reply.body, HasSubstr("sign in at the proxy"));
  }
  EXPECT_EQ(rights_->authenticated, 0);
}

TEST_F(ConsoleProxy, ReservedOrTwice_401) {
  startViewers();
  for (const std::string& fields :
       {named("system:admin"), named("lara", "system:masters"), named("lara") + named("mia"),
        named("lara, mia"), named("lara", "a") + "X-Forwarded-Groups: mlers\r\n"})
    EXPECT_EQ(read("shares", fields).status, 401u) << fields;
  EXPECT_THAT(read("session", named("lara", "system:masters")).body,
              HasSubstr("of Kubernetes itself"));
  EXPECT_EQ(rights_->reviews, 0);
}

// The session is that of the names. Its identifier is no secret that a viewer has.
TEST_F(ConsoleProxy, Cookie_IsNothing) {
  startViewers();
  const std::string lara = csrfOf(named("lara"));
  const std::string cookie = "Cookie: divvy_session_" + std::to_string(port_) + "=" + lara + "\r\n";
  EXPECT_EQ(read("session", cookie).status, 401u);
  const Reply other = read("session", cookie + named("mia"));
  EXPECT_EQ(other.json().at("user"), "mia");
  EXPECT_NE(std::string(other.json().at("csrf").as_string()), lara);
}

TEST_F(ConsoleProxy, TokensAndLinks_OpenNothing) {
  startViewers();
  EXPECT_TRUE(links().empty());
  for (const std::string& fields : {std::string(), named("lara")}) {
    const Reply reply = ask("POST", "/api/v1/session", fields, R"({"token": "a"})");
    EXPECT_EQ(reply.status, 403u);
    EXPECT_THAT(reply.body, HasSubstr("the proxy in front of this console"));
    EXPECT_EQ(reply.field("Set-Cookie"), "");
  }
  EXPECT_EQ(rights_->authenticated, 0);
}

TEST_F(ConsoleProxy, WideOrWrongRanges_Refused) {
  for (const auto& [range, says] : {std::pair("0.0.0.0/0", "trusts nearly every address"),
                                    {"::/0", "trusts nearly every address"},
                                    {"::/1", "wider than /8"},
                                    {"gateway", "\"gateway\" is not accepted"},
                                    {"", "\"\" is not accepted"}}) {
    options_.trust_headers_from = {"10.0.0.7", range};
    const auto console = started();
    ASSERT_FALSE(console) << range;
    EXPECT_EQ(console.error().code(), ErrorCode::kUsage);
    EXPECT_THAT(console.error().message(), HasSubstr("--trust-headers-from"));
    EXPECT_THAT(console.error().message(), HasSubstr(says));
  }
}

// ---- one session of a user and its groups ----

TEST_F(ConsoleProxy, OtherGroups_OtherScope) {
  startViewers();
  const std::string before = csrfOf(named("lara", "b,a"));
  EXPECT_EQ(csrfOf(named("lara", "a, b ,a")), before);
  EXPECT_EQ(shares(named("lara", "a,b")), Ids{"lab/serve-1/main"});
  EXPECT_EQ(shares(named("lara", "mlers")).size(), 4u);
  EXPECT_EQ(shares(named("mia", "mlers")).size(), 3u);
  EXPECT_EQ(shares(named("lara")), Ids{"lab/serve-1/main"}) << "it has left the group";
  EXPECT_NE(csrfOf(named("lara", "mlers")), before);
}

TEST_F(ConsoleProxy, RequestsAtOnce_OneSession) {
  startViewers();
  Gate gate;
  rights_->gate = &gate;
  std::vector<std::unique_ptr<RawClient>> clients;
  for (int i = 0; i < 8; ++i) {
    clients.push_back(std::make_unique<RawClient>(port_));
    clients.back()->send(requestText("GET", "/api/v1/session", named("lara"), ""));
  }
  ASSERT_TRUE(gate.waitFor(1));
  gate.open();
  Ids answers;
  for (const auto& client : clients) {
    const std::string text = client->rest();
    EXPECT_THAT(text, HasSubstr("HTTP/1.1 200"));
    const std::size_t at = text.find("\"csrf\":");
    answers.insert(text.substr(at, 73));
  }
  EXPECT_EQ(answers.size(), 1u);
  EXPECT_EQ(rights_->reviews, 1);
}

// All viewers come from one address.
TEST_F(ConsoleProxy, ManyViewers_LimitsOfEachUser) {
  startViewers();
  for (int i = 0; i < 40; ++i)
    EXPECT_EQ(read("session", named("user-" + std::to_string(i))).status, 200u) << i;
  unsigned busy = 0;
  for (int i = 0; i < 60 && busy == 0; ++i)
    busy += read("session", named("lara", "g" + std::to_string(i))).errorCode() == "busy" ? 1 : 0;
  EXPECT_EQ(busy, 1u);
  EXPECT_EQ(shares(named("user-1")), Ids{});
}

TEST_F(ConsoleProxy, ReviewsFail_503AndNoSession) {
  startViewers();
  rights_->setFailure("the API server is gone");
  const Reply reply = read("shares", named("lara"));
  EXPECT_EQ(reply.status, 503u);
  EXPECT_THAT(reply.body, HasSubstr("the API server is gone"));
  rights_->setFailure("");
  EXPECT_EQ(shares(named("lara")), Ids{"lab/serve-1/main"});
}

// ---- requests with an effect ----

// Browsers send them through the proxy, which adds the names, for pages of any site.
TEST_F(ConsoleProxy, Effects_CsrfNeededAlways) {
  startViewers();
  const std::string body = R"({"manifest": "kind: Pod"})";
  const auto post = [&](const std::string& fields) {
    return ask("POST", "/api/v1/plan", named("lara") + fields, body);
  };
  const std::string own = "X-Divvy-CSRF: " + csrfOf(named("lara")) + "\r\n";
  for (const std::string& fields :
       {std::string(), std::string("Authorization: Bearer a\r\n"),
        std::string("X-Divvy-CSRF: \r\n"), "X-Divvy-CSRF: " + csrfOf(named("mia")) + "\r\n",
        "X-Divvy-CSRF: " + csrfOf(named("lara", "mlers")) + "\r\n"}) {
    const Reply reply = post(fields);
    EXPECT_EQ(reply.status, 403u) << fields;
    EXPECT_THAT(reply.body, HasSubstr("X-Divvy-CSRF")) << fields;
  }
  EXPECT_THAT(post(own + "Origin: https://evil.example\r\n").body, HasSubstr("another site"));
  EXPECT_THAT(post(own + "Sec-Fetch-Site: cross-site\r\n").body, HasSubstr("another site"));
  EXPECT_EQ(ask("DELETE", "/api/v1/session", named("lara")).status, 403u);
  EXPECT_EQ(ask("DELETE", "/api/v1/session", named("lara") + own).status, 204u);
}

// Else the console would plan with its own rights.
TEST_F(ConsoleProxy, Plan_NeverWithTheConsolesRights) {
  startViewers();
  const std::string csrf = "X-Divvy-CSRF: " + csrfOf(named("lara")) + "\r\n";
  const Reply reply =
      ask("POST", "/api/v1/plan", named("lara") + csrf, R"({"manifest": "kind: Pod"})");
  EXPECT_EQ(reply.status, 403u);
  EXPECT_THAT(reply.body, HasSubstr("no token of yours"));
  EXPECT_EQ(planned_, 0);
}

TEST_F(ConsoleProxy, Changes_NeverWithTheConsolesRights) {
  options_.allow_changes = true;
  startViewers();
  const std::string csrf = "X-Divvy-CSRF: " + csrfOf(named("lara")) + "\r\n";
  const Reply reply = ask("POST", "/api/v1/changes", named("lara") + csrf,
                          R"({"what": "evict", "target": {"pod": "lab/serve-1"}})");
  EXPECT_EQ(reply.status, 403u) << reply.body;
  EXPECT_EQ(read("session", named("lara")).json().at("can").at("change"), false);
}

// ---- while a session lasts ----

class ConsoleProxyReviewed : public ConsoleProxy {
 protected:
  ConsoleProxyReviewed() { options_.review_interval = std::chrono::milliseconds(200); }
};

TEST_F(ConsoleProxyReviewed, RightsEnd_StreamAndListsFollow) {
  options_.review_interval = std::chrono::milliseconds(1000);
  startViewers();
  const auto stream = streamOf(named("lara"));
  const std::string csrf = csrfOf(named("lara"));
  rights_->set("lara", {});
  EXPECT_THAT(stream->rest(), Not(HasSubstr("event: end"))) << "the page opens it again";
  EXPECT_TRUE(stream->ended());
  EXPECT_TRUE(eventually([&] { return shares(named("lara")).empty(); }));
  EXPECT_EQ(csrfOf(named("lara")), csrf) << "it is the same session";
}

TEST_F(ConsoleProxyReviewed, StreamAlone_RightsReviewedEachInterval) {
  startViewers();
  const auto stream = streamOf(named("lara"));
  const int before = rights_->reviews;
  EXPECT_TRUE(eventually([&] { return rights_->reviews >= before + 2; }));
  EXPECT_EQ(rights_->authenticated, 0);
}

// The proxy would not know about a stream whose viewer has left a group, or has signed out.
TEST_F(ConsoleProxyReviewed, NoRequest_StreamAndSessionEnd) {
  startViewers();
  const auto stream = streamOf(named("lara", "mlers"));
  stream->rest();
  EXPECT_TRUE(stream->ended());
  EXPECT_TRUE(eventually(
      [&] { return read("about", named("lara")).json().at("health").at("sessions") == 1; }));
}

TEST_F(ConsoleProxyReviewed, ServerSilent_FiveIntervalsThen503) {
  startViewers();
  EXPECT_EQ(shares(named("lara")), Ids{"lab/serve-1/main"});
  rights_->setFailure("the API server is gone");
  EXPECT_TRUE(eventually([&] { return read("shares", named("lara")).status == 503u; }));
  rights_->setFailure("");
  EXPECT_TRUE(eventually([&] { return read("shares", named("lara")).status == 200u; }));
}

}  // namespace
}  // namespace divvy::console
