// Where an API server is, from what people have.
#include <gtest/gtest.h>

#include "kube/access.h"

namespace divvy::kube {
namespace {

std::string config(const std::string& cluster, const std::string& user) {
  return "current-context: c\ncontexts: [{name: c, context: {cluster: k, user: u}}]\n"
         "clusters: [{name: other}, {name: k, cluster: " +
         cluster + "}]\nusers: [{name: nobody}, {name: u, user: " + user + "}]\n";
}

Result<Access> read(const std::string& text) {
  return kubeconfigAccess({{text, "f", ""}});
}

TEST(KubeconfigAccess, Config_ServerTokenAndDataRead) {
  const auto access = read(config(
      "{server: 'https://[::1]:6443/base/', certificate-authority-data: QUJD}", "{token: t}"));
  ASSERT_TRUE(access.has_value()) << access.error().message();
  EXPECT_EQ(access->host, "::1");
  EXPECT_EQ(access->port, "6443");
  EXPECT_EQ(access->base, "/base");
  EXPECT_EQ(access->authority, "ABC");
  EXPECT_EQ(access->token, "t");
  EXPECT_TRUE(access->tls);
}

// kubectl accepts both.
TEST(KubeconfigAccess, EmptyOrNullMembers_TreatedAsAbsent) {
  const auto access =
      read(config("{server: 'https://h', certificate-authority: ''}", "{token: ~, exec: ~}"));
  ASSERT_TRUE(access.has_value()) << access.error().message();
  EXPECT_EQ(access->port, "443");
  EXPECT_FALSE(access->exec.has_value());
}

TEST(KubeconfigAccess, MissingOrInvalidMembers_Named) {
  for (const auto& [text, words] : std::vector<std::pair<std::string, std::string>>{
           {"[]", "map"},
           {"{}", "current-context"},
           {"current-context: c", "context \"c\""},
           {config("{server: 'h:1'}", "{}"), "https://HOST"},
           {config("{server: 'https://h', proxy-url: 'http://p'}", "{}"), "proxy-url"},
           {config("{server: 'https://h', certificate-authority-data: '-'}", "{}"), "base64"},
           {config("{server: 'https://h'}", "{client-certificate: /nowhere/c.crt}"),
            "/nowhere/c.crt"},
           {config("{server: [1]}", "{}"), "not a text"}}) {
    const auto access = read(text);
    ASSERT_FALSE(access.has_value()) << text;
    EXPECT_NE(access.error().message().find(words), std::string::npos) << access.error().message();
  }
}

TEST(ClusterAccess, OutsideCluster_NotFound) {
  EXPECT_EQ(clusterAccess("", "").error().code(), ErrorCode::kNotFound);
  EXPECT_EQ(clusterAccess("h", "443", "/nowhere").error().code(), ErrorCode::kIo);
}

}  // namespace
}  // namespace divvy::kube
