#include "api/proxy_viewer.h"

#include <gmock/gmock.h>

#include <string>
#include <vector>

namespace divvy::console {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

http::Query requestFrom(const std::string& peer, const http::Fields& fields) {
  http::Query query;
  query.peer = peer;
  query.client = "10.0.0.7";
  query.fields = fields;
  return query;
}

class ProxyViewer : public testing::Test {
 protected:
  Result<Viewer> named(const http::Fields& fields, const std::string& peer = "10.0.0.7") const {
    return viewerNamedBy(*http::TrustedProxies::parse({"10.0.0.7", "fd00::/64"}),
                         requestFrom(peer, fields));
  }
  std::string refusalOf(const http::Fields& fields, const std::string& peer = "10.0.0.7") const {
    const Result<Viewer> viewer = named(fields, peer);
    if (viewer) return "accepted: " + viewer->user;
    EXPECT_EQ(viewer.error().code(), ErrorCode::kUsage);
    return viewer.error().message();
  }
};

TEST_F(ProxyViewer, UserAndGroups_NoToken) {
  const Result<Viewer> viewer =
      named({{"x-forwarded-user", "ada@example.com"}, {"X-FORWARDED-GROUPS", "ml, lab,ml,, a b"}});
  ASSERT_TRUE(viewer);
  EXPECT_EQ(viewer->user, "ada@example.com");
  EXPECT_THAT(viewer->groups, ElementsAre("a b", "lab", "ml"));
  EXPECT_EQ(viewer->token + viewer->uid, "");
  EXPECT_FALSE(viewer->api_token);
  EXPECT_THAT(viewer->extra, IsEmpty());
  EXPECT_THAT(named({{"X-Forwarded-User", "ada"}}, "fd00::9")->groups, IsEmpty());
  EXPECT_THAT(named({{"X-Forwarded-User", "ada"}, {"X-Forwarded-Groups", ""}})->groups, IsEmpty());
}

TEST_F(ProxyViewer, OtherPeer_NotBelieved) {
  for (const char* peer :
       {"10.0.0.8", "127.0.0.1", "fd00:0:0:1::9", "", "10.0.0.7:80", "fe80::1%1"})
    EXPECT_THAT(refusalOf({{"X-Forwarded-User", "ada"}, {"X-Forwarded-For", "10.0.0.7"}}, peer),
                HasSubstr("--trust-headers-from"))
        << peer;
  EXPECT_FALSE(viewerNamedBy({}, requestFrom("10.0.0.7", {{"X-Forwarded-User", "ada"}})));
}

TEST_F(ProxyViewer, NoUser_SignInAtProxy) {
  for (const http::Fields& fields : {http::Fields{},
                                     {{"X-Forwarded-User", ""}},
                                     {{"X-Forwarded-User", " \t"}},
                                     {{"X-Forwarded-Groups", "ml"}},
                                     {{"X_Forwarded_User", "ada"}},
                                     {{"X-Remote-User", "ada"}}})
    EXPECT_THAT(refusalOf(fields), HasSubstr("sign in at the proxy"));
}

TEST_F(ProxyViewer, FieldTwice_Refused) {
  EXPECT_THAT(refusalOf({{"X-Forwarded-User", "ada"}, {"x-forwarded-user", "ada"}}),
              HasSubstr("more than one field X-Forwarded-User"));
  EXPECT_THAT(refusalOf({{"X-Forwarded-User", ""}, {"X-Forwarded-User", "ada"}}),
              HasSubstr("more than one field"));
  EXPECT_THAT(
      refusalOf(
          {{"X-Forwarded-User", "ada"}, {"X-Forwarded-Groups", ""}, {"X-Forwarded-Groups", "ml"}}),
      HasSubstr("more than one field X-Forwarded-Groups"));
}

TEST_F(ProxyViewer, ReservedNames_Refused) {
  for (const char* user :
       {"system:admin", "system:", " system:anonymous", "system:serviceaccount:divvy-system:a"})
    EXPECT_THAT(refusalOf({{"X-Forwarded-User", user}}), HasSubstr("of Kubernetes itself")) << user;
  for (const char* groups : {"system:masters", "ml,system:masters", "ml,\tsystem:authenticated ,a"})
    EXPECT_THAT(refusalOf({{"X-Forwarded-User", "ada"}, {"X-Forwarded-Groups", groups}}),
                HasSubstr("of Kubernetes itself"))
        << groups;
  EXPECT_TRUE(named({{"X-Forwarded-User", "ecosystem:ada"}, {"X-Forwarded-Groups", "systems"}}));
}

TEST_F(ProxyViewer, MalformedNames_Refused) {
  const std::string most(kMaxViewerName, 'x');
  EXPECT_TRUE(named({{"X-Forwarded-User", most}, {"X-Forwarded-Groups", most + ",b"}}));
  EXPECT_TRUE(named({{"X-Forwarded-User", "Zo\u00eb"}}));
  for (const std::string& user :
       {most + "x", std::string("a\tb"), std::string("a\x7f"), std::string("a\0b", 3),
        std::string("a\xff"), std::string("\xc0\xae"), std::string("ada,mia")})
    EXPECT_THAT(refusalOf({{"X-Forwarded-User", user}}), HasSubstr("is not accepted; up to 256"));
  for (const std::string& group : {most + "x", std::string("a\nb"), std::string("a\xff")})
    EXPECT_THAT(refusalOf({{"X-Forwarded-User", "ada"}, {"X-Forwarded-Groups", "b," + group}}),
                HasSubstr("X-Forwarded-Groups is not accepted"));
}

TEST_F(ProxyViewer, ManyGroups_Refused) {
  std::string groups;
  for (std::size_t at = 0; at < kMaxViewerGroups; ++at) groups += "g" + std::to_string(at) + ",";
  const auto fields = [](const std::string& text) {
    return http::Fields{{"X-Forwarded-User", "ada"}, {"X-Forwarded-Groups", text}};
  };
  EXPECT_EQ(named(fields(groups + "g0"))->groups.size(), kMaxViewerGroups);
  EXPECT_THAT(refusalOf(fields(groups + "more")), HasSubstr("up to 64 are accepted"));
}

}  // namespace
}  // namespace divvy::console
