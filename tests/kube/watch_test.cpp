// The client against servers that answer as API servers may.
#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include "http/server.h"
#include "kube/client.h"

namespace divvy::kube {
namespace {

namespace asio = boost::asio;
namespace json = boost::json;
using asio::ip::tcp;

constexpr std::chrono::seconds kBound{30};

Access accessTo(std::uint16_t port) {
  Access access;
  access.host = "127.0.0.1";
  access.port = std::to_string(port);
  access.tls = false;
  return access;
}

std::string chunk(const std::string& text) {
  char size[16];
  std::snprintf(size, sizeof size, "%zx", text.size());
  return std::string(size) + "\r\n" + text + "\r\n";
}

// Says one event and then nothing, and stays.
asio::awaitable<void> sayOne(tcp::acceptor& acceptor, std::string event) {
  tcp::socket socket = co_await acceptor.async_accept(asio::use_awaitable);
  std::string asked;
  co_await asio::async_read_until(socket, asio::dynamic_buffer(asked), "\r\n\r\n",
                                  asio::use_awaitable);
  const std::string said =
      "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n" +
      chunk(event + "\n");
  co_await asio::async_write(socket, asio::buffer(said), asio::use_awaitable);
  char byte = 0;
  boost::system::error_code gone;
  co_await socket.async_read_some(asio::buffer(&byte, 1),
                                  asio::redirect_error(asio::use_awaitable, gone));
}

// Regression: events were handed on only once 64 KiB of them had come, so that what pods gave back
// was not known for as long as little happened.
TEST(Watch, SingleEvent_DeliveredAtOnce) {
  asio::io_context loop;
  tcp::acceptor acceptor(loop, {asio::ip::make_address("127.0.0.1"), 0});
  asio::co_spawn(
      loop, sayOne(acceptor, R"({"type":"DELETED","object":{"metadata":{"resourceVersion":"7"}}})"),
      asio::detached);
  auto client = Client::make(loop.get_executor(), accessTo(acceptor.local_endpoint().port()));
  ASSERT_TRUE(client.has_value());
  std::string version = "1", type;
  WatchEnd end = WatchEnd::kEnded;
  asio::co_spawn(
      loop,
      [&]() -> asio::awaitable<void> {
        const Result<WatchEnd> ended =
            co_await (*client)->watch("/api/v1/pods", "", &version, [&](const WatchEvent& event) {
              type = event.type;
              return false;
            });
        if (ended) end = *ended;
        loop.stop();
      },
      asio::detached);
  loop.run_for(kBound);
  EXPECT_EQ(type, "DELETED");
  EXPECT_EQ(version, "7");
  EXPECT_EQ(end, WatchEnd::kStopped);
}

// A server of ours with one route that answers by `answer`.
class Served {
 public:
  explicit Served(std::function<http::Answer(const http::Query&)> answer) {
    std::vector<http::Route> routes{
        {"GET", "/list", 10,
         [answer](http::Query query) -> asio::awaitable<http::Answer> { co_return answer(query); }},
        {"POST", "/list", 10, [answer](http::Query query) -> asio::awaitable<http::Answer> {
           co_return answer(query);
         }}};
    server_ = std::move(*http::Server::start(loop.get_executor(), {}, std::move(routes)));
    client = std::move(*Client::make(loop.get_executor(), accessTo(server_->port())));
  }

  template <typename F>
  void run(F body) {
    asio::co_spawn(
        loop,
        [&]() -> asio::awaitable<void> {
          co_await body();
          loop.stop();
        },
        asio::detached);
    loop.run_for(kBound);
  }

  asio::io_context loop;
  std::unique_ptr<Client> client;

 private:
  std::unique_ptr<http::Server> server_;
};

TEST(List, ExpiredBetweenPages_StartsOver) {
  int asked = 0;
  Served served([&](const http::Query& query) -> http::Answer {
    ++asked;
    if (asked == 2) return {410, R"({"kind":"Status","reason":"Expired"})"};
    const bool second = query.target.find("continue=") != std::string::npos;
    return {200, second ? R"({"metadata":{"resourceVersion":"9"},"items":[2]})"
                        : R"({"metadata":{"resourceVersion":"8","continue":"a/b="},"items":[1]})"};
  });
  std::vector<std::int64_t> items;
  std::string version;
  served.run([&]() -> asio::awaitable<void> {
    const Result<std::string> listed = co_await served.client->list(
        "/list", "", [&] { items.clear(); },
        [&](const json::value& item) { items.push_back(item.as_int64()); });
    if (listed) version = *listed;
  });
  EXPECT_EQ(items, (std::vector<std::int64_t>{1, 2}));
  EXPECT_EQ(version, "9");
  EXPECT_EQ(asked, 4);
}

// The first page, in two ways to write it.
void listsAll(const std::string& first, std::vector<std::size_t> calls_when_read) {
  Served served([&](const http::Query& query) -> http::Answer {
    const bool second = query.target.find("continue=") != std::string::npos;
    return {200, second ? R"({"metadata":{"resourceVersion":"8"},"items":[2]})" : first};
  });
  std::vector<std::int64_t> items;
  std::vector<std::size_t> calls;
  std::string version;
  served.run([&]() -> asio::awaitable<void> {
    const Result<std::string> listed = co_await served.client->list(
        "/list", "", [] {},
        [&](const json::value& item) {
          items.push_back(item.as_int64());
          calls.push_back(served.client->calls());
        });
    if (listed) version = *listed;
  });
  EXPECT_EQ(items, (std::vector<std::int64_t>{1, 2}));
  EXPECT_EQ(version, "8");
  EXPECT_EQ(calls, calls_when_read);
}

TEST(List, ContinueFirst_NextPageRequestedBeforeReading) {
  listsAll(R"({"metadata":{"resourceVersion":"8","continue":"a/b="},"items":[1]})", {2, 2});
}

TEST(List, ContinueLast_NextPageRequestedAfterReading) {
  listsAll(R"({"items":[1],"metadata":{"resourceVersion":"8","continue":"a/b="}})", {1, 2});
}

TEST(Client, TooManyRequests_RetriedUntilAnswered) {
  int asked = 0;
  Served served([&](const http::Query&) -> http::Answer {
    return ++asked < 3 ? http::Answer{429, "{}"} : http::Answer{200, "{}"};
  });
  bool good = false;
  served.run([&]() -> asio::awaitable<void> {
    Call call{Verb::kGet, "/list"};
    const Result<json::value> got = co_await served.client->ask(std::move(call));
    good = got.has_value();
  });
  EXPECT_TRUE(good);
  EXPECT_EQ(asked, 3);
}

// Regression: the limit was looked at for bodies in chunks only.
TEST(Server, BodyTooLarge_Answered413) {
  Served served([](const http::Query&) -> http::Answer { return {200, "{}"}; });
  unsigned status = 0;
  served.run([&]() -> asio::awaitable<void> {
    Call call{Verb::kPost, "/list"};
    call.body = "more than ten bytes";
    const Result<Reply> reply = co_await served.client->send(std::move(call));
    if (reply) status = reply->status;
  });
  EXPECT_EQ(status, 413u);
}

TEST(Client, ErrorReply_ServersMessageAndCode) {
  const Error error = errorOf({409, R"({"reason":"Conflict","message":"pod is bound"})"});
  EXPECT_EQ(error.message(), "409 Conflict: pod is bound");
  EXPECT_EQ(errorOf({404, "nothing"}).code(), ErrorCode::kNotFound);
  EXPECT_EQ(errorOf({503, ""}).code(), ErrorCode::kUnavailable);
}

}  // namespace
}  // namespace divvy::kube
