// Following a collection, against a server that can be told what to do.
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
#include <boost/json.hpp>

#include "kube/informer.h"
#include "kube/lease.h"

namespace divvy::kube {
namespace {

namespace asio = boost::asio;
namespace json = boost::json;
using asio::ip::tcp;

constexpr std::chrono::seconds kBound{30};

// Lists one object whose UID is the number of the list; its watches are silent, and stay.
class Silent {
 public:
  Silent() : acceptor_(loop, {asio::ip::make_address("127.0.0.1"), 0}) {
    asio::co_spawn(loop, accept(), asio::detached);
    Access access;
    access.host = "127.0.0.1";
    access.port = std::to_string(acceptor_.local_endpoint().port());
    access.tls = false;
    client = std::move(*Client::make(loop.get_executor(), access));
  }

  void until(const std::function<bool()>& so) {
    const auto end = std::chrono::steady_clock::now() + kBound;
    while (!so() && std::chrono::steady_clock::now() < end)
      loop.run_one_for(std::chrono::milliseconds(100));
  }

  asio::io_context loop;
  std::unique_ptr<Client> client;
  int lists = 0, watches = 0;
  bool refuse = false;  // lists are answered with 403

 private:
  asio::awaitable<void> accept() {
    for (;;) {
      tcp::socket socket = co_await acceptor_.async_accept(asio::use_awaitable);
      asio::co_spawn(loop, serve(std::move(socket)), asio::detached);
    }
  }

  asio::awaitable<void> serve(tcp::socket socket) {
    std::string asked;
    boost::system::error_code gone;
    co_await asio::async_read_until(socket, asio::dynamic_buffer(asked), "\r\n\r\n",
                                    asio::redirect_error(asio::use_awaitable, gone));
    const bool watch = asked.find("watch=1") != std::string::npos;
    const std::string said = watch ? watchHead() : list();
    co_await asio::async_write(socket, asio::buffer(said),
                               asio::redirect_error(asio::use_awaitable, gone));
    char byte = 0;
    if (watch)
      co_await socket.async_read_some(asio::buffer(&byte, 1),
                                      asio::redirect_error(asio::use_awaitable, gone));
  }

  std::string watchHead() {
    ++watches;
    return "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
  }

  std::string list() {
    ++lists;
    const std::string body =
        R"({"metadata":{"resourceVersion":"7"},"items":[{"metadata":{"uid":")" +
        std::to_string(lists) + R"(","name":"n"}}]})";
    return std::string(refuse ? "HTTP/1.1 403 Forbidden" : "HTTP/1.1 200 OK") +
           "\r\nConnection: close\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" +
           body;
  }

  tcp::acceptor acceptor_;
};

struct Told {
  std::string here, gone;  // UIDs
  int synced = 0;
  EventHandlers follower() {
    EventHandlers made;
    made.path = "/things";
    made.set = [this](const json::value& object) { here += metaOf(object)->uid; };
    made.gone = [this](const std::string& uid, const std::string&) { gone += uid; };
    made.synced = [this] { ++synced; };
    made.trouble = [](const Error&) {};
    return made;
  }
};

TEST(Informer, RelistDuringWatch_ListsAgainAtOnce) {
  Silent server;
  Told told;
  Informer informer;
  bool stopped = false;
  EXPECT_FALSE(informer.fresh());
  asio::co_spawn(server.loop, runReflector(*server.client, told.follower(), informer, &stopped),
                 asio::detached);
  server.until([&] { return server.watches == 1; });
  EXPECT_TRUE(informer.fresh());
  const auto began = std::chrono::steady_clock::now();
  informer.relist();
  EXPECT_FALSE(informer.fresh());
  server.until([&] { return informer.fresh() && server.watches == 2; });
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(20));
  EXPECT_TRUE(informer.fresh());
  EXPECT_EQ(told.here, "12");
  EXPECT_EQ(told.gone, "1") << "who was not in the second list";
  EXPECT_EQ(told.synced, 2);
  EXPECT_FALSE(informer.failingSince().has_value());
}

TEST(Informer, BehindOtherInformer_ListsAfterIt) {
  Silent server;
  Told first, second;
  Informer ahead, behind;
  bool stopped = false;
  EventHandlers follower = second.follower();
  follower.behind = &ahead;
  asio::co_spawn(server.loop, runReflector(*server.client, std::move(follower), behind, &stopped),
                 asio::detached);
  asio::co_spawn(server.loop, runReflector(*server.client, first.follower(), ahead, &stopped),
                 asio::detached);
  server.until([&] { return behind.fresh() && ahead.fresh(); });
  EXPECT_EQ(first.here, "1");
  EXPECT_EQ(second.here, "2");
  ahead.relist();
  behind.relist();
  server.until([&] { return behind.fresh() && ahead.fresh(); });
  EXPECT_EQ(first.here, "13");
  EXPECT_EQ(second.here, "24");
}

TEST(Informer, BehindInformerNeverRun_ListsAnyway) {
  Silent server;
  Told told;
  Informer never, informer;
  bool stopped = false;
  EventHandlers follower = told.follower();
  follower.behind = &never;
  asio::co_spawn(server.loop, runReflector(*server.client, std::move(follower), informer, &stopped),
                 asio::detached);
  server.until([&] { return informer.fresh(); });
  EXPECT_EQ(told.here, "1");
}

TEST(Informer, ListRefused_FailingSinceAndFaultUntilListed) {
  Silent server;
  Told told;
  Informer informer;
  bool stopped = false;
  server.refuse = true;
  asio::co_spawn(server.loop, runReflector(*server.client, told.follower(), informer, &stopped),
                 asio::detached);
  server.until([&] { return server.lists == 2; });
  ASSERT_TRUE(informer.failingSince().has_value());
  EXPECT_NE(informer.fault().find("403"), std::string::npos) << informer.fault();
  server.refuse = false;
  informer.relist();
  server.until([&] { return informer.fresh(); });
  EXPECT_TRUE(informer.fresh());
  EXPECT_FALSE(informer.failingSince().has_value());
}

TEST(Client, CallNoLongerWanted_NotSent) {
  Silent server;
  bool done = false, sent = true;
  Call call{Verb::kPost, "/things"};
  call.still = [] { return false; };
  asio::co_spawn(
      server.loop,
      [&]() -> asio::awaitable<void> {
        const Result<Reply> reply = co_await server.client->send(std::move(call));
        sent = reply.has_value();
        done = true;
      },
      asio::detached);
  server.until([&] { return done; });
  EXPECT_TRUE(done);
  EXPECT_FALSE(sent);
  EXPECT_EQ(server.lists, 0);
}

TEST(Lease, ObjectOfApi_FieldsRead) {
  const Result<Lease> read = leaseOf(json::parse(
      R"({"metadata":{"name":"l","namespace":"n","uid":"u","resourceVersion":"9"},"spec":{)"
      R"("holderIdentity":"a_1","leaseDurationSeconds":8,"leaseTransitions":4,)"
      R"("renewTime":"2026-01-01T00:00:00.000000Z"}})"));
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->holder, "a_1");
  EXPECT_EQ(read->seconds, 8);
  EXPECT_EQ(read->transitions, 4);
  EXPECT_EQ(read->meta.version, "9");
  EXPECT_EQ(leaseOf(json::parse(R"({"spec":{"holderIdentity":null}})"))->holder, "");
  EXPECT_FALSE(leaseOf(json::parse(R"({"spec":{"leaseTransitions":"4"}})")).has_value());
}

}  // namespace
}  // namespace divvy::kube
