// Blocking client of an API server, one call at a time, with the user's rights.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json/value.hpp>

#include "base/result.h"
#include "kube/access.h"
#include "kube/call.h"
#include "kube/client.h"
#include "kube/eviction.h"
#include "options/kube_connection.h"

namespace divvy::cli {

// Access for commands without further options of kubectl's.
Result<kube::Access> accessFor(const std::string& kubeconfig, const std::string& context);

// Returns whether the text can be the name of an object or a namespace. Others must not become a
// part of a path: they would name another request.
bool isObjectName(std::string_view name);

class KubeApi {
 public:
  static Result<std::unique_ptr<KubeApi>> open(kube::Access access, kube::ClientOptions terms = {});
  static Result<std::unique_ptr<KubeApi>> open(const ConnectionOptions& connection);
  ~KubeApi();

  // As kube::Client.
  Result<boost::json::value> call(kube::Call call);
  // Returns the body of a successful GET that is no JSON. Errors: those of call().
  Result<std::string> text(const std::string& path);
  Result<void> list(const std::string& path, const std::string& query,
                    const std::function<void(const boost::json::value& item)>& each);
  // Sends calls, at most `lanes` at the same time. Calls `each` with the index of a call and its
  // reply, of success or not, in any order. The first error, of a call or of `each`, is returned;
  // calls that are not sent by then are not sent.
  Result<void> sendAll(
      std::vector<kube::Call> calls, unsigned lanes,
      const std::function<Result<void>(std::size_t index, const kube::Reply& reply)>& each);
  Result<kube::Eviction> evict(kube::EvictionOptions ask);
  const std::string& namespaceName() const;  // of the kubeconfig's context

 private:
  struct Impl;
  explicit KubeApi(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace divvy::cli
