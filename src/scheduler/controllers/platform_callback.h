// Notifies the platform that runs a user's pods, by HTTP, of a pod that will be evicted. The
// platform may request more time, to save the pod's data. Private.
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

// Event of a pod; member "kind" of the body.
enum class CallbackKind : std::uint8_t {
  kNotice,     // the pod will be evicted at the deadline unless it uses its devices
  kDue,        // the deadline is reached: the pod is evicted unless the answer requests more time
  kCalledOff,  // the pod will not be evicted
};

// Returns {"kind": "idle-notice", "namespace", "pod", "uid", "node", "idleSince", "deadline"}, with
// instants as RFC 3339; kCalledOff without a deadline. Pure.
std::string platformBody(CallbackKind news, const std::string& uid, const std::string& node,
                         const kube::EvictionRequest& pod, const kube::Notice& state);
// Returns the seconds that an answer with status 2xx requests: {"extendSeconds": 600}. An empty
// body or one without that member requests none. kCorrupt names the form. Pure.
Result<std::int64_t> platformAnswer(const std::string& body);

// For the executor's thread only.
class PlatformCallback {
 public:
  // kUsage: which part of the access cannot be used.
  static Result<std::unique_ptr<PlatformCallback>> make(boost::asio::any_io_executor executor,
                                                        kube::Access access);
  // POSTs `body` once, with a limit of ten seconds. Returns as platformAnswer(). Errors: no answer,
  // a status other than 2xx, or an answer that is not accepted.
  boost::asio::awaitable<Result<std::int64_t>> post(std::string body);

 private:
  PlatformCallback(std::unique_ptr<kube::Client> client, std::string path)
      : client_(std::move(client)), path_(std::move(path)) {}
  std::unique_ptr<kube::Client> client_;
  const std::string path_;
};

}  // namespace divvy::scheduler
