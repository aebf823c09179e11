// Reviews of a cluster's API server about the viewers of its console.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "base/result.h"
#include "console/viewer.h"
#include "options/kube_connection.h"

namespace divvy::cli {

// No error has a token. Each call opens a connection of its own.
class ClusterViewerReviews : public console::ViewerReviews {
 public:
  // A call takes at most 3 times `exchange` for each review of a token, and `sending` plus 2 times
  // `exchange` for a scope; the name of the API server is resolved in addition.
  struct Bounds {
    std::chrono::milliseconds exchange{3000};   // for connecting, and for each reply
    std::chrono::milliseconds sending{13'000};  // no review of a scope is sent later
  };

  // `connection`: the console's own.
  explicit ClusterViewerReviews(ConnectionOptions connection);
  ClusterViewerReviews(ConnectionOptions connection, Bounds bounds);

  // kNotFound without a question for a text that is no token: see isBearerToken().
  Result<console::Viewer> authenticate(const std::string& token) override;

  // Namespaces that cannot be names of objects are left out. An answer that is not allowed and has
  // an error of the evaluation is kUnavailable.
  Result<console::ViewerScope> scopeOf(const console::Viewer& viewer,
                                       const std::vector<std::string>& namespaces) override;

 private:
  const ConnectionOptions connection_;
  const Bounds bounds_;
};

}  // namespace divvy::cli
