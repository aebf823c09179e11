#include "options/kube_connection.h"

#include <algorithm>
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

constexpr std::size_t kMaxToken = 16 << 10;

// In the order of kubectl and client-go.
Result<kube::Access> ownAccess(const ConnectionOptions& connection) {
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

}  // namespace

bool isBearerToken(std::string_view text) {
  return !text.empty() && text.size() <= kMaxToken &&
         std::all_of(text.begin(), text.end(), [](char one) { return one > ' ' && one < 0x7f; });
}

kube::ClientOptions ConnectionOptions::with(kube::ClientOptions terms) const {
  if (bound_ms && *bound_ms == 0) terms.bound = kWithoutEnd;
  if (bound_ms && *bound_ms != 0) terms.bound = std::chrono::milliseconds(*bound_ms);
  return terms;
}

Result<kube::Access> accessFor(const ConnectionOptions& connection) {
  Result<kube::Access> access = ownAccess(connection);
  if (!access || connection.viewer_token.empty()) return access;
  if (!isBearerToken(connection.viewer_token))
    return Error{ErrorCode::kUsage, "the viewer's token has a byte that no token has"};
  access->token = connection.viewer_token;
  access->token_file.clear();
  access->exec.reset();
  // A server that accepts a client certificate ignores the token.
  access->certificate.clear();
  access->key.clear();
  access->as = {};
  return access;
}

}  // namespace divvy::cli
