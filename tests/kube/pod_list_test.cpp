// Listing and following pods, of servers that write protobuf, write it wrongly, or have none.
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

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
#include "pod_writer.h"

namespace divvy::kube {
namespace {

namespace asio = boost::asio;
namespace json = boost::json;
using asio::ip::tcp;

constexpr std::chrono::seconds kBound{30};

enum class Speaks { kProtobuf, kOnlyJson, kWrongly, kNo };

// Two pods, "1" and "2", on two pages; its watches are silent, and stay.
class PodServer {
 public:
  explicit PodServer(Speaks speaks)
      : speaks_(speaks), acceptor_(loop, {asio::ip::make_address("127.0.0.1"), 0}) {
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
  std::vector<std::string> asked;  // "1p", "2j": which page, in what
  int watches = 0;
  bool second_is_gone = false;

 private:
  asio::awaitable<void> accept() {
    for (;;) {
      tcp::socket socket = co_await acceptor_.async_accept(asio::use_awaitable);
      asio::co_spawn(loop, serve(std::move(socket)), asio::detached);
    }
  }

  asio::awaitable<void> serve(tcp::socket socket) {
    std::string head;
    boost::system::error_code gone;
    co_await asio::async_read_until(socket, asio::dynamic_buffer(head), "\r\n\r\n",
                                    asio::redirect_error(asio::use_awaitable, gone));
    const bool watch = head.find("watch=1") != std::string::npos;
    if (watch) ++watches;
    const std::string said =
        watch ? "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" : page(head);
    co_await asio::async_write(socket, asio::buffer(said),
                               asio::redirect_error(asio::use_awaitable, gone));
    char byte = 0;
    if (watch)
      co_await socket.async_read_some(asio::buffer(&byte, 1),
                                      asio::redirect_error(asio::use_awaitable, gone));
  }

  std::string page(const std::string& head) {
    const bool second = head.find("continue=next") != std::string::npos;
    const bool protobuf = head.find("vnd.kubernetes.protobuf") != std::string::npos;
    asked.push_back(std::string(second ? "2" : "1") + (protobuf ? "p" : "j"));
    if (speaks_ == Speaks::kNo) return refusal(protobuf);
    json::object meta{{"resourceVersion", "7"}};
    if (!second) meta["continue"] = "next";
    json::array items;
    if (!second || !second_is_gone)
      items.push_back(json::object{{"metadata", {{"uid", second ? "2" : "1"}, {"name", "n"}}}});
    const json::object list{{"metadata", std::move(meta)}, {"items", std::move(items)}};
    std::string body = json::serialize(list);
    if (protobuf && speaks_ != Speaks::kOnlyJson) body = podListBytes(list);
    // One byte less: what is behind it says nothing.
    if (protobuf && second && speaks_ == Speaks::kWrongly) body = body.substr(0, body.size() - 5);
    return "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: " +
           std::to_string(body.size()) + "\r\n\r\n" + body;
  }

  static std::string refusal(bool protobuf) {
    const std::string body =
        protobuf ? std::string("k8s\0\n\x0b\n\x02v1", 11)
                 : R"({"kind":"Status","reason":"Forbidden","message":"pods is forbidden"})";
    return "HTTP/1.1 403 Forbidden\r\nConnection: close\r\nContent-Length: " +
           std::to_string(body.size()) + "\r\n\r\n" + body;
  }

  Speaks speaks_;
  tcp::acceptor acceptor_;
};

struct Told {
  std::string as_json, as_pod, gone;  // UIDs
  std::string trouble;
  int synced = 0;

  EventHandlers follower() {
    EventHandlers made;
    made.path = "/api/v1/pods";
    made.set = [this](const json::value& object) { as_json += metaOf(object)->uid; };
    made.pod = [this](const Pod& pod) { as_pod += pod.meta.uid; };
    made.gone = [this](const std::string& uid, const std::string&) { gone += uid; };
    made.synced = [this] { ++synced; };
    made.trouble = [this](const Error& error) { trouble += error.message(); };
    return made;
  }
};

struct Followed {
  explicit Followed(Speaks speaks) : server(speaks) {
    asio::co_spawn(server.loop, runReflector(*server.client, told.follower(), informer, &stopped),
                   asio::detached);
    server.until([&] { return server.watches == 1; });
  }

  Told told;
  Informer informer;
  bool stopped = false;
  PodServer server;  // ends first
};

TEST(PodList, ServerWithProtobuf_PodsFromProtobuf) {
  Followed one(Speaks::kProtobuf);
  EXPECT_EQ(one.told.as_pod, "12");
  EXPECT_EQ(one.told.as_json, "");
  EXPECT_EQ(one.told.trouble, "");
  EXPECT_EQ(one.told.synced, 1);
  EXPECT_EQ(one.server.asked, (std::vector<std::string>{"1p", "2p"}));
}

TEST(PodList, ServerWithoutProtobuf_PodsFromJson) {
  Followed one(Speaks::kOnlyJson);
  EXPECT_EQ(one.told.as_pod, "");
  EXPECT_EQ(one.told.as_json, "12");
  EXPECT_EQ(one.told.trouble, "");
  EXPECT_EQ(one.told.synced, 1);
}

TEST(PodList, UnreadablePage_RequestedAgainAsJson) {
  Followed one(Speaks::kWrongly);
  EXPECT_EQ(one.told.as_pod, "1");
  EXPECT_EQ(one.told.as_json, "2");
  EXPECT_NE(one.told.trouble.find("protobuf"), std::string::npos) << one.told.trouble;
  EXPECT_EQ(one.told.synced, 1);
  EXPECT_EQ(one.server.asked, (std::vector<std::string>{"1p", "2p", "2j"}));
}

// Found in review: an account without the right was told so in bytes that nobody can read.
TEST(PodList, ListForbidden_ReasonReadFromJson) {
  Told told;
  Informer informer;
  bool stopped = false;
  PodServer server(Speaks::kNo);
  asio::co_spawn(server.loop, runReflector(*server.client, told.follower(), informer, &stopped),
                 asio::detached);
  server.until([&] { return informer.failingSince().has_value(); });
  EXPECT_NE(informer.fault().find("403 Forbidden: pods is forbidden"), std::string::npos)
      << informer.fault();
  EXPECT_EQ(server.asked, (std::vector<std::string>{"1p", "1j"}));
}

TEST(PodList, PodMissingInNextList_ToldAsGone) {
  Followed one(Speaks::kProtobuf);
  one.server.second_is_gone = true;
  one.informer.relist();
  one.server.until([&] { return one.server.watches == 2; });
  EXPECT_EQ(one.told.as_pod, "121");
  EXPECT_EQ(one.told.gone, "2");
}

// Regression: a lease that came while all was listed made all be listed to its end, and then again.
TEST(PodList, RelistDuringList_StartsOverAtOnce) {
  Told told;
  Informer informer;
  bool stopped = false;
  PodServer server(Speaks::kProtobuf);
  EventHandlers follower = told.follower();
  follower.pod = [&](const Pod& pod) {
    told.as_pod += pod.meta.uid;
    if (told.as_pod == "1") informer.relist();
  };
  asio::co_spawn(server.loop, runReflector(*server.client, follower, informer, &stopped),
                 asio::detached);
  server.until([&] { return server.watches == 1; });
  EXPECT_TRUE(informer.fresh());
  EXPECT_EQ(told.as_pod, "112");
  EXPECT_EQ(told.synced, 1);
  EXPECT_EQ(server.asked, (std::vector<std::string>{"1p", "2p", "1p", "2p"}));
}

}  // namespace
}  // namespace divvy::kube
