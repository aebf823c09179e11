#include "options/kube_connection.h"

#include <chrono>
#include <cstdlib>
#include <utility>

namespace divvy::cli {
namespace {

// A year, in place of no limit: added to the present it does not overflow.
constexpr std::chrono::hours kWithoutEnd{24 * 365};

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

kube::ClientOptions ConnectionOptions::with(kube::ClientOptions terms) const {
  if (bound_ms && *bound_ms == 0) terms.bound = kWithoutEnd;
  if (bound_ms && *bound_ms != 0) terms.bound = std::chrono::milliseconds(*bound_ms);
  return terms;
}

// In the order of kubectl and client-go.
Result<kube::Access> accessFor(const ConnectionOptions& connection) {
  const kube::AccessWords& words = connection.words;
  if (!connection.kubeconfig.empty())
    return kube::kubeconfigFileAccess(connection.kubeconfig, words);
  const std::string named = variable("KUBECONFIG");
  if (!named.empty()) return kube::kubeconfigListAccess(named, words);
  if (!words.nameParts()) {
    Result<kube::Access> pod = kube::clusterAccess(variable("KUBERNETES_SERVICE_HOST"),
                                                   variable("KUBERNETES_SERVICE_PORT"));
    const Result<void> used = pod ? kube::applyWords(words, &*pod) : Result<void>{};
    if (!used) return used.error();
    if (pod || pod.error().code() != ErrorCode::kNotFound) return pod;
  }
  return kube::kubeconfigListAccess(variable("HOME") + "/.kube/config", words);
}

}  // namespace divvy::cli
