// Answers HTTP on one address, with TLS or without.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include "base/result.h"

namespace divvy::http {

struct Query {
  std::string target;        // path and what is behind '?'
  std::string content_type;  // as it was said
  std::string body;
};

struct Answer {
  unsigned status = 200;
  std::string body;
  std::string type = "application/json";
};

struct Route {
  std::string method;  // "GET", "POST"
  std::string path;
  std::uint64_t most_body = 0;  // bytes; more is answered with 413
  std::function<boost::asio::awaitable<Answer>(Query)> answer;
};

struct Listen {
  std::string host = "127.0.0.1";
  std::uint16_t port = 0;                  // 0: any that is free
  std::string certificate_file, key_file;  // PEM; both empty: without TLS, but for
  bool certificate_comes = false;          // with TLS from use() on; before, nobody is answered
  std::chrono::seconds idle{120};          // what a connection may be silent
};

// Bounds: 1,024 connections, 128 idle ones of an address (older than 2 s), a handshake and a header
// within 5 s each, a body and a reply within 30 s, bodies of 64 MiB together, or of twice the
// largest; TLS handshakes: 20 a second of an address after the first 256, 200 of all after 1,024.
// When a bound is reached the connection that was idle for longest is closed, never the
// newest. For one thread, that of the executor. Connections are kept open for the next query. What
// is not among the routes is 404, another method 405, a query that is none 400.
class Server {
 public:
  // kIo: the address cannot be had; kUsage: certificate or key cannot be used.
  static Result<std::unique_ptr<Server>> start(boost::asio::any_io_executor executor,
                                               const Listen& listen, std::vector<Route> routes);
  ~Server();  // queries that are under way end with their connections

  std::uint16_t port() const;
  // From the next connection on, what the files hold now, or these (PEM). What cannot be read or
  // used changes nothing.
  Result<void> reload();
  Result<void> use(const std::string& certificate, const std::string& key);

 private:
  struct Inside;
  explicit Server(std::shared_ptr<Inside> inside);
  std::shared_ptr<Inside> inside_;
};

}  // namespace divvy::http
