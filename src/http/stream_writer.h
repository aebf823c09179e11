// Sends a stream over a connection. Private.
#pragma once

#include <array>
#include <charconv>
#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/stream_traits.hpp>

#include "connection.h"
#include "stream_state.h"

namespace divvy::http {

// Sends until application, client or server ends the stream. The connection ends with it. The
// writer's members live in the frame of the coroutine that calls run().
template <typename Wire>
class StreamWriter {
 public:
  StreamWriter(Wire* wire, ServerState* server, std::shared_ptr<Stream::State> stream, bool chunked)
      : wire_(*wire),
        server_(*server),
        stream_(std::move(stream)),
        chunked_(chunked),
        wake_(server->executor, boost::asio::steady_timer::time_point::max()) {
    server_.streams.insert(stream_);
    stream_->changed = [this] {
      if (stream_->phase == Stream::State::Phase::kClosed) lowest().close();
      wake_.cancel();
    };
  }
  ~StreamWriter() {
    stream_->changed = nullptr;
    stream_->fail();
    server_.streams.erase(stream_);
  }
  StreamWriter(const StreamWriter&) = delete;
  StreamWriter& operator=(const StreamWriter&) = delete;

  boost::asio::awaitable<void> run() {
    boundKernel();
    listen();
    while (stream_->phase != Stream::State::Phase::kClosed) {
      if (!stream_->queued.empty()) {
        co_await send(stream_->take());
        stream_->sent();
      } else if (stream_->phase == Stream::State::Phase::kOpen) {
        co_await wake_.async_wait(kNoThrow);
      } else {
        if (chunked_) co_await write("0\r\n\r\n", {}, {});
        stream_->phase = Stream::State::Phase::kClosed;
      }
    }
    boost::system::error_code ignored;
    lowest().socket().shutdown(boost::asio::socket_base::shutdown_send, ignored);
    lowest().close();
    while (listens_) co_await wake_.async_wait(kNoThrow);
  }

 private:
  boost::beast::tcp_stream& lowest() { return boost::beast::get_lowest_layer(wire_); }

  // Bounds what the kernel holds for a client that reads slowly or is gone.
  void boundKernel() {
    const int fd = lowest().socket().native_handle();
    const int bytes = static_cast<int>(kMaxOutstanding);
    setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
    const auto ms =
        static_cast<unsigned>(std::chrono::milliseconds(server_.listen.transfer).count());
    setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &ms, sizeof ms);
  }

  // A client has nothing to say before the stream's end: whatever comes ends it.
  void listen() {
    listens_ = true;
    lowest().expires_never();
    wire_.async_read_some(boost::asio::buffer(heard_),
                          [this](const boost::system::error_code&, std::size_t) {
                            listens_ = false;
                            stream_->fail();
                            wake_.cancel();
                          });
  }

  boost::asio::awaitable<void> send(std::string bytes) {
    if (!chunked_) {
      co_await write({}, bytes, {});
      co_return;
    }
    std::array<char, 24> size;
    char* end = std::to_chars(size.data(), size.data() + size.size() - 2, bytes.size(), 16).ptr;
    *end++ = '\r', *end++ = '\n';
    co_await write({size.data(), end}, bytes, "\r\n");
  }

  boost::asio::awaitable<void> write(std::string_view head, std::string_view bytes,
                                     std::string_view tail) {
    const std::array<boost::asio::const_buffer, 3> buffers{
        boost::asio::buffer(head), boost::asio::buffer(bytes), boost::asio::buffer(tail)};
    // While the read is pending these two set the time of writes only.
    lowest().expires_after(server_.listen.transfer);
    auto [unsent, sent] = co_await boost::asio::async_write(wire_, buffers, kNoThrow);
    (void)sent;
    if (unsent)
      stream_->fail();
    else if (lowest().socket().is_open())
      lowest().expires_never();
  }

  Wire& wire_;
  ServerState& server_;
  const std::shared_ptr<Stream::State> stream_;
  const bool chunked_;
  boost::asio::steady_timer wake_;
  std::array<char, 1> heard_{};
  bool listens_ = false;
};

}  // namespace divvy::http
