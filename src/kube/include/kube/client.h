// Client of one API server, with a rate limit and retries.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/json/value.hpp>

#include "base/result.h"
#include "kube/access.h"
#include "kube/call.h"
#include "kube/pod.h"

namespace divvy::kube {

struct ClientOptions {
  double per_second = 50;                   // calls per second, on average
  double burst = 100;                       // calls at once
  std::chrono::milliseconds bound{30'000};  // for connecting, and for one exchange
  unsigned tries = 5;                       // attempts while the server replies "later" (429, 503)
  std::chrono::seconds token_age{60};       // age after which a token file is read again
};

// One event of a watch.
struct WatchEvent {
  std::string type;  // ADDED, MODIFIED, DELETED, BOOKMARK
  boost::json::value object;
};

enum class WatchEnd {
  kEnded,    // continue from the last version
  kTooOld,   // 410: list again
  kStopped,  // by the caller's `each`
};

// Lets a caller observe and end a watch that another function runs.
struct WatchHold {
  // Called when the server has accepted the watch; may be empty.
  std::function<void()> opened;
  // Set by watch(), non-empty while it runs: ends the watch at once, with an error.
  std::function<void()> cut;
};

// Used on the executor's thread only; several calls may run at once. It is destroyed only when no
// call runs.
class Client {
 public:
  // kUsage: a certificate or key of `access` cannot be used. kUnsupported: the version of its exec
  // plugin.
  static Result<std::unique_ptr<Client>> make(boost::asio::any_io_executor executor, Access access,
                                              ClientOptions terms = {});
  ~Client();

  // Sends a call, and returns every reply, of success or not. Waits for the rate limit. Repeats the
  // call after 429, and after 503 with Retry-After: at most `tries` attempts, each pause 30 s at
  // most. A GET is also repeated if a kept connection broke before any reply. After 401 it runs an
  // exec plugin again, unless its credential is less than 5 s old. kUnavailable: no reply; the
  // change may have happened or not. kUsage: a path that isPath() refuses, or a certificate of
  // an exec plugin that cannot be used.
  boost::asio::awaitable<Result<Reply>> send(Call call);
  // Returns the JSON body of a successful reply. Errors: those of send(), errorOf() for other
  // replies, kCorrupt for a body that is not JSON.
  boost::asio::awaitable<Result<boost::json::value>> ask(Call call);

  // Lists a collection in pages of 500 and returns the version to watch from. `query` is encoded:
  // "fieldSelector=...". `begin` is called before the first page. If the list expires between pages
  // (410), it restarts, at most 3 times, and calls `begin` again. Items live as long as the call of
  // `each`; a copy that outlives it needs a storage of its own. Errors: those of send(), errorOf(),
  // kCorrupt for a reply that is no list.
  boost::asio::awaitable<Result<std::string>> list(
      const std::string& path, const std::string& query, std::function<void()> begin,
      std::function<void(const boost::json::value& item)> each);
  // Lists pods as list() does, but requests protobuf. `pod` is called for each pod in protobuf,
  // `each` for each pod in JSON. JSON comes from servers without protobuf, and after a page that
  // cannot be read. Such a page is reported to `trouble` and requested again as JSON, as are all
  // pages after it.
  boost::asio::awaitable<Result<std::string>> listPods(
      const std::string& path, const std::string& query, std::function<void()> begin,
      std::function<void(const boost::json::value& item)> each,
      std::function<void(const Pod& pod)> pod, std::function<void(const Error&)> trouble);
  // Calls `each` for every event after `version`, bookmarks included, and advances `version` with
  // them. If `each` returns false, the watch ends with kStopped. It is not repeated. kUnavailable:
  // no connection, a broken one, or 150 s of silence; errorOf() for other replies. `hold` may be
  // null; it outlives the watch.
  boost::asio::awaitable<Result<WatchEnd>> watch(const std::string& path, const std::string& query,
                                                 std::string* version,
                                                 std::function<bool(const WatchEvent&)> each,
                                                 WatchHold* hold = nullptr);

  const Access& access() const;
  std::size_t calls() const;  // sent so far, retries and watches included

 private:
  struct Impl;
  explicit Client(std::unique_ptr<Impl> inside);
  std::unique_ptr<Impl> impl_;
};

}  // namespace divvy::kube
