// A server on the loopback interface, with its loop on a thread of its own, and raw clients.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include "base/fd.h"
#include "http/server.h"

namespace divvy::http {

inline constexpr std::chrono::seconds kPatience{20};

class Loopback {
 public:
  Loopback(const Listen& listen, std::vector<Route> routes) {
    auto server = Server::start(loop_.get_executor(), listen, std::move(routes));
    EXPECT_TRUE(server) << server.error().message();
    server_ = std::move(*server);
    port_ = server_->port();
    thread_ = std::thread([this] { loop_.run(); });
  }
  ~Loopback() {
    inLoop([this] { server_.reset(); });
    loop_.stop();
    thread_.join();
  }
  Loopback(const Loopback&) = delete;
  Loopback& operator=(const Loopback&) = delete;

  // Runs on the loop's thread, and returns what `work` returns.
  template <typename Work>
  std::invoke_result_t<Work> inLoop(Work work) {
    // The loop may still be in the task when the result is there.
    auto task = std::make_shared<std::packaged_task<std::invoke_result_t<Work>()>>(std::move(work));
    auto result = task->get_future();
    boost::asio::post(loop_, [task] { (*task)(); });
    return result.get();
  }
  void stopServer() {
    inLoop([this] { server_.reset(); });
  }
  std::uint16_t port() const { return port_; }
  bool use(const std::string& certificate, const std::string& key) {
    return inLoop([&] { return server_->use(certificate, key).has_value(); });
  }

  // Waits until `condition` holds on the loop's thread. Returns false after kPatience.
  template <typename Condition>
  bool holds(Condition condition) {
    for (const auto until = std::chrono::steady_clock::now() + kPatience;
         std::chrono::steady_clock::now() < until;) {
      if (inLoop(condition)) return true;
      std::this_thread::yield();
    }
    return false;
  }

 private:
  boost::asio::io_context loop_;
  // The loop goes on without a server.
  const boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_{
      loop_.get_executor()};
  std::unique_ptr<Server> server_;
  std::uint16_t port_ = 0;
  std::thread thread_;
};

// A client that sends and receives bytes as they are, from 127.0.0.HOST.
class RawClient {
 public:
  // `receive_buffer` in bytes; 0: the kernel's choice.
  explicit RawClient(const Loopback& server, unsigned host = 1, int receive_buffer = 0)
      : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    if (receive_buffer > 0)
      setsockopt(fd_.get(), SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
    sockaddr_in from{};
    from.sin_family = AF_INET;
    from.sin_addr.s_addr = htonl(INADDR_LOOPBACK - 1 + host);
    EXPECT_EQ(bind(fd_.get(), reinterpret_cast<sockaddr*>(&from), sizeof from), 0);
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    to.sin_port = htons(server.port());
    EXPECT_EQ(connect(fd_.get(), reinterpret_cast<sockaddr*>(&to), sizeof to), 0);
  }

  void send(const std::string& text) { ::send(fd_.get(), text.data(), text.size(), MSG_NOSIGNAL); }
  void hangUp() { fd_.reset(); }
  int fd() const { return fd_.get(); }

  // Returns everything up to and with `mark`, or all until the connection ends or is silent for
  // kPatience. `ended` tells which.
  std::string until(const std::string& mark) {
    while (kept_.find(mark) == kept_.npos && receive()) {
    }
    const std::size_t at = kept_.find(mark);
    const std::size_t size = at == kept_.npos ? kept_.size() : at + mark.size();
    std::string text = kept_.substr(0, size);
    kept_.erase(0, size);
    return text;
  }
  // Returns all until the connection ends.
  std::string all() {
    while (receive()) {
    }
    return std::exchange(kept_, {});
  }
  bool ended() const { return ended_; }

  // Sends a request and returns the reply: its header, and a body of its Content-Length.
  std::string ask(const std::string& request) {
    send(request);
    std::string text = until("\r\n\r\n");
    const std::string name = "Content-Length: ";
    const std::size_t at = text.find(name);
    if (at == text.npos || request.starts_with("HEAD ")) return text;
    const std::size_t size = std::stoul(text.substr(at + name.size()));
    while (kept_.size() < size && receive()) {
    }
    text += kept_.substr(0, size);
    kept_.erase(0, size);
    return text;
  }

 private:
  bool receive() {
    pollfd waiting{fd_.get(), POLLIN, 0};
    if (poll(&waiting, 1, static_cast<int>(std::chrono::milliseconds(kPatience).count())) <= 0)
      return false;
    char bytes[16'384];
    const ssize_t got = recv(fd_.get(), bytes, sizeof bytes, 0);
    ended_ = got <= 0;
    if (got > 0) kept_.append(bytes, static_cast<std::size_t>(got));
    return got > 0;
  }

  Fd fd_;
  std::string kept_;
  bool ended_ = false;
};

}  // namespace divvy::http
