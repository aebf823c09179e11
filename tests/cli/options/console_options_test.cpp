// Options of `divvy console`.
#include <gtest/gtest.h>

#include "options/options.h"

namespace divvy::cli {
namespace {

Result<Options> parse(std::vector<std::string> words) {
  words.insert(words.begin(), {"divvy", "console"});
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  return parseOptions(static_cast<int>(argv.size()), argv.data());
}

ConsoleOptions parsed(const std::vector<std::string>& words) {
  const Result<Options> found = parse(words);
  EXPECT_TRUE(found) << found.error().message();
  const ConsoleOptions* options = found ? std::get_if<ConsoleOptions>(&*found) : nullptr;
  EXPECT_NE(options, nullptr);
  return options == nullptr ? ConsoleOptions{} : *options;
}

TEST(ConsoleOptions, Cluster_LinkWithoutTls) {
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"--cluster"}, {"--cluster", "--login", "link"}}) {
    const ConsoleOptions options = parsed(words);
    EXPECT_TRUE(options.cluster);
    EXPECT_FALSE(options.token_login);
    EXPECT_EQ(options.certificate_file + options.key_file + options.name, "");
    EXPECT_EQ(options.host, "127.0.0.1");
    EXPECT_EQ(options.port, 9400);
    EXPECT_FALSE(options.allow_changes);
  }
}

TEST(ConsoleOptions, AllowChanges_OfMachineAndCluster) {
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"--local"}, {"--cluster"}, {"--cluster", "--login", "token"}}) {
    std::vector<std::string> more = words;
    more.push_back("--allow-changes");
    EXPECT_TRUE(parsed(more).allow_changes) << words.back();
  }
}

TEST(ConsoleOptions, TokenLogin_AnyAddressAndTls) {
  const ConsoleOptions options =
      parsed({"--cluster", "--login", "token", "--listen", "[::]:9443", "--tls-cert", "a.crt",
              "--tls-key", "a.key", "--name", "Lab 7", "--history", "/var/lib/h.sqlite"});
  EXPECT_TRUE(options.token_login);
  EXPECT_EQ(options.host, "::");
  EXPECT_EQ(options.port, 9443);
  EXPECT_EQ(options.certificate_file, "a.crt");
  EXPECT_EQ(options.key_file, "a.key");
  EXPECT_EQ(options.name, "Lab 7");
  EXPECT_EQ(options.history, "/var/lib/h.sqlite");
  EXPECT_EQ(options.history_folder, "");
  EXPECT_EQ(parsed({"--cluster", "--login=token", "--listen", "0.0.0.0:0"}).host, "0.0.0.0");
}

TEST(ConsoleOptions, HeaderLogin_ProxiesOfTheNames) {
  const ConsoleOptions options =
      parsed({"--cluster", "--login", "headers", "--trust-headers-from", "10.0.0.7,fd00::/64",
              "--listen", "0.0.0.0:9400", "--trusted-proxies", "10.0.0.0/8"});
  EXPECT_EQ(options.trust_headers_from, (std::vector<std::string>{"10.0.0.7", "fd00::/64"}));
  EXPECT_EQ(options.trusted_proxies, std::vector<std::string>{"10.0.0.0/8"});
  EXPECT_FALSE(options.token_login);
  EXPECT_EQ(options.host, "0.0.0.0");
  EXPECT_TRUE(parsed({"--cluster", "--login", "token"}).trust_headers_from.empty());
}

TEST(ConsoleOptions, RejectedWords_UsageWithAccepted) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases{
      {{"--cluster", "--login", "oidc"},
       "--login \"oidc\" is not known; accepted: link, token, headers"},
      {{"--cluster", "--login", "Token"}, "accepted: link, token"},
      {{"--cluster", "--login", ""}, "--login"},
      {{"--local", "--login", "token"}, "console: --login is accepted with --cluster"},
      {{"--login", "token"}, "accepted is one of --local (this machine) and --cluster"},
      {{"--local", "--tls-cert", "c", "--tls-key", "k"}, "--tls-cert is accepted with --cluster"},
      {{"--local", "--tls-key", "k"}, "--tls-key is accepted with --cluster"},
      {{"--local", "--name", "x"}, "--name is accepted with --cluster"},
      {{"--cluster", "--tls-cert", "c"}, "--tls-key belong together; accepted: both"},
      {{"--cluster", "--tls-cert", "c", "--tls-key", "k"},
       "--tls-cert is accepted with --login token or headers"},
      {{"--cluster", "--login", "headers"}, "--login headers needs --trust-headers-from"},
      {{"--cluster", "--login", "headers", "--trust-headers-from", ""}, "has no value"},
      {{"--cluster", "--trust-headers-from", "::1"}, "is accepted with --login headers"},
      {{"--cluster", "--login", "token", "--trust-headers-from", "::1"},
       "--trust-headers-from is accepted with --login headers"},
      {{"--local", "--trust-headers-from", "::1"},
       "console: --trust-headers-from is accepted with --cluster"},
      {{"--local", "--login", "headers"}, "console: --login is accepted with --cluster"},
      {{"--cluster", "--login", "headers", "--trust-headers-from", "::1", "--allow-changes"},
       "--allow-changes"},
      {{"--cluster", "--trusted-proxies", "::1"},
       "--trusted-proxies is accepted with --login token or headers"},
      {{"--cluster", "--login", "token", "--tls-key", "k"}, "belong together; accepted: both"},
      {{"--cluster", "--name", "a\nb"}, "--name is not accepted; up to 253 bytes"},
      {{"--cluster", "--name", std::string(254, 'x')}, "--name is not accepted; up to 253 bytes"},
      {{"--cluster", "--sim", "h100"}, "--sim is accepted with --local"},
      {{"--cluster", "--login", "token", "--listen", "9400"}, "HOST:PORT is"},
  };
  for (const auto& [words, says] : cases) {
    const Result<Options> found = parse(words);
    ASSERT_FALSE(found) << says;
    EXPECT_EQ(found.error().code(), ErrorCode::kUsage) << says;
    EXPECT_NE(found.error().message().find(says), std::string::npos)
        << found.error().message() << "\nshould say: " << says;
    EXPECT_EQ(found.error().message().find('\n'), std::string::npos);
  }
}

}  // namespace
}  // namespace divvy::cli
