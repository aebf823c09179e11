#include "api/request_guard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace divvy::console {
namespace {

using testing::HasSubstr;

constexpr std::uint16_t kPort = 9400;
const std::string kOwn = "127.0.0.1:9400";

http::Query requestOf(const std::string& host, http::Fields more = {}) {
  http::Query query;
  query.fields = std::move(more);
  query.fields.add("Host", host);
  return query;
}

class RequestGuardTest : public testing::Test {
 protected:
  RequestGuardTest() : sessions_([this] { return std::string(32, next_++); }) {}

  unsigned refusal(const http::Query& query, bool changes) const {
    const auto refused = guard_.refuse(query, changes);
    return refused ? refused->status : 0;
  }
  std::string opened() {
    return sessions_.open(std::string(sessions_.linkToken()), "ana", steadyMs())->cookie;
  }
  http::Query withCookie(const std::string& value, const std::string& csrf) const {
    return requestOf(kOwn,
                     {{"Cookie", "other=1; divvy_session_9400=" + value}, {"X-Divvy-CSRF", csrf}});
  }

  char next_ = 'a';
  SessionStore sessions_;
  RequestGuard guard_{sessions_, {kPort, "/", false}};
  RequestGuard open_{sessions_, {kPort, "/", true}};
};

TEST_F(RequestGuardTest, ForeignHosts_Refused) {
  for (const char* host :
       {"", "evil.example", "evil.example:9400", "127.0.0.1", "127.0.0.1:9401",
        "localhost.evil.example:9400", "127.0.0.1:9400.evil.example", "127.0.0.1:94000",
        "localhost:09400", "[::1]", "[::2]:9400", "0.0.0.0:9400", "127.0.0.1:9400,evil.example",
        "user@127.0.0.1:9400", "127.0.0.1.nip.io:9400", "2130706433:9400"}) {
    EXPECT_EQ(refusal(requestOf(host), false), 403u) << host;
    EXPECT_EQ(refusal(requestOf(host), true), 403u) << host;
  }
  EXPECT_EQ(refusal(http::Query(), false), 403u) << "no Host at all";
}

TEST_F(RequestGuardTest, OwnHosts_Accepted) {
  for (const char* host : {"127.0.0.1:9400", "localhost:9400", "[::1]:9400"})
    EXPECT_EQ(refusal(requestOf(host), true), 0u) << host;
}

TEST_F(RequestGuardTest, TwoHosts_Refused) {
  EXPECT_EQ(refusal(requestOf("evil.example", {{"Host", kOwn}}), false), 403u);
}

TEST_F(RequestGuardTest, ForeignOrigins_Refused) {
  for (const char* origin : {"null", "http://evil.example", "https://127.0.0.1:9400",
                             "http://127.0.0.1", "http://127.0.0.1:3000", "http://localhost:9401",
                             "http://127.0.0.1:9400/", "http://127.0.0.1:9400.evil.example",
                             "127.0.0.1:9400", "file://", "HTTP://127.0.0.1:9400"}) {
    EXPECT_EQ(refusal(requestOf(kOwn, {{"Origin", origin}}), false), 403u) << origin;
    EXPECT_EQ(refusal(requestOf(kOwn, {{"Origin", origin}}), true), 403u) << origin;
  }
  EXPECT_EQ(refusal(requestOf(kOwn, {{"Origin", "http://127.0.0.1:9400"}}), true), 0u);
}

TEST_F(RequestGuardTest, FetchSite_ForeignChangesRefused) {
  for (const char* site : {"cross-site", "same-site", "unknown"})
    EXPECT_EQ(refusal(requestOf(kOwn, {{"Sec-Fetch-Site", site}}), true), 403u) << site;
  for (const char* site : {"same-origin", "none"})
    EXPECT_EQ(refusal(requestOf(kOwn, {{"Sec-Fetch-Site", site}}), true), 0u) << site;
  EXPECT_EQ(refusal(requestOf(kOwn, {{"Sec-Fetch-Site", "cross-site"}}), false), 0u)
      << "a link elsewhere may lead to the page";
}

TEST_F(RequestGuardTest, NoOrWrongCookie_401) {
  const std::string cookie = opened();
  for (const std::string& value :
       {std::string(), cookie.substr(1), cookie + "0", "\"" + cookie + "\""}) {
    const auto found = guard_.session(withCookie(value, ""));
    ASSERT_TRUE(std::holds_alternative<http::Answer>(found)) << value;
    EXPECT_EQ(std::get<http::Answer>(found).status, 401u);
  }
  EXPECT_TRUE(std::holds_alternative<SessionStore::Held>(guard_.session(withCookie(cookie, ""))));
}

TEST_F(RequestGuardTest, CookieOfOtherPort_401) {
  const std::string cookie = opened();
  const auto found = guard_.session(requestOf(kOwn, {{"Cookie", "divvy_session_9401=" + cookie}}));
  EXPECT_TRUE(std::holds_alternative<http::Answer>(found));
}

TEST_F(RequestGuardTest, WrongCsrf_403) {
  const std::string cookie = opened(), other = opened();
  const std::string csrf = sessions_.find(cookie, steadyMs())->csrf;
  const std::string other_csrf = sessions_.find(other, steadyMs())->csrf;
  for (const std::string& value : {std::string(), csrf.substr(1), csrf + "0", other_csrf, cookie}) {
    const auto found = guard_.changingSession(withCookie(cookie, value));
    ASSERT_TRUE(std::holds_alternative<http::Answer>(found));
    EXPECT_EQ(std::get<http::Answer>(found).status, 403u);
  }
  EXPECT_TRUE(
      std::holds_alternative<SessionStore::Held>(guard_.changingSession(withCookie(cookie, csrf))));
  const auto without = guard_.changingSession(withCookie("", csrf));
  EXPECT_EQ(std::get<http::Answer>(without).status, 401u);
}

TEST_F(RequestGuardTest, SetCookie_ScriptsAndOtherSitesKeptOut) {
  const std::string text = guard_.setCookie(requestOf(kOwn), "abc");
  EXPECT_THAT(text, testing::StartsWith("divvy_session_9400=abc; "));
  EXPECT_THAT(text, HasSubstr("HttpOnly"));
  EXPECT_THAT(text, HasSubstr("SameSite=Strict"));
  EXPECT_THAT(text, HasSubstr("Path=/"));
  EXPECT_THAT(guard_.setCookie(requestOf(kOwn), ""), HasSubstr("Max-Age=0"));
  RequestGuard below(sessions_, {kPort, "/gpu/", false});
  EXPECT_THAT(below.setCookie(requestOf(kOwn), "abc"), HasSubstr("Path=/gpu/"));
}

TEST_F(RequestGuardTest, AnyHost_OnlyItsOwnOrigin) {
  const std::string host = "gpu.example.org";
  const auto status = [&](const std::string& origin, const std::string& site) {
    const auto refused =
        open_.refuse(requestOf(host, {{"Origin", origin}, {"Sec-Fetch-Site", site}}), true);
    return refused ? refused->status : 0;
  };
  EXPECT_FALSE(open_.refuse(requestOf(host), true));
  EXPECT_EQ(status("https://gpu.example.org", "same-origin"), 0u);
  EXPECT_EQ(status("http://gpu.example.org", "same-origin"), 0u);
  for (const char* origin :
       {"null", "https://evil.example", "https://gpu.example.org:444", "https://gpu.example.org/",
        "https://gpu.example.org.evil.example", "https://a.gpu.example.org", "gpu.example.org"})
    EXPECT_EQ(status(origin, "same-origin"), 403u) << origin;
  EXPECT_EQ(status("https://gpu.example.org", "cross-site"), 403u);
  EXPECT_TRUE(open_.refuse(http::Query(), false)) << "no Host at all";
  EXPECT_TRUE(open_.refuse(requestOf(host, {{"Host", host}}), false)) << "two hosts";
}

// Behind a proxy with TLS the console's own connection has none.
TEST_F(RequestGuardTest, SetCookie_SecureButOnLoopbackWithoutTls) {
  for (const char* host : {"localhost:9400", "127.0.0.1:18080", "[::1]:9400"})
    EXPECT_THAT(open_.setCookie(requestOf(host), "abc"), testing::Not(HasSubstr("Secure"))) << host;
  for (const char* host : {"gpu.example.org", "10.0.0.7:9400", "localhost.evil.example:9400"})
    EXPECT_THAT(open_.setCookie(requestOf(host), "abc"), HasSubstr("Secure")) << host;
  http::Query encrypted = requestOf("localhost:9400");
  encrypted.tls = true;
  EXPECT_THAT(open_.setCookie(encrypted, "abc"), HasSubstr("Secure"));
}

TEST(IsOwnHost, PortEighty_PortMayBeLeftOut) {
  EXPECT_TRUE(isOwnHost("localhost", 80));
  EXPECT_TRUE(isOwnHost("localhost:80", 80));
  EXPECT_FALSE(isOwnHost("localhost", 81));
}

}  // namespace
}  // namespace divvy::console
