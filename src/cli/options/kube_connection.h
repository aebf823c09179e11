// Access to a cluster by kubectl's options.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "kube/access.h"
#include "kube/client.h"

namespace divvy::cli {

struct ConnectionOptions {
  // A file; empty: KUBECONFIG, else a pod's service account, else ~/.kube/config.
  std::string kubeconfig;
  kube::AccessWords words;
  std::optional<std::uint64_t> bound_ms;  // for each reply; 0: unlimited; none: as in `terms`
  // Bearer token of a console's viewer; a secret. It replaces all credentials of the connection,
  // client certificate and impersonation included. Empty: none.
  std::string viewer_token;

  // Returns whether any option of the command line is given.
  bool isSet() const {
    return !kubeconfig.empty() || bound_ms.has_value() || words != kube::AccessWords{};
  }
  kube::ClientOptions with(kube::ClientOptions terms) const;
};

// Returns whether a text can be a bearer token: 1 to 16 KiB of printable ASCII without blanks.
bool isBearerToken(std::string_view text);

// Errors: those of kubeconfigAccess() and clusterAccess(). kUsage also for a `viewer_token` that is
// no token; the message does not have it.
Result<kube::Access> accessFor(const ConnectionOptions& connection);

}  // namespace divvy::cli
