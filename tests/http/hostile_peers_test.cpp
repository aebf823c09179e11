// Peers that connect and say nothing, or begin and never end, do not close a port to others.
// Regressions of the second security review: C10.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>

#include <array>
#include <chrono>
#include <cstring>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <openssl/ssl.h>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include "base/fd.h"
#include "http/server.h"
#include "key_pair.h"

namespace divvy::http {
namespace {

constexpr std::uint64_t kMaxBody = 4u << 20;

class HostilePeers : public testing::Test {
 protected:
  explicit HostilePeers(const Listen& listen = {}) {
    std::vector<Route> routes;
    routes.push_back({"GET", "/healthz", 0, [](Query) -> boost::asio::awaitable<Answer> {
                        co_return Answer{200, "ok\n", "text/plain"};
                      }});
    routes.push_back({"POST", "/filter", kMaxBody, [](Query) -> boost::asio::awaitable<Answer> {
                        co_return Answer{200, "{}"};
                      }});
    auto server = Server::start(loop_.get_executor(), listen, std::move(routes));
    EXPECT_TRUE(server) << server.error().message();
    server_ = std::move(*server);
    thread_ = std::thread([this] { loop_.run(); });
  }
  ~HostilePeers() override {
    loop_.stop();
    thread_.join();
  }

  // From 127.0.0.HOST.
  Fd connected(unsigned host = 1) const {
    Fd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in from{};
    from.sin_family = AF_INET;
    from.sin_addr.s_addr = htonl(INADDR_LOOPBACK - 1 + host);
    EXPECT_EQ(bind(fd.get(), reinterpret_cast<sockaddr*>(&from), sizeof from), 0);
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    to.sin_port = htons(server_->port());
    if (connect(fd.get(), reinterpret_cast<sockaddr*>(&to), sizeof to) != 0) fd.reset();
    return fd;
  }
  static void say(const Fd& fd, const std::string& text) {
    send(fd.get(), text.data(), text.size(), MSG_NOSIGNAL);
  }
  // What comes within `patience`; "<closed>" where the connection ends.
  static std::string heard(const Fd& fd, std::chrono::milliseconds patience) {
    pollfd waiting{fd.get(), POLLIN, 0};
    if (poll(&waiting, 1, static_cast<int>(patience.count())) <= 0) return "<silence>";
    std::array<char, 4096> bytes;
    const ssize_t got = recv(fd.get(), bytes.data(), bytes.size(), 0);
    return got <= 0 ? "<closed>" : std::string(bytes.data(), static_cast<std::size_t>(got));
  }
  bool healthy(unsigned host = 200) const {
    const Fd fd = connected(host);
    say(fd, "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n");
    return heard(fd, std::chrono::seconds(20)).find(" 200 ") != std::string::npos;
  }

  boost::asio::io_context loop_;
  std::unique_ptr<Server> server_;
  std::thread thread_;
};

TEST_F(HostilePeers, ThousandsOfSilentConnections_OthersServed) {
  std::vector<Fd> silent;
  for (unsigned i = 0; i < 3'000; ++i) {
    silent.push_back(connected(1 + i % 100));
    if (i % 500 == 0) {
      ASSERT_TRUE(healthy()) << i;
    }
  }
  EXPECT_TRUE(healthy());
}

TEST_F(HostilePeers, ManyIdleFromOneAddress_OldestClosedOthersKept) {
  std::vector<Fd> silent;
  const auto used = [this] {
    Fd fd = connected(7);
    say(fd, "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n");
    EXPECT_NE(heard(fd, std::chrono::seconds(20)).find(" 200 "), std::string::npos);
    return fd;
  };
  for (unsigned i = 0; i < 128; ++i) silent.push_back(used());
  const Fd other = connected(8);
  say(other, "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_NE(heard(other, std::chrono::seconds(20)).find(" 200 "), std::string::npos);
  EXPECT_EQ(heard(silent.back(), std::chrono::milliseconds(2100)), "<silence>");
  for (unsigned i = 0; i < 8; ++i) silent.push_back(used());
  EXPECT_TRUE(healthy());
  unsigned closed = 0;
  for (unsigned i = 0; i < 8; ++i)
    closed += heard(silent[i], std::chrono::seconds(20)) == "<closed>" ? 1 : 0;
  EXPECT_EQ(closed, 8u) << "the oldest";
  EXPECT_EQ(heard(other, std::chrono::milliseconds(1)), "<silence>") << "another address keeps its";
}

TEST_F(HostilePeers, ThreeHundredAtOnceFromOneAddress_AllAnswered) {
  std::vector<Fd> at_once;
  for (unsigned i = 0; i < 300; ++i) at_once.push_back(connected(9));
  for (const Fd& one : at_once) say(one, "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n");
  unsigned answered = 0;
  for (const Fd& one : at_once)
    answered += heard(one, std::chrono::seconds(20)).find(" 200 ") != std::string::npos ? 1 : 0;
  EXPECT_EQ(answered, 300u);
}

TEST_F(HostilePeers, RequestNeverEnds_ConnectionClosed) {
  const Fd begun = connected();
  say(begun, "GET /healthz HTTP/1.1\r\nHost:");
  EXPECT_EQ(heard(begun, std::chrono::seconds(20)), "<closed>");
}

// Regression: sixteen that announced 4 MiB and sent nothing had everybody else refused.
TEST_F(HostilePeers, AnnouncedBodiesNeverSent_OthersServed) {
  std::vector<Fd> senders;
  for (unsigned i = 0; i < 24; ++i) {
    senders.push_back(connected(1 + i));
    say(senders.back(), "POST /filter HTTP/1.1\r\nHost: a\r\nContent-Length: " +
                            std::to_string(kMaxBody) + "\r\n\r\n{");
  }
  EXPECT_TRUE(healthy());
  unsigned closed = 0;
  for (const Fd& one : senders)
    closed += heard(one, std::chrono::milliseconds(100)) == "<closed>" ? 1 : 0;
  EXPECT_EQ(closed, 8u) << "of 24 times 4 MiB 64 MiB are held, the newest";
  const Fd honest = connected(60);
  const std::string body(kMaxBody, ' ');
  say(honest, "POST /filter HTTP/1.1\r\nHost: a\r\nContent-Length: " + std::to_string(kMaxBody) +
                  "\r\n\r\n" + body);
  EXPECT_NE(heard(honest, std::chrono::seconds(20)).find(" 200 "), std::string::npos);
}

TEST_F(HostilePeers, UsedConnection_KeptBetweenRequests) {
  const Fd fd = connected();
  for (int i = 0; i < 3; ++i) {
    say(fd, "POST /filter HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}");
    EXPECT_NE(heard(fd, std::chrono::seconds(20)).find(" 200 "), std::string::npos) << i;
  }
  say(fd, "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\nGET /healthz HTTP/1.1\r\nHost: a\r\n\r\n");
  std::string both;
  while (both.find("ok", both.find("ok") + 1) == std::string::npos) {
    const std::string more = heard(fd, std::chrono::seconds(20));
    ASSERT_NE(more, "<closed>") << both;
    ASSERT_NE(more, "<silence>") << both;
    both += more;
  }
}

// ---- TLS ----------------------------------------------------------------------------------------

class HostileTlsPeers : public HostilePeers {
 protected:
  HostileTlsPeers()
      : HostilePeers([] {
          Listen listen;
          listen.certificate_comes = true;
          return listen;
        }()) {
    // A server that closes while a client writes.
    signal(SIGPIPE, SIG_IGN);
    const KeyPair pair = keyPair();
    std::promise<bool> used;
    boost::asio::post(
        loop_, [&] { used.set_value(server_->use(pair.certificate, pair.key).has_value()); });
    EXPECT_TRUE(used.get_future().get());
  }

  // Whether the server shakes hands with that address.
  bool shakes(unsigned host) {
    const Fd fd = connected(host);
    if (!fd.valid()) return false;
    const std::unique_ptr<SSL, void (*)(SSL*)> ssl(SSL_new(client_.get()), SSL_free);
    SSL_set_fd(ssl.get(), fd.get());
    return SSL_connect(ssl.get()) == 1;
  }

  const std::unique_ptr<SSL_CTX, void (*)(SSL_CTX*)> client_{SSL_CTX_new(TLS_client_method()),
                                                             SSL_CTX_free};
};

// Regression: one peer that shook hands in a loop had the processor of the loop that serves all.
TEST_F(HostileTlsPeers, HandshakesInLoop_AddressLimitedOthersServed) {
  const auto begun = std::chrono::steady_clock::now();
  unsigned shaken = 0;
  constexpr unsigned kTries = 600;
  for (unsigned i = 0; i < kTries; ++i) shaken += shakes(2) ? 1 : 0;
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begun;
  EXPECT_GE(shaken, 200u) << "an API server opens a hundred at once";
  EXPECT_LE(shaken, 258 + static_cast<unsigned>(20 * took.count()));
  EXPECT_TRUE(shakes(3));
}

}  // namespace
}  // namespace divvy::http
