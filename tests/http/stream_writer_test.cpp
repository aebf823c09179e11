#include "stream_writer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <openssl/ssl.h>

#include "key_pair.h"
#include "loopback.h"

namespace divvy::http {
namespace {

using boost::asio::awaitable;

const std::string kStream = "GET /stream HTTP/1.1\r\nHost: a\r\n\r\n";
const std::string kHealth = "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n";

Listen bounded() {
  Listen listen;
  listen.max_streams_of_address = 3;
  listen.max_streams = 5;
  return listen;
}

// An application that keeps a stream for each client. Its members are the loop's.
class StreamWriterTest : public testing::Test {
 protected:
  explicit StreamWriterTest(const Listen& listen = bounded()) : server_(listen, routes()) {}
  std::vector<Route> routes() {
    const auto stream = [this](Query) -> awaitable<Answer> {
      Answer answer{200, {}, "text/event-stream"};
      answer.stream = Stream::make();
      answer.stream->push("first\n");
      answer.stream->onClosed([this] { ++closed_; });
      streams_.push_back(answer.stream);
      co_return answer;
    };
    return {
        {"GET", "/stream", 0, stream},
        {"POST", "/stream", 64, stream},
        {"GET", "/healthz", 0, [](Query) -> awaitable<Answer> { co_return plainText(200, "ok"); }}};
  }
  // Clears what has the loop's objects while the loop runs.
  ~StreamWriterTest() override {
    server_.inLoop([this] {
      for (const auto& stream : streams_) stream->onClosed(nullptr);
      streams_.clear();
    });
  }

  Stream::Push push(const std::string& text, std::size_t which = 0) {
    return server_.inLoop([&] { return streams_.at(which)->push(text); });
  }
  bool awaitClosed(unsigned count) {
    return server_.holds([&] { return closed_ == count; });
  }
  bool healthy(unsigned host = 200) {
    return RawClient(server_, host).ask(kHealth).starts_with("HTTP/1.1 200 ");
  }
  // Pushes until the stream is full. Returns the bytes.
  std::size_t fill() {
    const std::string chunk(1'000, 'x');
    std::size_t bytes = 0;
    EXPECT_TRUE(server_.holds([&] {
      while (streams_.at(0)->push(chunk) == Stream::Push::kQueued) bytes += chunk.size();
      // What the kernel takes makes room once more; it is full when that no longer happens.
      return std::exchange(filled_, bytes) == bytes && ++same_ > 2'000;
    }));
    return bytes;
  }

  std::vector<std::shared_ptr<Stream>> streams_;
  unsigned closed_ = 0;
  std::size_t filled_ = 0;
  unsigned same_ = 0;
  Loopback server_;
};

TEST_F(StreamWriterTest, Pushed_ArrivesInChunks) {
  RawClient client(server_);
  client.send(kStream);
  const std::string head = client.until("\r\n\r\n");
  EXPECT_NE(head.find("\r\nTransfer-Encoding: chunked\r\n"), head.npos) << head;
  EXPECT_NE(head.find("\r\nContent-Type: text/event-stream\r\n"), head.npos) << head;
  EXPECT_EQ(client.until("first\n\r\n"), "6\r\nfirst\n\r\n");
  EXPECT_EQ(push("data: 1234567\n\n"), Stream::Push::kQueued);
  EXPECT_EQ(client.until("\n\n\r\n"), "f\r\ndata: 1234567\n\n\r\n");
  EXPECT_TRUE(server_.holds([&] { return streams_[0]->outstanding() == 0; }));
  push("last");
  server_.inLoop([&] { streams_[0]->close(); });
  EXPECT_EQ(client.all(), "4\r\nlast\r\n0\r\n\r\n");
  EXPECT_TRUE(client.ended());
  EXPECT_EQ(server_.inLoop([&] { return closed_; }), 0u);
  EXPECT_EQ(push("later"), Stream::Push::kClosed);
}

TEST_F(StreamWriterTest, OldClient_BytesWithoutChunks) {
  RawClient client(server_);
  client.send("GET /stream HTTP/1.0\r\n\r\n");
  EXPECT_EQ(client.until("\r\n\r\n").find("chunked"), std::string::npos);
  server_.inLoop([&] { streams_[0]->close(); });
  EXPECT_EQ(client.all(), "first\n");
}

TEST_F(StreamWriterTest, ApplicationDropsStream_BodyEnds) {
  RawClient client(server_);
  client.send(kStream);
  client.until("first\n");
  server_.inLoop([&] { streams_.clear(); });
  EXPECT_EQ(client.all(), "\r\n0\r\n\r\n");
}

TEST_F(StreamWriterTest, ClientGone_ApplicationTold) {
  RawClient client(server_);
  client.send(kStream);
  client.until("first\n");
  client.hangUp();
  EXPECT_TRUE(awaitClosed(1));
  EXPECT_EQ(push("more"), Stream::Push::kClosed);
}

TEST_F(StreamWriterTest, ClientSendsMore_Closed) {
  RawClient client(server_);
  client.send(kStream);
  client.until("first\n");
  client.send("GET / HTTP/1.1\r\n");
  EXPECT_TRUE(awaitClosed(1));
  RawClient pipelined(server_);
  pipelined.send(kStream + kHealth);
  EXPECT_TRUE(awaitClosed(2));
  EXPECT_EQ(pipelined.all().find("ok"), std::string::npos);
}

TEST_F(StreamWriterTest, Head_NoStreamFollows) {
  RawClient client(server_);
  client.send("HEAD /stream HTTP/1.1\r\nHost: a\r\n\r\n");
  const std::string all = client.all();
  EXPECT_TRUE(all.starts_with("HTTP/1.1 200 ")) << all;
  EXPECT_TRUE(all.ends_with("\r\n\r\n")) << all;
  EXPECT_TRUE(awaitClosed(1));
}

TEST_F(StreamWriterTest, ServerDestroyed_StreamsClosed) {
  RawClient client(server_);
  client.send(kStream);
  client.until("first\n");
  server_.stopServer();
  EXPECT_EQ(server_.inLoop([&] { return closed_; }), 1u);
  client.all();
  EXPECT_TRUE(client.ended());
}

class StreamsBehindProxy : public StreamWriterTest {
 protected:
  StreamsBehindProxy() : StreamWriterTest(behindProxy()) {}
  static Listen behindProxy() {
    Listen listen = bounded();
    listen.proxies = *TrustedProxies::parse({"127.0.0.5"});
    return listen;
  }
  static std::string streamFor(const std::string& client) {
    return "GET /stream HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: " + client + "\r\n\r\n";
  }
};

// Regression: all viewers behind an Ingress shared the streams of one address.
TEST_F(StreamsBehindProxy, ManyClients_EachHasStreamsOfItsOwn) {
  std::vector<RawClient> clients;
  for (int i = 0; i < 5; ++i) {
    clients.emplace_back(server_, 5);
    clients.back().send(streamFor("198.51.100." + std::to_string(i / 2)));
    EXPECT_TRUE(clients.back().until("first\n").starts_with("HTTP/1.1 200 ")) << i;
  }
  // A sixth one of all.
  EXPECT_TRUE(RawClient(server_, 5).ask(streamFor("198.51.100.9")).starts_with("HTTP/1.1 503 "));
}

TEST_F(StreamsBehindProxy, ManyStreamsOfClient_Refused) {
  std::vector<RawClient> clients;
  for (int i = 0; i < 3; ++i) {
    clients.emplace_back(server_, 5);
    clients.back().send(streamFor("203.0.113." + std::to_string(i) + ", 198.51.100.1"));
    EXPECT_TRUE(clients.back().until("first\n").starts_with("HTTP/1.1 200 ")) << i;
  }
  EXPECT_TRUE(RawClient(server_, 5).ask(streamFor("198.51.100.1")).starts_with("HTTP/1.1 429 "));
  EXPECT_TRUE(awaitClosed(1)) << "the refused one";
}

TEST_F(StreamsBehindProxy, OtherAddress_MayNotNameClients) {
  std::vector<RawClient> clients;
  for (int i = 0; i < 3; ++i) {
    clients.emplace_back(server_, 6);
    clients.back().send(streamFor("198.51.100." + std::to_string(i)));
    EXPECT_TRUE(clients.back().until("first\n").starts_with("HTTP/1.1 200 ")) << i;
  }
  EXPECT_TRUE(RawClient(server_, 6).ask(streamFor("198.51.100.9")).starts_with("HTTP/1.1 429 "));
}

TEST_F(StreamWriterTest, TooManyOfAddress_RefusedUntilOneEnds) {
  std::vector<RawClient> clients;
  for (int i = 0; i < 3; ++i) {
    clients.emplace_back(server_, 5);
    clients.back().send(kStream);
    EXPECT_TRUE(clients.back().until("first\n").starts_with("HTTP/1.1 200 ")) << i;
  }
  EXPECT_TRUE(RawClient(server_, 5).ask(kStream).starts_with("HTTP/1.1 429 "));
  EXPECT_TRUE(awaitClosed(1)) << "the refused one";
  RawClient other(server_, 6);
  other.send(kStream);
  EXPECT_TRUE(other.until("first\n").starts_with("HTTP/1.1 200 "));
  RawClient fifth(server_, 7);
  fifth.send(kStream);
  EXPECT_TRUE(fifth.until("first\n").starts_with("HTTP/1.1 200 "));
  EXPECT_TRUE(RawClient(server_, 8).ask(kStream).starts_with("HTTP/1.1 503 "));
  EXPECT_TRUE(healthy()) << "requests are answered still";
  EXPECT_TRUE(awaitClosed(2));
  clients.pop_back();
  EXPECT_TRUE(awaitClosed(3));
  RawClient next(server_, 5);
  next.send(kStream);
  EXPECT_TRUE(next.until("first\n").starts_with("HTTP/1.1 200 "));
}

TEST_F(StreamWriterTest, SlowReader_FullAndOthersServed) {
  RawClient slow(server_, 5, 4'096);
  slow.send(kStream);
  slow.until("first\n");
  const std::size_t bytes = fill();
  EXPECT_LE(bytes, 1'000'000u) << "bounded in the server and in the kernel";
  EXPECT_EQ(server_.inLoop([&] { return streams_[0]->outstanding(); }) / 1'000, 65u);
  EXPECT_EQ(push(std::string(1'000, 'x')), Stream::Push::kFull);
  RawClient quick(server_, 6);
  quick.send(kStream);
  quick.until("first\n");
  for (int i = 0; i < 100; ++i) {
    ASSERT_EQ(push("tick " + std::to_string(i) + '\n', 1), Stream::Push::kQueued);
    ASSERT_NE(quick.until("tick " + std::to_string(i) + '\n'), "") << i;
  }
  EXPECT_TRUE(healthy());
  // The slow one gets all that was queued, in order, and then more fits.
  server_.inLoop([&] { streams_[0]->close(); });
  const std::string rest = slow.all();
  EXPECT_EQ(static_cast<std::size_t>(std::count(rest.begin(), rest.end(), 'x')), bytes);
  EXPECT_TRUE(rest.ends_with("0\r\n\r\n"));
}

TEST_F(StreamWriterTest, SlowReaderGone_RoomAgain) {
  {
    RawClient slow(server_, 5, 4'096);
    slow.send(kStream);
    slow.until("first\n");
    fill();
  }
  EXPECT_TRUE(awaitClosed(1)) << "though a write was pending";
}

// Whatever the order of pushes, ends and reads: all clients end, and the server goes on.
TEST_F(StreamWriterTest, ManyClientsComeAndGo_NoSlotIsLost) {
  for (unsigned round = 0; round < 200; ++round) {
    RawClient client(server_, 5 + round % 2);
    client.send(round % 3 == 0 ? "POST /stream HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}"
                               : kStream);
    ASSERT_TRUE(client.until("first\n").starts_with("HTTP/1.1 200 ")) << round;
    push(std::string(1 + round * 100, 'x'), streams_.size() - 1);
    if (round % 4 == 0) client.until("x");
    if (round % 4 == 1) server_.inLoop([&] { streams_.back()->close(); });
    if (round % 4 == 2) server_.inLoop([&] { streams_.back().reset(), streams_.pop_back(); });
    if (round % 4 == 1) client.all();
    client.hangUp();
    const unsigned gone = (round / 4) * 2 + (round % 4 == 3 ? 2 : 1);
    ASSERT_TRUE(awaitClosed(gone)) << round;
  }
}

class StreamWriterTimes : public StreamWriterTest {
 protected:
  StreamWriterTimes()
      : StreamWriterTest([] {
          Listen listen = bounded();
          listen.transfer = std::chrono::seconds(1);
          return listen;
        }()) {}
};

TEST_F(StreamWriterTimes, NothingRead_ClosedInTime) {
  RawClient slow(server_, 5, 4'096);
  slow.send(kStream);
  slow.until("first\n");
  RawClient quick(server_, 6);
  quick.send(kStream);
  quick.until("first\n");
  fill();
  EXPECT_TRUE(awaitClosed(1));
  EXPECT_FALSE(server_.inLoop([&] { return streams_[0]->open(); }));
  EXPECT_EQ(push("tick\n", 1), Stream::Push::kQueued) << "a client without news is kept";
  EXPECT_TRUE(quick.until("tick\n").ends_with("tick\n"));
}

// ---- TLS ----------------------------------------------------------------------------------------

class TlsStreamWriterTest : public StreamWriterTest {
 protected:
  TlsStreamWriterTest()
      : StreamWriterTest([] {
          Listen listen = bounded();
          listen.certificate_comes = true;
          return listen;
        }()) {
    const KeyPair pair = keyPair();
    EXPECT_TRUE(server_.use(pair.certificate, pair.key));
    client_.emplace(server_);
    SSL_set_fd(ssl_.get(), client_->fd());
    EXPECT_EQ(SSL_connect(ssl_.get()), 1);
    EXPECT_EQ(SSL_write(ssl_.get(), kStream.data(), static_cast<int>(kStream.size())),
              static_cast<int>(kStream.size()));
  }

  // Returns what comes up to and with `mark`, or until the connection ends.
  std::string until(const std::string& mark) {
    std::string text;
    char byte = 0;
    while (!text.ends_with(mark) && SSL_read(ssl_.get(), &byte, 1) == 1) text += byte;
    return text;
  }

  const std::unique_ptr<SSL_CTX, void (*)(SSL_CTX*)> context_{SSL_CTX_new(TLS_client_method()),
                                                              SSL_CTX_free};
  const std::unique_ptr<SSL, void (*)(SSL*)> ssl_{SSL_new(context_.get()), SSL_free};
  std::optional<RawClient> client_;
};

TEST_F(TlsStreamWriterTest, Pushed_ArrivesUntilClosed) {
  EXPECT_TRUE(until("first\n\r\n").starts_with("HTTP/1.1 200 "));
  for (int i = 0; i < 100; ++i) {
    const std::string tick = "tick " + std::to_string(i) + '\n';
    ASSERT_EQ(push(tick), Stream::Push::kQueued);
    ASSERT_TRUE(until(tick).ends_with(tick)) << i;
  }
  server_.inLoop([&] { streams_[0]->close(); });
  EXPECT_EQ(until("0\r\n\r\n"), "\r\n0\r\n\r\n");
  EXPECT_EQ(until("more"), "");
}

TEST_F(TlsStreamWriterTest, ClientGone_ApplicationTold) {
  until("first\n");
  client_->hangUp();
  EXPECT_TRUE(awaitClosed(1));
}

}  // namespace
}  // namespace divvy::http
