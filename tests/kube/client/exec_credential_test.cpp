// Credentials that a program prints: what is taken of them, and how the program is run.
#include "client/exec_credential.h"

#include <gtest/gtest.h>

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>

#include "http/server.h"
#include "kube/client.h"

namespace divvy::kube {
namespace {

using std::chrono::seconds;
using std::chrono::steady_clock;

constexpr const char* kVersion = "client.authentication.k8s.io/v1";
constexpr seconds kBound{30};

std::string printed(const std::string& status) {
  return R"({"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":)" +
         status + '}';
}

Result<Credential> run(const ExecPlugin& plugin, seconds bound = kBound) {
  asio::io_context loop;
  std::optional<Result<Credential>> got;
  asio::co_spawn(
      loop, [&]() -> asio::awaitable<void> { got = co_await runPlugin(plugin, bound); },
      asio::detached);
  loop.run_for(kBound * 2);
  return got ? *got : Result<Credential>(Error{ErrorCode::kInternal, "the loop did not end"});
}

// A folder of programs that are scripts.
class Programs {
 public:
  Programs() {
    std::string form = std::filesystem::temp_directory_path() / "divvy-exec-XXXXXX";
    folder_ = mkdtemp(form.data());
  }
  ~Programs() { std::filesystem::remove_all(folder_); }
  Programs(const Programs&) = delete;
  Programs& operator=(const Programs&) = delete;

  ExecPlugin add(const std::string& lines) const {
    const std::string path = folder_ / "program";
    std::ofstream(path) << "#!/bin/sh\n" << lines << '\n';
    chmod(path.c_str(), 0700);
    return {kVersion, path, {}, {}};
  }
  std::string file(const std::string& name) const { return folder_ / name; }
  std::string text(const std::string& name) const {
    std::ifstream in(folder_ / name);
    return {std::istreambuf_iterator<char>(in), {}};
  }

 private:
  std::filesystem::path folder_;
};

TEST(ExecCredential, TokenOrKeyPair_ReadWithExpiry) {
  const Result<Credential> token = credentialIn(
      printed(R"({"token":"t","expirationTimestamp":"2027-01-15T08:00:00Z"})"), kVersion);
  ASSERT_TRUE(token.has_value());
  EXPECT_EQ(token->token, "t");
  EXPECT_EQ(token->until->time_since_epoch(), seconds(1'800'000'000));
  const Result<Credential> pair =
      credentialIn(printed(R"({"clientCertificateData":"c","clientKeyData":"k"})"), kVersion);
  ASSERT_TRUE(pair.has_value());
  EXPECT_EQ(pair->key, "k");
  EXPECT_FALSE(pair->until.has_value());
}

TEST(ExecCredential, InvalidOutput_RefusedWithoutSecrets) {
  for (const std::string& text :
       {std::string(), std::string("secret"), std::string("[]"), std::string("{}"), printed("{}"),
        printed("1"), printed(R"({"token":7})"), printed(R"({"clientKeyData":"secret"})"),
        printed(R"({"token":"secret","expirationTimestamp":"soon"})"),
        std::string(R"({"apiVersion":"v2","kind":"ExecCredential","status":{"token":"secret"}})"),
        std::string(R"({"apiVersion":"client.authentication.k8s.io/v1","kind":"Status",)"
                    R"("status":{"token":"secret"}})")}) {
    const Result<Credential> read = credentialIn(text, kVersion);
    ASSERT_FALSE(read.has_value()) << text;
    EXPECT_EQ(read.error().message().find("secret"), std::string::npos);
  }
}

TEST(ExecPlugin, ArgumentsAndEnvironment_PassedWithoutShell) {
  const Programs programs;
  ExecPlugin plugin =
      programs.add(R"(echo "$1|$MORE|$KUBERNETES_EXEC_INFO" > )" + programs.file("told") +
                   "\necho '" + printed(R"({"token":"t"})") + "'");
  plugin.arguments = {"$HOME; a b"};
  plugin.environment = {{"MORE", "x y"}};
  // Open here, and no business of the program's.
  const std::ofstream open(programs.file("open"));
  const Result<Credential> got = run(plugin);
  ASSERT_TRUE(got.has_value()) << got.error().message();
  EXPECT_EQ(got->token, "t");
  const std::string told = programs.text("told");
  EXPECT_TRUE(
      told.starts_with("$HOME; a b|x y|{\"apiVersion\":\"client.authentication.k8s.io/v1\""))
      << told;
  EXPECT_NE(told.find("\"interactive\":false"), std::string::npos);
}

TEST(ExecPlugin, ProgramFails_ErrorNamesReason) {
  const Programs programs;
  for (const auto& [lines, words] :
       std::vector<std::pair<std::string, std::string>>{{"exit 3", "exit status 3"},
                                                        {"kill -9 $$", "ended by signal 9"},
                                                        {"echo hello", "not JSON"},
                                                        {"yes | head -c 2000000", "more than"}}) {
    const Result<Credential> got = run(programs.add(lines));
    ASSERT_FALSE(got.has_value()) << lines;
    EXPECT_EQ(got.error().code(), ErrorCode::kUnavailable);
    EXPECT_NE(got.error().message().find(words), std::string::npos) << got.error().message();
  }
  const Result<Credential> none = run({kVersion, programs.file("nothing"), {}, {}});
  EXPECT_NE(none.error().message().find("No such file"), std::string::npos);
  EXPECT_FALSE(checkPlugin({"client.authentication.k8s.io/v1alpha1", "p", {}, {}}).has_value());
}

TEST(ExecPlugin, ProgramExceedsTimeout_KilledWithChildren) {
  const Programs programs;
  auto began = steady_clock::now();
  // It may be ended before it has begun.
  for (int tries = 0; tries < 5 && programs.text("child").empty(); ++tries) {
    began = steady_clock::now();
    const Result<Credential> got =
        run(programs.add("sleep 600 & echo $! > " + programs.file("child") + "; wait"), seconds(1));
    EXPECT_LT(steady_clock::now() - began, seconds(20));
    ASSERT_FALSE(got.has_value());
    EXPECT_NE(got.error().message().find("within 1 s"), std::string::npos) << got.error().message();
  }
  ASSERT_NE(programs.text("child"), "");
  // It is nobody's child here: whoever reaps it may take a moment.
  const pid_t child = std::stoi(programs.text("child"));
  const std::string stat = "/proc/" + std::to_string(child) + "/stat";
  const auto gone = [&] {
    std::ifstream in(stat);
    std::string text{std::istreambuf_iterator<char>(in), {}};
    return text.empty() || text.find(") Z") != std::string::npos;
  };
  while (!gone() && steady_clock::now() - began < kBound) {
  }
  EXPECT_TRUE(gone());
}

// A server that takes any token, or refuses all.
struct Double {
  explicit Double(unsigned status) {
    divvy::http::Route route{"GET", "/api", 0,
                             [status](divvy::http::Query) -> asio::awaitable<divvy::http::Answer> {
                               co_return divvy::http::Answer{status, "{}"};
                             }};
    server = std::move(*divvy::http::Server::start(loop.get_executor(), {}, {route}));
  }
  Access access(const ExecPlugin& plugin) const {
    Access to;
    to.host = "127.0.0.1";
    to.port = std::to_string(server->port());
    to.tls = false;
    to.exec = plugin;
    return to;
  }
  // Calls one after the other, and several at once before that.
  void call(Client& client, int at_once, int times) {
    int left = at_once;
    const auto one = [&]() -> asio::awaitable<void> {
      for (int i = 0; i < times; ++i) {
        Call call{Verb::kGet, "/api"};
        const Result<Reply> reply = co_await client.send(std::move(call));
        EXPECT_TRUE(reply.has_value()) << reply.error().message();
      }
      if (--left == 0) loop.stop();
    };
    for (int i = 0; i < at_once; ++i) asio::co_spawn(loop, one, asio::detached);
    loop.restart();
    loop.run_for(kBound);
    EXPECT_EQ(left, 0);
  }

  asio::io_context loop;
  std::unique_ptr<divvy::http::Server> server;
};

ExecPlugin counting(const Programs& programs, const std::string& expires) {
  return programs.add("echo x >> " + programs.file("runs") + "\necho '" +
                      printed(R"({"token":"t","expirationTimestamp":")" + expires + "\"}") + "'");
}

TEST(ExecClient, ConcurrentCalls_ProgramRunsOnce) {
  const Programs programs;
  Double server(200);
  const auto client = std::move(*Client::make(
      server.loop.get_executor(), server.access(counting(programs, "2999-01-01T00:00:00Z"))));
  server.call(*client, 5, 3);
  EXPECT_EQ(programs.text("runs"), "x\n");
  EXPECT_EQ(client->access().token, "t");
}

TEST(ExecClient, ExpiredCredential_ProgramRunsForEachCall) {
  const Programs programs;
  Double server(200);
  const auto client = std::move(*Client::make(
      server.loop.get_executor(), server.access(counting(programs, "2001-01-01T00:00:00Z"))));
  server.call(*client, 1, 3);
  EXPECT_EQ(programs.text("runs"), "x\nx\nx\n");
}

TEST(ExecClient, ServerRefusesToken_ProgramNotRunAgain) {
  const Programs programs;
  Double server(401);
  const auto client = std::move(*Client::make(
      server.loop.get_executor(), server.access(counting(programs, "2999-01-01T00:00:00Z"))));
  server.call(*client, 1, 3);
  EXPECT_EQ(programs.text("runs"), "x\n");
}

}  // namespace
}  // namespace divvy::kube
