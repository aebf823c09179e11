// The scopes of viewers, before an API server that keeps all questions.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <thread>

#include "cluster_console/viewer_fixture.h"

namespace divvy::cli {
namespace {

using namespace test_viewers;

class ViewerScopeTest : public ViewerReviewsTest {};

struct Question {
  std::string about;
  std::string attributes;  // as JSON
};

// All questions about a viewer without rights, in a cluster with the namespaces a and b.
const std::vector<Question> kQuestions{
    {"events", R"({"verb":"list","version":"v1","resource":"events"})"},
    {"events in a", R"({"namespace":"a","verb":"list","version":"v1","resource":"events"})"},
    {"events in b", R"({"namespace":"b","verb":"list","version":"v1","resource":"events"})"},
    {"nodes", R"({"verb":"list","version":"v1","resource":"nodes"})"},
    {"pods", R"({"verb":"list","version":"v1","resource":"pods"})"},
    {"pods in a", R"({"namespace":"a","verb":"list","version":"v1","resource":"pods"})"},
    {"pods in b", R"({"namespace":"b","verb":"list","version":"v1","resource":"pods"})"},
    {"queues", R"({"verb":"list","group":"divvy.dev","version":"v1alpha1","resource":"queues"})"},
};

TEST_F(ViewerScopeTest, ConsoleToken_BodiesOfSubjectReviews) {
  ASSERT_TRUE(scope(false, {"a", "b"}));
  std::vector<Review> all = server_.take();
  std::sort(all.begin(), all.end(),
            [](const Review& one, const Review& other) { return one.about() < other.about(); });
  ASSERT_EQ(all.size(), kQuestions.size());
  for (std::size_t at = 0; at < all.size(); ++at) {
    EXPECT_EQ(all[at].about(), kQuestions[at].about);
    EXPECT_EQ(all[at].path, kSubjectReviews);
    EXPECT_EQ(all[at].authorization, kOwn);
    EXPECT_EQ(all[at].body,
              R"({"apiVersion":"authorization.k8s.io/v1","kind":"SubjectAccessReview","spec":)"
              R"({"user":"jane","uid":"u-7","groups":["a","b"],)"
              R"("extra":{"example.com/x":["1","2"]},"resourceAttributes":)" +
                  kQuestions[at].attributes + "}}");
  }
}

TEST_F(ViewerScopeTest, ApiToken_BodiesOfSelfReviewsWithItsToken) {
  ASSERT_TRUE(scope(true, {"a", "b"}));
  std::vector<Review> all = server_.take();
  std::sort(all.begin(), all.end(),
            [](const Review& one, const Review& other) { return one.about() < other.about(); });
  ASSERT_EQ(all.size(), kQuestions.size());
  for (std::size_t at = 0; at < all.size(); ++at) {
    EXPECT_EQ(all[at].path, kSelfReviews);
    EXPECT_EQ(all[at].authorization, "Bearer " + kToken);
    EXPECT_EQ(all[at].body,
              R"({"apiVersion":"authorization.k8s.io/v1","kind":"SelfSubjectAccessReview",)"
              R"("spec":{"resourceAttributes":)" +
                  kQuestions[at].attributes + "}}");
  }
}

TEST_F(ViewerScopeTest, NameOnly_BodyHasNoEmptyMembers) {
  console::Viewer one;
  one.user = "jane";
  ASSERT_TRUE(reviews().scopeOf(one, {}));
  const std::vector<Review> all = server_.take();
  ASSERT_EQ(all.size(), 4u);
  for (const Review& review : all)
    EXPECT_EQ(review.body.find(R"("spec":{"user":"jane","resourceAttributes":{)"),
              std::string(R"({"apiVersion":"authorization.k8s.io/v1",)"
                          R"("kind":"SubjectAccessReview",)")
                  .size());
}

TEST_F(ViewerScopeTest, AllAllowed_WholeScopeOfFourReviews) {
  for (const bool api_token : {false, true}) {
    allow({"nodes", "queues", "pods", "events"});
    const Result<console::ViewerScope> rights = scope(api_token, {"a", "b", "c"});
    ASSERT_TRUE(rights) << rights.error().message();
    EXPECT_TRUE(rights->everything());
    EXPECT_EQ(asked(), (std::vector<std::string>{"events", "nodes", "pods", "queues"}));
  }
}

// Each combination of the cluster-wide rights, and pods and events of two namespaces.
TEST_F(ViewerScopeTest, AllMixesOfRights_ExactScope) {
  const std::vector<std::string> rights{"nodes",     "queues",    "pods",        "events",
                                        "pods in a", "pods in b", "events in a", "events in b"};
  for (unsigned mask = 0; mask < 1u << rights.size(); ++mask) {
    std::set<std::string> allowed;
    for (std::size_t at = 0; at < rights.size(); ++at)
      if ((mask >> at & 1) != 0) allowed.insert(rights[at]);
    allow(allowed);
    console::ViewerScope want;
    want.nodes = allowed.contains("nodes");
    want.queues = allowed.contains("queues");
    want.pods.all = allowed.contains("pods");
    want.events.all = allowed.contains("events");
    for (const char* name : {"a", "b"}) {
      if (!want.pods.all && allowed.contains(std::string("pods in ") + name))
        want.pods.names.insert(name);
      if (!want.events.all && allowed.contains(std::string("events in ") + name))
        want.events.names.insert(name);
    }
    const Result<console::ViewerScope> found = scope(mask % 2 == 0, {"a", "b", "c"});
    ASSERT_TRUE(found) << found.error().message();
    ASSERT_EQ(*found, want) << mask;
    const std::size_t narrow = (want.pods.all ? 0 : 3) + (want.events.all ? 0 : 3);
    ASSERT_EQ(server_.take().size(), 4 + narrow) << mask;
  }
}

TEST_F(ViewerScopeTest, NamespacesThatAreNoNames_NotAsked) {
  allow({"pods in a", "events in a"});
  const Result<console::ViewerScope> found =
      scope(false, {"a", "a", "", "a/b", "..", ".", "a b", "a?x", "a\n", "\xc3\xa4", "a%2f", "*"});
  ASSERT_TRUE(found) << found.error().message();
  EXPECT_EQ(found->pods.names, std::set<std::string>{"a"});
  EXPECT_EQ(found->events.names, std::set<std::string>{"a"});
  EXPECT_EQ(asked(), (std::vector<std::string>{"events", "events in a", "nodes", "pods",
                                               "pods in a", "queues"}));
}

TEST_F(ViewerScopeTest, ManyNamespaces_AllAskedOnce) {
  std::vector<std::string> namespaces;
  for (int at = 0; at < 150; ++at) namespaces.push_back("ns-" + std::to_string(at));
  server_.answer(
      [](const Review& review) { return ReviewServer::allowed(review.about().ends_with('7')); });
  const Result<console::ViewerScope> found = scope(true, namespaces);
  ASSERT_TRUE(found) << found.error().message();
  EXPECT_EQ(found->pods.names.size(), 15u);
  EXPECT_EQ(found->events.names, found->pods.names);
  std::vector<std::string> all = asked();
  EXPECT_EQ(all.size(), 304u);
  EXPECT_EQ(std::unique(all.begin(), all.end()), all.end());
}

TEST_F(ViewerScopeTest, ReviewRefused_UnavailableWithoutToken) {
  std::vector<Refusal> cases = refusals();
  for (const char* status : {"{}", R"({"allowed":null})", R"({"allowed":"true"})",
                             R"({"allowed":1})", R"({"denied":true})"})
    cases.push_back({ReviewServer::status(status), "has no status.allowed"});
  cases.push_back({ReviewServer::status(R"({"allowed":false,"evaluationError":"eyJh: down"})"),
                   "cannot evaluate"});
  for (const bool api_token : {false, true}) {
    for (const Refusal& one : cases) {
      server_.answer([&](const Review&) { return one.reply; });
      const Result<console::ViewerScope> found = scope(api_token, {"a"});
      ASSERT_FALSE(found) << one.reply.status << ' ' << one.reply.body;
      expectUnavailable(found.error(), one.says);
      EXPECT_NE(found.error().message().find(api_token ? "SelfSubjectAccessReview"
                                                       : "a SubjectAccessReview"),
                std::string::npos)
          << found.error().message();
    }
  }
}

// One review of many fails: neither more nor less is allowed by it.
TEST_F(ViewerScopeTest, OneReviewFails_UnavailableAndRestNotAsked) {
  std::vector<std::string> namespaces;
  for (int at = 0; at < 150; ++at) namespaces.push_back("ns-" + std::to_string(at));
  for (const std::string& bad : {std::string("nodes"), std::string("events"),
                                 std::string("pods in ns-1"), std::string("events in ns-1")}) {
    server_.answer([&](const Review& review) {
      return review.about() == bad ? Reply{500, ""} : ReviewServer::allowed(false);
    });
    const Result<console::ViewerScope> found = scope(false, namespaces);
    ASSERT_FALSE(found) << bad;
    expectUnavailable(found.error(), "with 500");
    EXPECT_LT(server_.take().size(), 100u) << bad;
  }
}

// An authorizer fails, another one allows: the API server serves such requests.
TEST_F(ViewerScopeTest, AllowedInSpiteOfError_Allowed) {
  server_.answer([](const Review&) {
    return ReviewServer::status(R"({"allowed":true,"evaluationError":"webhook: down"})");
  });
  const Result<console::ViewerScope> found = scope(false, {});
  ASSERT_TRUE(found) << found.error().message();
  EXPECT_TRUE(found->everything());
}

// A binding of a role that does not exist is a reason, and no error.
TEST_F(ViewerScopeTest, NotAllowedForReason_NotAllowed) {
  server_.answer([](const Review&) {
    return ReviewServer::status(
        R"({"allowed":false,"denied":false,"evaluationError":"","reason":"RBAC: role not found"})");
  });
  const Result<console::ViewerScope> found = scope(true, {"a"});
  ASSERT_TRUE(found) << found.error().message();
  EXPECT_EQ(*found, console::ViewerScope{});
}

// ---- credentials ----

// Otherwise the rights of the console's own account would be reviewed.
TEST_F(ViewerScopeTest, ApiViewerWithoutToken_NotAsked) {
  for (const std::string& text : {std::string(), std::string("a\r\nb"), std::string("a b")}) {
    console::Viewer one = viewer(true);
    one.token = text;
    const Result<console::ViewerScope> found = reviews().scopeOf(one, {"a"});
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().code(), ErrorCode::kUnavailable);
  }
  EXPECT_TRUE(server_.take().empty());
}

// The console may act for another user; a viewer's token is for the viewer only.
TEST_F(ViewerScopeTest, ConsoleImpersonates_ViewerDoesNot) {
  connection_.words.as.user = "gate";
  connection_.words.token = "other";
  server_.answer(forApi);
  ASSERT_TRUE(authenticate(kToken));
  for (const Review& one : server_.take()) {
    EXPECT_EQ(one.authorization, "Bearer other");
    EXPECT_EQ(one.impersonated, "gate");
  }
  allow({});
  ASSERT_TRUE(scope(false, {}));
  for (const Review& one : server_.take()) EXPECT_EQ(one.impersonated, "gate");
  ASSERT_TRUE(scope(true, {}));
  for (const Review& one : server_.take()) {
    EXPECT_EQ(one.authorization, "Bearer " + kToken);
    EXPECT_EQ(one.impersonated, "");
  }
}

// Each thread has a viewer of its own.
TEST_F(ViewerScopeTest, ManyThreads_AnswersAreTheViewersOwn) {
  server_.answer([](const Review& review) {
    if (review.path == kTokenReviews) return forApi(review);
    // "Bearer t-3" may list pods in ns-3.
    return ReviewServer::allowed(review.about() == "pods in ns-" + review.authorization.substr(9));
  });
  ClusterViewerReviews shared(connection_);
  std::vector<std::thread> threads;
  std::vector<std::string> wrong(8), namespaces;
  for (std::size_t at = 0; at < wrong.size(); ++at)
    namespaces.push_back("ns-" + std::to_string(at));
  for (std::size_t at = 0; at < wrong.size(); ++at)
    threads.emplace_back([&, at] {
      for (int round = 0; round < 10; ++round) {
        Result<console::Viewer> found = shared.authenticate("t-" + std::to_string(at));
        if (!found) return void(wrong[at] = found.error().message());
        const Result<console::ViewerScope> rights = shared.scopeOf(*found, namespaces);
        if (!rights) return void(wrong[at] = rights.error().message());
        if (rights->pods.names != std::set<std::string>{"ns-" + std::to_string(at)})
          return void(wrong[at] = "another scope");
      }
    });
  for (std::thread& one : threads) one.join();
  for (const std::string& one : wrong) EXPECT_EQ(one, "");
}

}  // namespace
}  // namespace divvy::cli
