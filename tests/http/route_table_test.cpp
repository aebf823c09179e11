#include "route_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

#include "base/rng.h"

namespace divvy::http {
namespace {

using Outcome = RouteTable::Match::Outcome;

RouteTable tableOf(const std::vector<std::pair<std::string, std::string>>& routes) {
  RouteTable table;
  for (const auto& [method, path] : routes) {
    const Result<void> added = table.add(method, path);
    EXPECT_TRUE(added) << added.error().message();
  }
  return table;
}

// "ROUTE name=value ...", or why there is none.
std::string found(const RouteTable& table, std::string_view method, std::string_view path) {
  const RouteTable::Match match = table.find(method, path);
  if (match.outcome == Outcome::kNoPath) return "none";
  if (match.outcome == Outcome::kNoMethod) return "allow " + match.allow;
  if (match.outcome == Outcome::kMalformed) return "malformed";
  std::string text = std::to_string(match.route);
  for (const Parameter& one : match.captures.all()) text += ' ' + one.name + '=' + one.value;
  return text;
}

TEST(RouteTable, Pattern_SegmentCapturedAndDecoded) {
  const RouteTable table = tableOf({{"GET", "/api/v1/shares/{id}"}, {"GET", "/n/{a}/p/{b_2}"}});
  EXPECT_EQ(found(table, "GET", "/api/v1/shares/s-1"), "0 id=s-1");
  EXPECT_EQ(found(table, "GET", "/api/v1/shares/a%2Fb+c%20d"), "0 id=a/b+c d");
  EXPECT_EQ(found(table, "GET", "/n/x/p/y"), "1 a=x b_2=y");
  for (const char* path : {"/api/v1/shares", "/api/v1/shares/", "/api/v1/shares/a/b",
                           "/api/v1/shares/a/", "/api/v1/sharesx/a", "/n//p/y", "", "api", "*"})
    EXPECT_EQ(found(table, "GET", path), "none") << path;
}

TEST(RouteTable, Rest_CapturedWithSlashes) {
  const RouteTable table = tableOf({{"GET", "/static/{rest...}"}});
  EXPECT_EQ(found(table, "GET", "/static/a/b%20c.js"), "0 rest=a/b c.js");
  EXPECT_EQ(found(table, "GET", "/static/"), "0 rest=");
  EXPECT_EQ(found(table, "GET", "/static//"), "0 rest=/");
  EXPECT_EQ(found(table, "GET", "/static/../../etc"), "0 rest=../../etc") << "the handler decides";
  EXPECT_EQ(found(table, "GET", "/static"), "none");
  EXPECT_EQ(found(table, "GET", "/staticx/a"), "none");
}

TEST(RouteTable, SeveralMatch_MostSpecificAnswers) {
  const RouteTable table = tableOf({{"GET", "/{all...}"},
                                    {"GET", "/a/{x}/{y}"},
                                    {"GET", "/a/{x}/c"},
                                    {"GET", "/a/b/{y}"},
                                    {"GET", "/a/b/c"},
                                    {"GET", "/a/{rest...}"},
                                    {"GET", "/a/b/c"}});
  EXPECT_EQ(found(table, "GET", "/a/b/c"), "4") << "of equal ones the first";
  EXPECT_EQ(found(table, "GET", "/a/b/z"), "3 y=z");
  EXPECT_EQ(found(table, "GET", "/a/z/c"), "2 x=z");
  EXPECT_EQ(found(table, "GET", "/a/z/z"), "1 x=z y=z");
  EXPECT_EQ(found(table, "GET", "/a/z"), "5 rest=z");
  EXPECT_EQ(found(table, "GET", "/"), "0 all=");
}

TEST(RouteTable, OtherMethod_AllowedOnesListed) {
  const RouteTable table =
      tableOf({{"GET", "/a/{x}"}, {"POST", "/a/new"}, {"DELETE", "/a/{x}"}, {"POST", "/only"}});
  EXPECT_EQ(found(table, "PUT", "/a/new"), "allow DELETE, GET, HEAD, POST");
  EXPECT_EQ(found(table, "PUT", "/a/b"), "allow DELETE, GET, HEAD");
  EXPECT_EQ(found(table, "GET", "/a/new"), "0 x=new") << "only the pattern has the method";
  EXPECT_EQ(found(table, "HEAD", "/only"), "allow POST");
  EXPECT_EQ(found(table, "get", "/a/b"), "allow DELETE, GET, HEAD") << "methods have a case";
}

TEST(RouteTable, Head_RouteOfHeadBeforeThatOfGet) {
  const RouteTable table = tableOf({{"GET", "/a"}, {"GET", "/b"}, {"HEAD", "/b"}});
  EXPECT_EQ(found(table, "HEAD", "/a"), "0");
  EXPECT_EQ(found(table, "HEAD", "/b"), "2");
}

TEST(RouteTable, CapturedEscapeMalformed_Reported) {
  const RouteTable table = tableOf({{"GET", "/a/{x}"}, {"GET", "/b/{x...}"}, {"GET", "/c%zz"}});
  for (const char* path : {"/a/%", "/a/%4", "/a/%zz", "/a/%00", "/b/c/%g0"})
    EXPECT_EQ(found(table, "GET", path), "malformed") << path;
  EXPECT_EQ(found(table, "GET", "/c%zz"), "2") << "exact paths are compared as they are";
}

TEST(RouteTable, MalformedPattern_Refused) {
  for (const char* path :
       {"/a/{}", "/a/{x", "/a/x}", "/a/b{x}", "/{x}{y}", "/{x...}/b", "/{x}/{x}", "{x}", "/{x-y}",
        "/{...}", "/a/{{x}}", "/1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16/{x}"}) {
    RouteTable table;
    EXPECT_FALSE(table.add("GET", path)) << path;
  }
  EXPECT_EQ(found(tableOf({{"GET", "/1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/{x}"}}), "GET",
                  "/1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/y"),
            "0 x=y");
}

TEST(RouteTable, HugePath_MatchedByRestOnly) {
  const RouteTable table = tableOf({{"GET", "/{a}/{b}"}, {"GET", "/s/{rest...}"}});
  EXPECT_EQ(found(table, "GET", std::string(16'384, '/')), "none");
  EXPECT_EQ(found(table, "GET", "/s" + std::string(16'384, '/')),
            "1 rest=" + std::string(16'383, '/'));
}

// ---- against a plain implementation -------------------------------------------------------------

std::vector<std::string> splitAt(const std::string& path) {
  std::vector<std::string> parts(1);
  for (const char c : path.substr(1)) {
    if (c == '/')
      parts.emplace_back();
    else
      parts.back() += c;
  }
  return parts;
}

// For each segment of the pattern a digit by precedence, or nothing if it does not match.
std::optional<std::string> rankOf(const std::string& pattern, const std::string& path) {
  const std::vector<std::string> wanted = splitAt(pattern);
  const std::vector<std::string> given = splitAt(path);
  std::string rank;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (i >= given.size()) return std::nullopt;
    if (wanted[i].ends_with("...}")) return rank + '2';
    const bool captures = wanted[i].starts_with('{');
    if (captures ? given[i].empty() : wanted[i] != given[i]) return std::nullopt;
    rank += captures ? '1' : '0';
  }
  if (wanted.size() != given.size()) return std::nullopt;
  return rank;
}

std::string randomPath(Rng* rng, bool pattern) {
  std::string path;
  const std::uint64_t segments = 1 + rng->below(4);
  for (std::uint64_t i = 0; i < segments; ++i) {
    path += '/';
    const std::uint64_t dice = rng->below(pattern ? 6 : 4);
    if (dice < 3) path += static_cast<char>('a' + dice);
    if (dice == 4) path += "{n" + std::to_string(i) + '}';
    if (dice == 5 && i + 1 == segments) path += "{n" + std::to_string(i) + "...}";
  }
  return path;
}

TEST(RouteTable, RandomTables_AsPlainImplementation) {
  Rng rng(31);
  constexpr const char* kMethods[] = {"GET", "POST", "HEAD"};
  unsigned hits = 0, refused = 0;
  for (int round = 0; round < 1'000; ++round) {
    std::vector<std::pair<std::string, std::string>> routes;
    for (std::uint64_t left = 1 + rng.below(12); left > 0; --left)
      routes.emplace_back(kMethods[rng.below(3)], randomPath(&rng, true));
    const RouteTable table = tableOf(routes);
    for (int ask = 0; ask < 30; ++ask) {
      const std::string path = randomPath(&rng, false);
      const std::string method = kMethods[rng.below(3)];
      std::optional<std::size_t> best;
      bool known = false;
      for (const std::string& accepted : {method, std::string(method == "HEAD" ? "GET" : "")}) {
        for (std::size_t i = 0; i < routes.size() && !best; ++i) {
          const auto rank = rankOf(routes[i].second, path);
          known |= rank.has_value();
          if (!rank || routes[i].first != accepted) continue;
          const auto better = [&](const auto& other) {
            const auto its = rankOf(other.second, path);
            return other.first == accepted && its && *its < *rank;
          };
          if (std::none_of(routes.begin(), routes.end(), better)) best = i;
        }
      }
      const RouteTable::Match match = table.find(method, path);
      ASSERT_EQ(match.outcome, best    ? Outcome::kFound
                               : known ? Outcome::kNoMethod
                                       : Outcome::kNoPath)
          << method << ' ' << path;
      if (best) {
        ASSERT_EQ(routes[match.route], routes[*best]) << method << ' ' << path;
      }
      hits += best ? 1 : 0;
      refused += !best && known ? 1 : 0;
    }
  }
  EXPECT_GT(hits, 2'000u);
  EXPECT_GT(refused, 1'000u);
}

}  // namespace
}  // namespace divvy::http
