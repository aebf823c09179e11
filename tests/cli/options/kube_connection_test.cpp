// The credentials of a connection.
#include "options/kube_connection.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

namespace divvy::cli {
namespace {

namespace fs = std::filesystem;

class KubeConnectionTest : public ::testing::Test {
 protected:
  KubeConnectionTest() {
    std::string pattern = fs::temp_directory_path() / "divvy-connection-XXXXXX";
    folder_ = mkdtemp(pattern.data());
    std::ofstream(folder_ / "crt") << "a certificate";
    std::ofstream(folder_ / "key") << "a key";
  }
  ~KubeConnectionTest() override { fs::remove_all(folder_); }

  ConnectionOptions connection(const std::string& user) {
    std::ofstream(folder_ / "config")
        << "current-context: c\ncontexts: [{name: c, context: {cluster: d, user: u}}]\n"
           "clusters: [{name: d, cluster: {server: 'https://example.com:6443/base', "
           "certificate-authority: crt}}]\nusers: [{name: u, user: "
        << user << "}]\n";
    ConnectionOptions made;
    made.kubeconfig = folder_ / "config";
    return made;
  }

  fs::path folder_;
};

TEST_F(KubeConnectionTest, ViewerToken_ReplacesAllCredentials) {
  for (const char* user :
       {"{client-certificate: crt, client-key: key, as: gate, as-uid: '7', as-groups: [g]}",
        "{token: own}", "{tokenFile: key}", "{exec: {apiVersion: v1, command: no-such}}"}) {
    ConnectionOptions one = connection(user);
    Result<kube::Access> want = accessFor(one);
    ASSERT_TRUE(want) << want.error().message();
    one.viewer_token = "of-the-viewer";
    const Result<kube::Access> found = accessFor(one);
    ASSERT_TRUE(found) << found.error().message();
    // Server, trust and namespace stay.
    want->token = "of-the-viewer";
    want->token_file = want->certificate = want->key = "";
    want->exec.reset();
    want->as = {};
    EXPECT_EQ(*found, *want) << user;
  }
}

TEST_F(KubeConnectionTest, ViewerTokenWithOptions_ReplacesThemToo) {
  ConnectionOptions one = connection("{token: own}");
  one.words.certificate_file = folder_ / "crt";
  one.words.key_file = folder_ / "key";
  one.words.as.user = "gate";
  one.viewer_token = "of-the-viewer";
  const Result<kube::Access> found = accessFor(one);
  ASSERT_TRUE(found) << found.error().message();
  EXPECT_EQ(found->token, "of-the-viewer");
  EXPECT_EQ(found->certificate + found->key + found->as.user, "");
  EXPECT_EQ(found->host + found->port + found->base, "example.com6443/base");
}

TEST_F(KubeConnectionTest, ViewerTokenWithLineEnd_UsageWithoutToken) {
  ConnectionOptions one = connection("{token: own}");
  one.viewer_token = "secret\r\nImpersonate-User: admin";
  const Result<kube::Access> found = accessFor(one);
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code(), ErrorCode::kUsage);
  EXPECT_EQ(found.error().message().find("secret"), std::string::npos);
}

}  // namespace
}  // namespace divvy::cli
