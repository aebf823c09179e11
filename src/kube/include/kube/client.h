// Talks to one API server: within a rate, with patience where it asks for that.
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
  double per_second = 50;                   // calls, on average
  double burst = 100;                       // and at once
  std::chrono::milliseconds bound{30'000};  // for the answer of one call
  unsigned tries = 5;                       // of a call that the server sends away with "later"
  std::chrono::seconds token_age{60};       // tokens in files are read again after
};

// A change of an object, as the server tells of it.
struct WatchEvent {
  std::string type;  // ADDED, MODIFIED, DELETED, BOOKMARK
  boost::json::value object;
};

enum class WatchEnd {
  kEnded,    // go on from the last version
  kTooOld,   // 410: list anew
  kStopped,  // by the one who was told
};

// A watch, for those who did not begin it.
struct WatchHold {
  std::function<void()> opened;  // called when the server has agreed to tell; may be empty
  std::function<void()> cut;     // not empty while it is under way: ends it at once, as an error
};

// For one thread, that of the executor; several calls may be under way. Destroyed when none is.
class Client {
 public:
  // kUsage: what of the access cannot be used.
  static Result<std::unique_ptr<Client>> make(boost::asio::any_io_executor executor, Access access,
                                              ClientOptions terms = {});
  ~Client();

  // Whatever the server says, good or not. Errors (kUnavailable) are of calls that got no answer:
  // what they were to change may be changed or not. "Later" (429, 503 with Retry-After) is waited
  // for, and the call made again; so is one that a kept connection lost before any answer, where
  // doing it twice changes nothing (GET).
  boost::asio::awaitable<Result<Reply>> send(Call call);
  // Only good replies; their bodies. Others are errorOf().
  boost::asio::awaitable<Result<boost::json::value>> ask(Call call);

  // Every item of a collection, page by page (a copy that stays needs a storage of its own);
  // returns the version to watch from. Where a list grows too old between pages it begins anew:
  // `begin` is called before the first page, each time. `query`: "fieldSelector=...", encoded.
  boost::asio::awaitable<Result<std::string>> list(
      const std::string& path, const std::string& query, std::function<void()> begin,
      std::function<void(const boost::json::value& item)> each);
  // The same of pods, asked for in protobuf. `pod` is called for each that came so, `each` for each
  // that came as JSON: where the server has no protobuf, and from a page on that cannot be read,
  // which `trouble` is told of and which is asked for again as JSON.
  boost::asio::awaitable<Result<std::string>> listPods(
      const std::string& path, const std::string& query, std::function<void()> begin,
      std::function<void(const boost::json::value& item)> each,
      std::function<void(const Pod& pod)> pod, std::function<void(const Error&)> trouble);
  // Tells of every change after `version`, which goes on with them. `each` returns false: enough.
  // `hold` may be null, and outlives it.
  boost::asio::awaitable<Result<WatchEnd>> watch(const std::string& path, const std::string& query,
                                                 std::string* version,
                                                 std::function<bool(const WatchEvent&)> each,
                                                 WatchHold* hold = nullptr);

  const Access& access() const;
  std::size_t calls() const;  // made so far

 private:
  struct Impl;
  explicit Client(std::unique_ptr<Impl> inside);
  std::unique_ptr<Impl> impl_;
};

}  // namespace divvy::kube
