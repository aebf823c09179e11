// Access to a cluster by kubectl's options.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "kube/access.h"
#include "kube/client.h"

namespace divvy::cli {

struct ConnectionOptions {
  // A file; empty: KUBECONFIG, else a pod's service account, else ~/.kube/config.
  std::string kubeconfig;
  kube::AccessWords words;
  std::optional<std::uint64_t> bound_ms;  // for each reply; 0: unlimited; none: as in `terms`

  // Returns whether any option is given.
  bool isSet() const {
    return !kubeconfig.empty() || bound_ms.has_value() || words != kube::AccessWords{};
  }
  kube::ClientOptions with(kube::ClientOptions terms) const;
};

// Errors: those of kubeconfigAccess() and clusterAccess().
Result<kube::Access> accessFor(const ConnectionOptions& connection);

}  // namespace divvy::cli
