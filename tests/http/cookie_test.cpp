#include "http/cookie.h"

#include <gtest/gtest.h>

#include "base/rng.h"
#include "http/query.h"

namespace divvy::http {
namespace {

using namespace std::chrono_literals;

TEST(Cookie, SeveralPairs_FirstOfNameFound) {
  const std::string field = "a=1; session=x=y;b; session=z;\tc = d ;e=\"q\";=n";
  EXPECT_EQ(cookieValue(field, "a"), "1");
  EXPECT_EQ(cookieValue(field, "session"), "x=y");
  EXPECT_EQ(cookieValue(field, "c"), "d");
  EXPECT_EQ(cookieValue(field, "e"), "\"q\"");
  EXPECT_EQ(cookieValue(field, "b"), std::nullopt) << "it has no value";
  EXPECT_EQ(cookieValue(field, "A"), std::nullopt) << "names have a case";
  EXPECT_EQ(cookieValue("", "a"), std::nullopt);
  EXPECT_EQ(cookieValue(";;;", "a"), std::nullopt);
}

TEST(Cookie, SeveralFields_EachRead) {
  Query query;
  query.fields.add("cookie", "a=1");
  query.fields.add("COOKIE", "b=2");
  EXPECT_EQ(query.cookie("a"), "1");
  EXPECT_EQ(query.cookie("b"), "2");
  EXPECT_EQ(query.cookie("c"), std::nullopt);
}

TEST(Cookie, Written_AttributesAsAsked) {
  EXPECT_EQ(setCookie({"id", "a-1"}).value(), "id=a-1; Path=/; Secure; HttpOnly; SameSite=Strict");
  EXPECT_EQ(setCookie({"id", "", "/gpu/", 0s, false, Cookie::SameSite::kLax}).value(),
            "id=; Path=/gpu/; Max-Age=0; HttpOnly; SameSite=Lax");
  EXPECT_EQ(setCookie({"id", "x", "/", 3600s}).value(),
            "id=x; Path=/; Max-Age=3600; Secure; HttpOnly; SameSite=Strict");
}

TEST(Cookie, BytesThatCookiesCannotHave_Refused) {
  EXPECT_FALSE(setCookie({"", "x"}));
  EXPECT_FALSE(setCookie({"a b", "x"}));
  EXPECT_FALSE(setCookie({"a=", "x"}));
  for (const char* value : {"a b", "a;b", "a,b", "a\"b", "a\\b", "a\r\nSet-Cookie: b=c", "\x80"})
    EXPECT_FALSE(setCookie({"id", value})) << value;
  for (const char* path : {"", "gpu", "/a;Domain=b", "/a\r\nb"})
    EXPECT_FALSE(setCookie({"id", "x", path})) << path;
  EXPECT_FALSE(setCookie({"id", "x", "/", -1s}));
  EXPECT_FALSE(setCookie({"id", std::string(4096, 'a')}));
  EXPECT_TRUE(setCookie({"id", std::string(4094, 'a')}));
}

// Each cookie that can be written is read back among others.
TEST(Cookie, RandomBytes_WrittenIsReadOrRefused) {
  Rng rng(21);
  constexpr std::string_view kBytes = "ab1-_=;, \t\"\\\r\n!~\x7f\x80";
  unsigned written = 0;
  for (int round = 0; round < 20'000; ++round) {
    Cookie cookie;
    for (std::uint64_t size = rng.below(4); size > 0; --size)
      cookie.name += kBytes[rng.below(kBytes.size())];
    for (std::uint64_t size = rng.below(4); size > 0; --size)
      cookie.value += kBytes[rng.below(kBytes.size())];
    const Result<std::string> field = setCookie(cookie);
    if (!field) continue;
    ++written;
    ASSERT_EQ(field->find_first_of("\r\n"), std::string::npos);
    const std::string pair = field->substr(0, field->find(';'));
    ASSERT_EQ(cookieValue("zz=0; " + pair + "; zzz=1", cookie.name), cookie.value) << *field;
  }
  EXPECT_GT(written, 500u);
}

}  // namespace
}  // namespace divvy::http
