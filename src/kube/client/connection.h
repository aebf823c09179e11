// One HTTP connection to an API server, for one exchange at a time. Private.
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

// Returns a TLS context with the trusted authorities and the client's certificate. kUsage: which of
// them cannot be used.
Result<std::shared_ptr<asio::ssl::context>> tlsContext(const Access& access);

// Handler of a reply without end.
struct LineHandler {
  // Called when the header of a successful reply has arrived; may be empty.
  std::function<void()> opened;
  std::function<bool(std::string_view)> line;
};

class Connection {
 public:
  Connection(asio::any_io_executor executor, std::shared_ptr<asio::ssl::context> tls);

  asio::awaitable<Result<void>> connect(const Access& access, std::chrono::milliseconds bound);
  asio::awaitable<Result<Reply>> exchange(const Access& access, const Call& call,
                                          const std::string& token,
                                          std::chrono::milliseconds bound);
  // Sends a call and passes each line of the reply to `line`. Ends when the server ends the reply,
  // `line` returns false, or nothing arrives for `quiet`. For a status without success it calls no
  // handler and returns the reply with its body.
  asio::awaitable<Result<Reply>> follow(const Access& access, const Call& call,
                                        const std::string& token, std::chrono::seconds quiet,
                                        LineHandler taker);
  // Closes the connection; the exchange in progress fails.
  void cut();

  // Returns whether another exchange may use the connection: the last one was complete.
  bool reusable() const { return reusable_; }
  // Returns whether no part of a reply has arrived. The server may have closed a kept connection
  // before it read the call.
  bool unanswered() const { return unanswered_; }

 private:
  using Plain = beast::tcp_stream;
  using Tls = beast::ssl_stream<beast::tcp_stream>;
  template <typename Stream>
  asio::awaitable<Result<Reply>> exchangeOn(Stream& stream,
                                            http::request<http::string_body> request,
                                            std::uint64_t most, std::chrono::milliseconds bound);
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
