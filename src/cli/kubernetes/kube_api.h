// Blocking client of an API server, one call at a time, with the user's rights.
#pragma once

#include <functional>
#include <memory>
#include <string>

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

class Api {
 public:
  static Result<std::unique_ptr<Api>> open(kube::Access access, kube::ClientOptions terms = {});
  static Result<std::unique_ptr<Api>> open(const Reach& reach);
  ~Api();

  // As kube::Client.
  Result<boost::json::value> ask(kube::Call call);
  Result<void> list(const std::string& path, const std::string& query,
                    const std::function<void(const boost::json::value& item)>& each);
  Result<kube::Eviction> evict(kube::EvictionOptions ask);
  const std::string& space() const;  // of the kubeconfig's context

 private:
  struct Inside;
  explicit Api(std::unique_ptr<Inside> inside);
  std::unique_ptr<Inside> inside_;
};

}  // namespace divvy::cli
