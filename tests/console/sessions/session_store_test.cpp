#include "sessions/session_store.h"

#include <gtest/gtest.h>

#include <cctype>
#include <set>

namespace divvy::console {
namespace {

// Bytes that differ at each call.
SessionStore::Random counting() {
  return [next = 0]() mutable {
    std::string bytes(32, '\0');
    ++next;
    bytes[0] = static_cast<char>(next & 0xFF);
    bytes[31] = static_cast<char>(next >> 8);
    return bytes;
  };
}

std::string openedAt(SessionStore& store, std::int64_t now_ms) {
  const SessionStore::Held held = store.open(std::string(store.linkToken()), "ana", now_ms);
  return held == nullptr ? std::string() : held->cookie;
}

TEST(SessionStore, Link_OpensOneSessionAndIsReplaced) {
  SessionStore store(counting());
  const std::string link = store.linkToken();
  EXPECT_EQ(link.size(), 32u);
  EXPECT_EQ(link.find_first_not_of("0123456789abcdef"), std::string::npos);
  const SessionStore::Held opened = store.open(link, "ana", 5);
  ASSERT_NE(opened, nullptr);
  EXPECT_NE(store.linkToken(), link);
  EXPECT_FALSE(store.open(link, "eve", 5));
  EXPECT_EQ(store.size(), 1u);
  const SessionStore::Held session = store.find(opened->cookie, 5);
  ASSERT_EQ(session, opened);
  EXPECT_EQ(session->user, "ana");
  EXPECT_EQ(session->way_in, "one-time-link");
  EXPECT_TRUE(session->scope.everything());
}

TEST(SessionStore, NewSession_SecretsDiffer) {
  SessionStore store(counting());
  std::set<std::string> secrets;
  for (int i = 0; i < 3; ++i) {
    secrets.insert(store.linkToken());
    const std::string cookie = openedAt(store, 0);
    secrets.insert(cookie);
    secrets.insert(store.find(cookie, 0)->csrf);
  }
  EXPECT_EQ(secrets.size(), 9u);
}

TEST(SessionStore, WrongTokens_NoSessionAndSameLink) {
  SessionStore store(counting());
  const std::string link = store.linkToken();
  std::string upper = link;
  for (char& one : upper) one = static_cast<char>(std::toupper(static_cast<unsigned char>(one)));
  std::string last = link;
  last.back() = last.back() == '0' ? '1' : '0';
  for (const std::string& token : {std::string(), link.substr(1), link + "0", last,
                                   link + std::string(1, '\0'), std::string(1 << 16, 'a')})
    EXPECT_FALSE(store.open(token, "eve", 0));
  EXPECT_TRUE(upper == link || !store.open(upper, "eve", 0));
  EXPECT_EQ(store.linkToken(), link);
  EXPECT_EQ(store.size(), 0u);
}

TEST(SessionStore, TwelveHours_SessionEnds) {
  SessionStore store(counting());
  const std::string cookie = openedAt(store, 1000);
  EXPECT_NE(store.find(cookie, 1000 + SessionStore::kLifeMs - 1), nullptr);
  EXPECT_EQ(store.find(cookie, 1000 + SessionStore::kLifeMs), nullptr);
  EXPECT_EQ(store.find(cookie, 1000), nullptr) << "it has ended for good";
  EXPECT_EQ(store.size(), 0u);
}

TEST(SessionStore, ClockGoesBack_SessionEnds) {
  SessionStore store(counting());
  const std::string cookie = openedAt(store, 1000);
  EXPECT_EQ(store.find(cookie, 999), nullptr);
  EXPECT_EQ(store.find(cookie, 1000), nullptr);
}

TEST(SessionStore, UnknownCookies_NoSession) {
  SessionStore store(counting());
  const std::string cookie = openedAt(store, 0);
  for (const std::string& other : {std::string(), cookie.substr(1), cookie + "0",
                                   std::string(store.linkToken()), store.find(cookie, 0)->csrf})
    EXPECT_EQ(store.find(other, 0), nullptr);
}

TEST(SessionStore, MoreThanMost_OldestEnds) {
  SessionStore store(counting());
  const std::string second = openedAt(store, 20);
  const std::string first = openedAt(store, 10);
  for (std::size_t i = 2; i < SessionStore::kMax; ++i) openedAt(store, 30);
  EXPECT_EQ(store.size(), SessionStore::kMax);
  EXPECT_NE(store.find(first, 40), nullptr);
  const std::string one_more = openedAt(store, 40);
  EXPECT_EQ(store.size(), SessionStore::kMax);
  EXPECT_EQ(store.find(first, 40), nullptr);
  EXPECT_NE(store.find(second, 40), nullptr);
  EXPECT_NE(store.find(one_more, 40), nullptr);
}

TEST(SessionStore, Close_OnlyThatSessionEnds) {
  SessionStore store(counting());
  const std::string one = openedAt(store, 0), two = openedAt(store, 0);
  store.close(one);
  store.close(one);
  store.close("");
  EXPECT_EQ(store.find(one, 0), nullptr);
  EXPECT_NE(store.find(two, 0), nullptr);
}

Viewer viewerOf(const std::string& user, const std::string& token) {
  Viewer viewer;
  viewer.user = user;
  viewer.token = token;
  return viewer;
}

TEST(SessionStore, ViewersToken_FoundByItAlone) {
  SessionStore store(counting());
  ViewerScope scope;
  scope.pods.names = {"lab"};
  const SessionStore::Held one = store.open(viewerOf("ana", "secret-1"), scope, 10);
  const SessionStore::Held two = store.open(viewerOf("ben", "secret-2"), scope, 10);
  EXPECT_EQ(store.findByToken("secret-1", 10), one);
  EXPECT_EQ(store.findByToken("secret-2", 10), two);
  EXPECT_EQ(one->way_in, "console-token");
  EXPECT_EQ(one->reviewed_ms, 10);
  for (const char* other : {"", "secret", "secret-3", "Secret-1"})
    EXPECT_EQ(store.findByToken(other, 10), nullptr) << other;
  EXPECT_EQ(store.findByToken("secret-1", 10 + SessionStore::kLifeMs), nullptr);
  // Sessions of a link have no token, and are not found by an empty one.
  openedAt(store, 10);
  EXPECT_EQ(store.findByToken("", 10), nullptr);
}

TEST(SessionStore, MostOfOneUser_OnlyItsOldestEnds) {
  SessionStore store(counting());
  const SessionStore::Held other = store.open(viewerOf("ben", "b"), {}, 1);
  const SessionStore::Held oldest = store.open(viewerOf("ana", "a"), {}, 2);
  for (std::size_t i = 1; i < SessionStore::kMaxOfUser; ++i)
    store.open(viewerOf("ana", "a"), {}, 3);
  EXPECT_EQ(store.size(), SessionStore::kMaxOfUser + 1);
  store.open(viewerOf("ana", "a"), {}, 4);
  EXPECT_EQ(store.size(), SessionStore::kMaxOfUser + 1);
  EXPECT_EQ(store.find(oldest->cookie, 4), nullptr);
  EXPECT_EQ(store.find(other->cookie, 4), other) << "another user's session is older, and stays";
}

TEST(SessionStore, Scopes_OfSessionsThatLast) {
  SessionStore store(counting());
  ViewerScope lab, ml;
  lab.pods.names = {"lab"};
  ml.pods.names = {"ml"};
  store.open(viewerOf("ana", "a"), lab, 1);
  store.open(viewerOf("ben", "b"), lab, 1);
  const SessionStore::Held third = store.open(viewerOf("eve", "c"), ml, 1);
  EXPECT_EQ(store.scopes(), (std::set<ViewerScope>{lab, ml}));
  store.close(third->cookie);
  EXPECT_EQ(store.scopes(), std::set<ViewerScope>{lab});
}

TEST(EqualSecrets, Table_OnlyEqualTexts) {
  EXPECT_TRUE(equalSecrets("", ""));
  EXPECT_TRUE(equalSecrets("ab", "ab"));
  EXPECT_FALSE(equalSecrets("ab", "a"));
  EXPECT_FALSE(equalSecrets("ab", "aB"));
  EXPECT_FALSE(equalSecrets("\x80", "\x00"));
  EXPECT_FALSE(equalSecrets(std::string_view("\0a", 2), std::string_view("\0b", 2)));
}

}  // namespace
}  // namespace divvy::console
