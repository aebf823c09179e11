// Whoever runs a user's pods is told of one that is about to be evicted, over HTTP, and may ask for
// more time (to save what is in it). Private.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include "kube/access.h"
#include "kube/client.h"
#include "kube/eviction_request.h"

namespace divvy::scheduler {

// What is said of a pod: in "kind" of the body.
enum class CallbackKind : std::uint8_t {
  kNotice,     // it will be evicted at the deadline, unless it works
  kDue,        // the deadline is now: an answer that asks for no more time has it evicted
  kCalledOff,  // it will not
};

// {"kind": "idle-notice", "namespace", "pod", "uid", "node", "idleSince", "deadline"}: instants as
// RFC 3339. Pure.
std::string platformBody(CallbackKind news, const std::string& uid, const std::string& node,
                         const kube::EvictionRequest& pod, const kube::Notice& state);
// Seconds that it asks for, of an answer with 2xx: {"extendSeconds": 600}; an empty body, or one
// that says nothing of it, asks for none. kCorrupt: what is accepted.
Result<std::int64_t> platformAnswer(const std::string& body);

// For one thread, that of the executor.
class PlatformCallback {
 public:
  // kUsage: what of the access cannot be used.
  static Result<std::unique_ptr<PlatformCallback>> make(boost::asio::any_io_executor executor,
                                                        kube::Access access);
  // POSTs it; once, within ten seconds. Errors: no answer, or none that is good.
  boost::asio::awaitable<Result<std::int64_t>> tell(std::string body);

 private:
  PlatformCallback(std::unique_ptr<kube::Client> client, std::string path)
      : client_(std::move(client)), path_(std::move(path)) {}
  std::unique_ptr<kube::Client> client_;
  const std::string path_;
};

}  // namespace divvy::scheduler
