// Address of an API server, and the client's credentials.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace divvy::kube {

// A program that prints credentials. Source: client.authentication.k8s.io/v1.
struct ExecPlugin {
  std::string api_version;
  std::string command;
  std::vector<std::string> arguments;
  std::vector<std::pair<std::string, std::string>> environment;  // in addition to ours
  friend bool operator==(const ExecPlugin&, const ExecPlugin&) = default;
};

// The user that the server is to act for. Empty user: no impersonation.
struct Impersonation {
  std::string user, uid;
  std::vector<std::string> groups;
  friend bool operator==(const Impersonation&, const Impersonation&) = default;
};

struct Access {
  std::string host;
  std::string port;
  bool tls = true;
  // Path before "/api": empty, or "/..." without '/' at the end.
  std::string base;
  std::string authority;         // PEM of trusted certificates; empty: the system's
  std::string server_name;       // name that the certificate must have; empty: `host`
  bool insecure = false;         // true: the server's certificate is not verified
  std::string certificate, key;  // PEM; the client's
  std::string token;
  std::string token_file;  // read again periodically, because tokens are renewed
  std::optional<ExecPlugin> exec;
  Impersonation as;
  std::string namespace_name = "default";
  std::string context;  // name in the kubeconfig; empty: none
  friend bool operator==(const Access&, const Access&) = default;
};

// Values given in addition to a kubeconfig, named as kubectl's options. They take precedence over
// the kubeconfig. An empty value changes nothing.
struct AccessWords {
  std::string context, cluster, user;  // names of entries in the kubeconfig
  std::string server, server_name;     // server: "https://HOST[:PORT][/PATH]"
  std::string authority_file;
  bool insecure = false;
  std::string token, certificate_file, key_file;
  Impersonation as;

  // Returns whether any value has a meaning only with a kubeconfig.
  bool nameParts() const { return !context.empty() || !cluster.empty() || !user.empty(); }
  friend bool operator==(const AccessWords&, const AccessWords&) = default;
};

struct KubeconfigText {
  std::string text;
  std::string source;  // name in error messages
  std::string folder;  // base of relative file names in `text`
};

// Merges kubeconfigs as kubectl does: for each context, cluster and user, and for current-context,
// the first file that has it counts. Reads the files that the chosen entries name. A token of
// `words` also replaces the kubeconfig's client certificate. kUsage: the message names file, place,
// fault and accepted input. kIo: a file cannot be read.
Result<Access> kubeconfigAccess(const std::vector<KubeconfigText>& files,
                                const AccessWords& words = {});
// Reads one kubeconfig. Errors: those of kubeconfigAccess(), kIo also if the file does not exist.
Result<Access> kubeconfigFileAccess(const std::string& path, const AccessWords& words = {});
// Reads kubeconfigs from a list of paths separated by ':', as in KUBECONFIG. Files that do not
// exist are ignored. Errors: those of kubeconfigAccess(), kIo also if no file exists and `words`
// name no server.
Result<Access> kubeconfigListAccess(const std::string& paths, const AccessWords& words = {});

// Returns the names of all contexts of such a list of kubeconfigs, in their order, each once.
// Errors: those of kubeconfigListAccess().
Result<std::vector<std::string>> kubeconfigContexts(const std::string& paths);

// Applies `words` to an access from any source. Names of kubeconfig entries are ignored. kUsage:
// the message names fault and accepted input. kIo: a file cannot be read.
Result<void> applyWords(const AccessWords& words, Access* access);

// Returns the access of a pod. `folder` holds token, ca.crt and namespace; `host` and `port` are
// KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT. kNotFound: `host` or `port` is empty, so the
// process is not in a cluster. kIo: ca.crt cannot be read.
inline constexpr const char* kServiceAccount = "/var/run/secrets/kubernetes.io/serviceaccount";
Result<Access> clusterAccess(const std::string& host, const std::string& port,
                             const std::string& folder = kServiceAccount);

// Returns the access of a server by its address, "https://host:port/path", with the path in `base`.
// `authority_file` holds trusted certificates; empty: the system's. kUsage: the message names the
// accepted form. kIo: the file cannot be read.
Result<Access> urlAccess(const std::string& url, const std::string& authority_file = "");

}  // namespace divvy::kube
