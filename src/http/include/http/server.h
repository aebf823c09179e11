// HTTP server on one address, with or without TLS.
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
  std::string target;        // path and query string
  std::string content_type;  // as the client sent it
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
  std::uint64_t most_body = 0;  // bytes; a larger body is answered with 413
  std::function<boost::asio::awaitable<Answer>(Query)> answer;
};

struct Listen {
  std::string host = "127.0.0.1";
  std::uint16_t port = 0;                  // 0: any free port
  std::string certificate_file, key_file;  // PEM; both empty: no TLS
  // With empty files: TLS starts with use(); before, no request is answered.
  bool certificate_comes = false;
  std::chrono::seconds idle{120};  // after which a silent connection is closed
};

// Bounds: 1,024 connections; 128 idle connections of an address that are older than 2 s. A
// handshake and a header may take 5 s each, a body and a reply 30 s. All bodies together may have
// 64 MiB, or twice the largest. TLS handshakes: 20 a second of an address after its first 256, 200
// a second of all after 1,024. At a bound the connection that was idle for longest is closed, never
// the newest. Connections stay open for further requests. An unknown path gets 404, another method
// 405, a malformed request 400. Used on the executor's thread only.
class Server {
 public:
  // kIo: the address is not available. kUsage: certificate or key cannot be used.
  static Result<std::unique_ptr<Server>> start(boost::asio::any_io_executor executor,
                                               const Listen& listen, std::vector<Route> routes);
  ~Server();  // closes all connections, with their requests

  std::uint16_t port() const;
  // Replace the certificate for further connections: reload() from the files, use() by these (PEM).
  // After an error the old one stays.
  Result<void> reload();
  Result<void> use(const std::string& certificate, const std::string& key);

 private:
  struct Inside;
  explicit Server(std::shared_ptr<Inside> inside);
  std::shared_ptr<Inside> inside_;
};

}  // namespace divvy::http
