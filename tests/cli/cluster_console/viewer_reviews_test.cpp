// Reviews of tokens, before an API server that keeps all questions.
#include "cluster_console/viewer_reviews.h"

#include <gtest/gtest.h>

#include <functional>

#include "cluster_console/viewer_fixture.h"

namespace divvy::cli {
namespace {

using std::chrono::milliseconds;
using namespace test_viewers;

TEST_F(ViewerReviewsTest, ConsoleToken_ViewerOfOneReview) {
  server_.answer([](const Review&) { return jane("divvy-console"); });
  const Result<console::Viewer> found = authenticate(kToken);
  ASSERT_TRUE(found) << found.error().message();
  EXPECT_EQ(found->user, "jane");
  EXPECT_EQ(found->uid, "u-7");
  EXPECT_EQ(found->groups, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(found->extra, viewer(false).extra);
  EXPECT_EQ(found->token, kToken);
  EXPECT_FALSE(found->api_token);
  const std::vector<Review> all = server_.take();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].path, kTokenReviews);
  EXPECT_EQ(all[0].authorization, kOwn);
  EXPECT_EQ(all[0].body, R"({"apiVersion":"authentication.k8s.io/v1","kind":"TokenReview","spec":)"
                         R"({"token":"eyJh\"b\\c<d>.e-f_g~+/=","audiences":["divvy-console"]}})");
}

TEST_F(ViewerReviewsTest, ApiToken_SecondReviewHasNoAudience) {
  server_.answer(forApi);
  const Result<console::Viewer> found = authenticate(kToken);
  ASSERT_TRUE(found) << found.error().message();
  EXPECT_TRUE(found->api_token);
  EXPECT_EQ(found->user, "jane");
  EXPECT_EQ(found->token, kToken);
  const std::vector<Review> all = server_.take();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_NE(all[0].body.find(R"("audiences":["divvy-console"])"), std::string::npos);
  EXPECT_EQ(all[1].path, kTokenReviews);
  EXPECT_EQ(all[1].authorization, kOwn);
  EXPECT_EQ(all[1].body, R"({"apiVersion":"authentication.k8s.io/v1","kind":"TokenReview","spec":)"
                         R"({"token":"eyJh\"b\\c<d>.e-f_g~+/="}})");
}

// An authenticator that knows no audiences accepts every token of its own.
TEST_F(ViewerReviewsTest, AcceptedWithoutAudience_NoConsoleToken) {
  for (const char* audience : {"", "https://kubernetes", "divvy-console2"}) {
    server_.answer([audience](const Review&) { return jane(audience); });
    const Result<console::Viewer> found = authenticate(kToken);
    ASSERT_TRUE(found) << found.error().message();
    EXPECT_TRUE(found->api_token) << audience;
    EXPECT_EQ(server_.take().size(), 2u) << audience;
  }
}

TEST_F(ViewerReviewsTest, TokenNotAccepted_NotFound) {
  for (const char* status :
       {R"({"user":{},"error":"invalid"})", R"({})", R"({"authenticated":false})",
        R"({"authenticated":false,"audiences":["divvy-console"],"user":{"username":"jane"}})"}) {
    server_.answer([status](const Review&) { return ReviewServer::status(status); });
    const Result<console::Viewer> found = authenticate(kToken);
    ASSERT_FALSE(found) << status;
    EXPECT_EQ(found.error().code(), ErrorCode::kNotFound) << status;
    EXPECT_EQ(found.error().message().find(kToken), std::string::npos);
    EXPECT_NE(found.error().message().find("kubectl create token NAME --audience divvy-console"),
              std::string::npos);
    EXPECT_EQ(server_.take().size(), 2u) << status;
  }
}

TEST_F(ViewerReviewsTest, TextThatIsNoToken_NotAsked) {
  server_.answer([](const Review&) { return jane("divvy-console"); });
  for (const std::string& text :
       {std::string(), std::string((16 << 10) + 1, 'a'), std::string("a b"), std::string(" a"),
        std::string("a\n"), std::string("a\r\nX: y"), std::string("a\0b", 3), std::string("\x7f"),
        std::string("a\tb"), std::string("t\xc3\xb6ken"), std::string("\xff")}) {
    const Result<console::Viewer> found = authenticate(text);
    ASSERT_FALSE(found) << text.size();
    EXPECT_EQ(found.error().code(), ErrorCode::kNotFound);
  }
  EXPECT_TRUE(server_.take().empty());
  EXPECT_TRUE(authenticate(std::string(16 << 10, 'a')));
  EXPECT_EQ(server_.take().size(), 1u);
}

TEST_F(ViewerReviewsTest, TokenReviewRefused_UnavailableWithoutToken) {
  std::vector<Refusal> cases = refusals();
  for (const char* status : {R"({"authenticated":"true","user":{"username":"jane"}})",
                             R"({"authenticated":1,"user":{"username":"jane"}})"})
    cases.push_back({ReviewServer::status(status), "has no status.authenticated"});
  for (const char* user : {"", R"(,"user":{})", R"(,"user":{"username":""})", R"(,"user":"jane")",
                           R"(,"user":{"username":7})"})
    cases.push_back({ReviewServer::status(R"({"authenticated":true,"audiences":["divvy-console"])" +
                                          std::string(user) + "}"),
                     "no name of the user"});
  for (const Refusal& one : cases) {
    server_.answer([&](const Review&) { return one.reply; });
    const Result<console::Viewer> found = authenticate(kToken);
    ASSERT_FALSE(found) << one.reply.status << ' ' << one.reply.body;
    expectUnavailable(found.error(), one.says);
    EXPECT_NE(found.error().message().find("TokenReview"), std::string::npos);
    EXPECT_EQ(server_.take().size(), 1u);  // it is not tried again
  }
}

TEST_F(ViewerReviewsTest, ServerGone_Unavailable) {
  server_.close();
  const Result<console::Viewer> found = authenticate(kToken);
  ASSERT_FALSE(found);
  expectUnavailable(found.error(), "reaching 127.0.0.1");
  for (const bool api_token : {false, true}) {
    const Result<console::ViewerScope> rights = scope(api_token, {"lab"});
    ASSERT_FALSE(rights);
    expectUnavailable(rights.error(), "reaching 127.0.0.1");
  }
}

TEST_F(ViewerReviewsTest, NoKubeconfig_Unavailable) {
  connection_.kubeconfig = "/no/such/file";
  const Result<console::Viewer> found = authenticate(kToken);
  ASSERT_FALSE(found);
  expectUnavailable(found.error(), "/no/such/file");
  const Result<console::ViewerScope> rights = scope(true, {});
  ASSERT_FALSE(rights);
  expectUnavailable(rights.error(), "/no/such/file");
}

// ---- bounds of time ----

class SlowReviewsTest : public ViewerReviewsTest {
 protected:
  // Returns how long `work` takes.
  static milliseconds timeOf(const std::function<void()>& work) {
    const auto begin = std::chrono::steady_clock::now();
    work();
    return std::chrono::duration_cast<milliseconds>(std::chrono::steady_clock::now() - begin);
  }
};

TEST_F(SlowReviewsTest, SilentServer_UnavailableAtBound) {
  server_.answer([](const Review&) { return jane("divvy-console"); }, std::chrono::hours(1));
  ClusterViewerReviews reviews(connection_, {milliseconds(100), milliseconds(100)});
  const milliseconds took = timeOf([&] {
    const Result<console::Viewer> found = reviews.authenticate(kToken);
    ASSERT_FALSE(found);
    expectUnavailable(found.error(), "no answer in time");
    for (const bool api_token : {false, true}) {
      const Result<console::ViewerScope> rights = reviews.scopeOf(viewer(api_token), {"lab"});
      ASSERT_FALSE(rights);
      expectUnavailable(rights.error(), "100 ms");
    }
  });
  EXPECT_LT(took, std::chrono::seconds(10));
}

// Each answer is fast enough, all together are not.
TEST_F(SlowReviewsTest, TooManySlowReviews_UnavailableAtBound) {
  server_.answer([](const Review&) { return ReviewServer::allowed(false); }, milliseconds(20));
  ClusterViewerReviews reviews(connection_, {std::chrono::seconds(3), milliseconds(200)});
  std::vector<std::string> namespaces;
  for (int at = 0; at < 2000; ++at) namespaces.push_back("ns-" + std::to_string(at));
  const milliseconds took = timeOf([&] {
    const Result<console::ViewerScope> rights = reviews.scopeOf(viewer(false), namespaces);
    ASSERT_FALSE(rights);
    expectUnavailable(rights.error(), "in 200 ms; try again");
  });
  EXPECT_LT(took, std::chrono::seconds(5));
  EXPECT_LT(server_.take().size(), 2000u);
}

// The bounds in effect keep the promise of console::ViewerReviews.
TEST_F(SlowReviewsTest, DefaultBounds_Within20Seconds) {
  const ClusterViewerReviews::Bounds bounds;
  EXPECT_LE(bounds.exchange * 6, std::chrono::seconds(20));
  EXPECT_LE(bounds.sending + bounds.exchange * 2, std::chrono::seconds(20));
}

}  // namespace
}  // namespace divvy::cli
