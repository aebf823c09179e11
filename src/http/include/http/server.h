// HTTP server on one address, with or without TLS.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include "base/result.h"
#include "http/answer.h"
#include "http/fields.h"
#include "http/query.h"
#include "http/trusted_proxies.h"

namespace divvy::http {

// A path is exact (`/healthz`) or a pattern. `{name}` captures one segment of at least one byte;
// `{name...}`, at the end only, captures the rest, which may be empty and may have slashes. Other
// segments are compared byte by byte with what the client sent. A route of GET answers HEAD, too,
// where no route of HEAD does. Of the routes that match path and method the most specific answers:
// at the first segment that differs, text before `{name}` before `{name...}`. Of equal ones the
// first in the list answers.
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
  // Bound on the time of a body, of a reply, and of each write of a stream.
  std::chrono::seconds transfer{30};
  // Decode the query string into Query::parameters; a malformed one is answered with 400.
  bool parse_parameters = false;
  // Sent with every answer that has no field of the same name, errors of the server included.
  Fields fields{};
  // Proxies that name their clients in X-Forwarded-For. Streams count for the client.
  TrustedProxies proxies{};
  // Streams at the same time: of one address, and of all. Above it an answer with a stream becomes
  // 429 or 503.
  std::size_t max_streams_of_address = 64;
  std::size_t max_streams = 512;
};

// Bounds:
// - connections: 1,024; 128 idle ones of an address that are older than 2 s;
// - streams: Listen. 64 KiB of each that are not sent (Stream). A stream counts as a busy one.
// - time: 5 s each for a handshake and a header.
//   Listen::transfer each for a body, a reply, and each write of a stream.
// - a header: 16 KiB (431).
//   A body: the size that its route accepts (413).
//   All bodies together: 64 MiB, or twice the largest (503).
// - TLS handshakes: 20 a second of an address after its first 256, 200 a second of all after 1,024.
//
// At a bound the connection that was idle for longest is closed, never the newest. No client waits
// for another one. Connections stay open for further requests.
//
// An unknown path gets 404, another method 405 with the field Allow, a malformed request 400, a
// malformed escape in what a path captures 400. Used on the executor's thread only.
class Server {
 public:
  // kIo: the address is not available. kUsage: certificate or key cannot be used, a route's path is
  // malformed, or Listen::fields cannot be sent.
  static Result<std::unique_ptr<Server>> start(boost::asio::any_io_executor executor,
                                               const Listen& listen, std::vector<Route> routes);
  // Closes streams and idle connections. Requests in progress are answered, while the loop runs.
  ~Server();

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
