// Viewers, their tokens, and an API server that answers reviews.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cluster_console/viewer_reviews.h"
#include "review_server.h"

namespace divvy::cli::test_viewers {

using test::kSelfReviews;
using test::kSubjectReviews;
using test::kTokenReviews;
using test::Review;
using test::ReviewServer;
using Reply = test::ReviewServer::Reply;

// With letters that JSON escapes.
inline const std::string kToken = "eyJh\"b\\c<d>.e-f_g~+/=";
constexpr const char* kOwn = "Bearer of-the-console";

// An accepted token of jane's.
inline Reply jane(const std::string& audiences) {
  return ReviewServer::status(
      R"({"authenticated":true,"user":{"username":"jane","uid":"u-7","groups":["a","b"],)"
      R"("extra":{"example.com/x":["1","2"]}})" +
      (audiences.empty() ? "" : ",\"audiences\":[\"" + audiences + "\"]") + "}");
}
inline Reply refused() {
  return ReviewServer::status(R"({"user":{},"error":"[invalid bearer token]"})");
}
// The token is for the API server.
inline Reply forApi(const Review& review) {
  return review.body.find("audiences") == std::string::npos ? jane("https://kubernetes")
                                                            : refused();
}

inline console::Viewer viewer(bool api_token) {
  console::Viewer one;
  one.user = "jane";
  one.uid = "u-7";
  one.groups = {"a", "b"};
  one.extra = {{"example.com/x", {"1", "2"}}};
  one.token = kToken;
  one.api_token = api_token;
  return one;
}

class ViewerReviewsTest : public ::testing::Test {
 protected:
  ViewerReviewsTest() {
    connection_.kubeconfig = server_.kubeconfig();
    server_.answer([](const Review&) { return ReviewServer::allowed(false); });
  }
  ClusterViewerReviews reviews() const { return ClusterViewerReviews(connection_); }
  Result<console::Viewer> authenticate(const std::string& token) const {
    return reviews().authenticate(token);
  }
  // Allows only these; "pods", "pods in lab".
  void allow(std::set<std::string> allowed) {
    server_.answer([allowed = std::move(allowed)](const Review& review) {
      return ReviewServer::allowed(allowed.contains(review.about()));
    });
  }
  Result<console::ViewerScope> scope(bool api_token,
                                     const std::vector<std::string>& namespaces) const {
    return reviews().scopeOf(viewer(api_token), namespaces);
  }
  std::vector<std::string> asked() {
    std::vector<std::string> all;
    for (const Review& one : server_.take()) all.push_back(one.about());
    std::sort(all.begin(), all.end());
    return all;
  }

  ReviewServer server_;
  ConnectionOptions connection_;
};

inline void expectUnavailable(const Error& error, const std::string& part) {
  EXPECT_EQ(error.code(), ErrorCode::kUnavailable) << error.message();
  EXPECT_NE(error.message().find(part), std::string::npos) << error.message() << "\nnot: " << part;
  EXPECT_EQ(error.message().find(kToken.substr(0, 4)), std::string::npos) << error.message();
  EXPECT_EQ(error.message().find('\n'), std::string::npos) << error.message();
}

struct Refusal {
  Reply reply;
  std::string says;
};

// The last ones repeat the token.
inline std::vector<Refusal> refusals() {
  const std::string echo = R"({"kind":"Status","message":"eyJh\"b\\c<d>"})";
  return {{{401, ""}, "does not accept"},
          {{403, R"({"kind":"Status","message":"forbidden"})"}, "needs the verb create on"},
          {{404, ""}, "with 404"},
          {{422, ""}, "with 422"},
          {{429, ""}, "with 429"},
          {{500, "<html>"}, "with 500"},
          {{503, ""}, "with 503"},
          {{201, ""}, "has no status"},
          {{201, "garbage"}, "has no status"},
          {{201, "[1]"}, "has no status"},
          {{201, "{}"}, "has no status"},
          {{201, R"({"status":null})"}, "has no status"},
          {{201, R"({"status":"yes"})"}, "has no status"},
          {{200, std::string(1 << 16, '[')}, "has no status"},
          {{400, echo}, "with 400"},
          {{403, echo}, "needs the verb create on"},
          {{500, kToken}, "with 500"},
          {{201, echo}, "has no status"},
          {{201, kToken}, "has no status"}};
}

}  // namespace divvy::cli::test_viewers
