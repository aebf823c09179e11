#include "http/trusted_proxies.h"

#include <gtest/gtest.h>

namespace divvy::http {
namespace {

TrustedProxies proxiesIn(const std::vector<std::string>& ranges) {
  Result<TrustedProxies> proxies = TrustedProxies::parse(ranges);
  EXPECT_TRUE(proxies);
  return proxies ? *proxies : TrustedProxies();
}

TEST(TrustedProxies, Ranges_ContainTheirAddresses) {
  const TrustedProxies proxies =
      proxiesIn({"10.0.0.0/8", "192.0.2.7", "172.16.0.0/12", "fd00::/8", "2001:db8::1/128"});
  for (const char* address :
       {"10.255.0.1", "::ffff:10.1.2.3", "192.0.2.7", "172.31.255.255", "fdff::1", "2001:db8::1"})
    EXPECT_TRUE(proxies.contains(address)) << address;
  for (const char* address : {"11.0.0.1", "192.0.2.8", "172.32.0.0", "172.15.255.255", "fe00::1",
                              "2001:db8::2", "", "10", "10.0.0.1:80", "a"})
    EXPECT_FALSE(proxies.contains(address)) << address;
  EXPECT_TRUE(proxiesIn({"0.0.0.0/0"}).contains("203.0.113.9"));
  EXPECT_FALSE(proxiesIn({"0.0.0.0/0"}).contains("2001:db8::1"));
  EXPECT_TRUE(proxiesIn({"::/0"}).contains("203.0.113.9"));
  EXPECT_FALSE(TrustedProxies().contains("127.0.0.1"));
}

TEST(TrustedProxies, BadRanges_Refused) {
  for (const char* range : {"", "10.0.0.0/33", "10.0.0.0/", "10.0.0.0/-1", "10.0.0.0/8x", "10.0.0",
                            "fd00::/129", "example.com", "10.0.0.0/8/9", "10.0.0.0 /8", "[::1]"}) {
    const Result<TrustedProxies> proxies = TrustedProxies::parse({"127.0.0.1", range});
    ASSERT_FALSE(proxies) << range;
    EXPECT_EQ(proxies.error().code(), ErrorCode::kUsage);
    EXPECT_NE(proxies.error().message().find('"' + std::string(range) + '"'), std::string::npos);
  }
}

TEST(TrustedProxies, WideRanges_Told) {
  for (const char* range : {"0.0.0.0/0", "10.0.0.0/7", "::/0", "2000::/3", "::/1", "::/64",
                            "::ffff:0:0/96", "::ffff:10.0.0.0/103"})
    EXPECT_TRUE(proxiesIn({"192.0.2.7", range}).hasWideRange()) << range;
  EXPECT_FALSE(proxiesIn({"10.0.0.0/8", "fd00::/8", "::1", "::ffff:10.0.0.0/104", "2001:db8::/32"})
                   .hasWideRange());
  EXPECT_FALSE(TrustedProxies().hasWideRange());
}

TEST(TrustedProxies, ForwardedFor_LastAddressThatIsNoProxy) {
  const TrustedProxies proxies = proxiesIn({"10.0.0.0/8", "::1"});
  struct Case {
    std::string peer;
    std::vector<std::string_view> forwarded;
    std::string client;
  };
  const std::vector<Case> cases{
      {"203.0.113.1", {"198.51.100.1"}, "203.0.113.1"},  // the client itself claims to be a proxy
      {"10.0.0.1", {}, "10.0.0.1"},
      {"10.0.0.1", {"198.51.100.1"}, "198.51.100.1"},
      {"::1", {"198.51.100.1"}, "198.51.100.1"},
      // What the client wrote comes first.
      {"10.0.0.1", {"192.0.2.66, 198.51.100.1"}, "198.51.100.1"},
      {"10.0.0.1", {"192.0.2.66", "198.51.100.1"}, "198.51.100.1"},
      {"10.0.0.1", {"192.0.2.66", "198.51.100.1 ,\t10.0.0.2"}, "198.51.100.1"},
      {"10.0.0.1", {"10.0.0.3, 10.0.0.2"}, "10.0.0.3"},
      {"10.0.0.1", {"198.51.100.1, unknown"}, "10.0.0.1"},
      {"10.0.0.1", {"198.51.100.1, unknown, 10.0.0.2"}, "10.0.0.2"},
      {"10.0.0.1", {""}, "10.0.0.1"},
      {"10.0.0.1", {"198.51.100.1,"}, "10.0.0.1"},
      {"10.0.0.1", {"198.51.100.1:4711"}, "198.51.100.1"},
      {"10.0.0.1", {"[2001:db8::1]:4711"}, "2001:db8::1"},
      {"10.0.0.1", {"2001:DB8:0::1"}, "2001:db8::1"},
      {"10.0.0.1", {"::ffff:198.51.100.1"}, "198.51.100.1"},
      {"no address", {"198.51.100.1"}, "no address"},
  };
  for (const Case& one : cases)
    EXPECT_EQ(proxies.clientOf(one.peer, one.forwarded), one.client)
        << one.peer << ' ' << (one.forwarded.empty() ? "" : one.forwarded.back());
  EXPECT_EQ(TrustedProxies().clientOf("10.0.0.1", {"198.51.100.1"}), "10.0.0.1");
}

TEST(TrustedProxies, ManyHops_SearchEnds) {
  std::string hops = "198.51.100.1";
  for (std::size_t at = 0; at < TrustedProxies::kMaxHops; ++at) hops += ",10.0.0.9";
  EXPECT_EQ(proxiesIn({"10.0.0.0/8"}).clientOf("10.0.0.1", {hops}), "10.0.0.9");
}

}  // namespace
}  // namespace divvy::http
