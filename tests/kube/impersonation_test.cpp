// As whom a call is made: what of it the server is told.
#include <gtest/gtest.h>

#include <optional>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>

#include "heard_server.h"
#include "kube/client.h"

namespace divvy::kube {
namespace {

namespace asio = boost::asio;

Access accessTo(const test::HeardServer& server) {
  Access access;
  access.host = "127.0.0.1";
  access.port = std::to_string(server.port());
  access.tls = false;
  return access;
}

// One call, and a watch, which goes by a connection of its own.
void ask(const Access& access) {
  asio::io_context loop;
  Result<std::unique_ptr<Client>> client = Client::make(loop.get_executor(), access);
  ASSERT_TRUE(client) << client.error().message();
  const auto work = [&]() -> asio::awaitable<void> {
    Call call{Verb::kGet, "/api/v1/nodes"};
    const Result<Reply> reply = co_await (*client)->send(std::move(call));
    EXPECT_TRUE(reply.has_value());
    std::string version = "1";
    std::function<bool(const WatchEvent&)> each = [](const WatchEvent&) { return true; };
    const std::string path = "/api/v1/pods", query;
    co_await (*client)->watch(path, query, &version, std::move(each));
  };
  asio::co_spawn(loop, work, asio::detached);
  loop.run();
}

TEST(Impersonation, UserUidAndGroups_SentAsSeparateHeaders) {
  test::HeardServer server({{"/api/v1/nodes", "{}"}, {"/api/v1/pods", ""}});
  Access access = accessTo(server);
  access.token = "secret";
  access.as = {"system:serviceaccount:team:reader", "u-1", {"system:authenticated", "a, b"}};
  ask(access);
  const std::vector<test::Heard> heard = server.take();
  ASSERT_EQ(heard.size(), 2u);
  for (const test::Heard& one : heard) {
    EXPECT_EQ(one.text("authorization"), "Bearer secret") << one.line;
    EXPECT_EQ(one.text("impersonate-user"), "system:serviceaccount:team:reader") << one.line;
    EXPECT_EQ(one.text("impersonate-uid"), "u-1") << one.line;
    EXPECT_EQ(one.all("impersonate-group"),
              (std::vector<std::string>{"system:authenticated", "a, b"}))
        << one.line;
  }
}

TEST(Impersonation, NoImpersonation_NoHeadersSent) {
  test::HeardServer server({{"/api/v1/nodes", "{}"}, {"/api/v1/pods", ""}});
  ask(accessTo(server));
  const std::vector<test::Heard> heard = server.take();
  ASSERT_EQ(heard.size(), 2u);
  for (const test::Heard& one : heard)
    for (const auto& [name, value] : one.headers)
      EXPECT_TRUE(name.find("impersonate") == std::string::npos && name != "authorization")
          << name << ": " << value;
}

}  // namespace
}  // namespace divvy::kube
