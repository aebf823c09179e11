// One connection to an API server, for one exchange after the other. Private.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <variant>

#include "client/asio.h"
#include "kube/access.h"
#include "kube/call.h"

namespace divvy::kube {

// Whom we believe and who we are.
Result<std::shared_ptr<asio::ssl::context>> tlsContext(const Access& access);

// Of a reply without end.
struct LineHandler {
  std::function<void()> opened;  // its head has come, and is a success; may be empty
  std::function<bool(std::string_view)> line;
};

class Connection {
 public:
  Connection(asio::any_io_executor executor, std::shared_ptr<asio::ssl::context> tls);

  asio::awaitable<Result<void>> connect(const Access& access, std::chrono::milliseconds bound);
  asio::awaitable<Result<Reply>> exchange(const Access& access, const Call& call,
                                          const std::string& token,
                                          std::chrono::milliseconds bound);
  // Of a reply without end: each line as it comes, until the server ends it, `line` returns false,
  // or nothing has come for `quiet`. Of a status that is no success: the reply, without lines.
  asio::awaitable<Result<Reply>> follow(const Access& access, const Call& call,
                                        const std::string& token, std::chrono::seconds quiet,
                                        LineHandler taker);
  // Whatever is under way fails.
  void cut();

  // Has not been used for anything that could have broken it.
  bool reusable() const { return reusable_; }
  // Nothing of an answer has come: on a connection that was kept open the server may have closed
  // it before it saw the call.
  bool unanswered() const { return unanswered_; }

 private:
  using Plain = beast::tcp_stream;
  using Tls = beast::ssl_stream<beast::tcp_stream>;
  template <typename Stream>
  asio::awaitable<Result<Reply>> exchangeOn(Stream& stream,
                                            http::request<http::string_body> request,
                                            std::chrono::milliseconds bound);
  template <typename Stream>
  asio::awaitable<Result<Reply>> followOn(Stream& stream, http::request<http::string_body> request,
                                          std::chrono::seconds quiet, LineHandler taker);
  Plain& lowest();

  std::shared_ptr<asio::ssl::context> tls_;
  std::variant<Plain, Tls> stream_;
  beast::flat_buffer buffer_;
  bool reusable_ = false;
  bool unanswered_ = false;
};

}  // namespace divvy::kube
