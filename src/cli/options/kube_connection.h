// How a cluster is reached, as kubectl's options say it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "kube/access.h"
#include "kube/client.h"

namespace divvy::cli {

struct Reach {
  std::string kubeconfig;  // a file; empty: KUBECONFIG, else as a pod has it, else ~/.kube/config
  kube::AccessWords words;
  std::optional<std::uint64_t> bound_ms;  // of each answer; 0: none; nothing: as `terms` has it

  // Whether anything of it was said.
  bool said() const {
    return !kubeconfig.empty() || bound_ms.has_value() || words != kube::AccessWords{};
  }
  kube::ClientOptions with(kube::ClientOptions terms) const;
};

// Errors as of kubeconfigAccess() and clusterAccess().
Result<kube::Access> accessFor(const Reach& reach);

}  // namespace divvy::cli
