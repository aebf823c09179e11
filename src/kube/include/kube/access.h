// Where an API server is, and who we are to it.
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
  std::vector<std::pair<std::string, std::string>> environment;  // beside ours
  friend bool operator==(const ExecPlugin&, const ExecPlugin&) = default;
};

// Whom the server is to take us for; no user: for who we are.
struct Impersonation {
  std::string user, uid;
  std::vector<std::string> groups;
  friend bool operator==(const Impersonation&, const Impersonation&) = default;
};

struct Access {
  std::string host;
  std::string port;
  bool tls = true;
  std::string base;              // path before "/api"; empty or "/..." without a '/' at the end
  std::string authority;         // PEM; empty: those that the system trusts
  std::string server_name;       // what the certificate has to be for; empty: the host
  bool insecure = false;         // whoever answers is believed
  std::string certificate, key;  // PEM; ours
  std::string token;
  std::string token_file;  // read again from time to time: tokens are renewed
  std::optional<ExecPlugin> exec;
  Impersonation as;
  std::string space = "default";
  friend bool operator==(const Access&, const Access&) = default;
};

// What is said beside a kubeconfig, in kubectl's words; what is said here goes before what stands
// there. Empty: nothing.
struct AccessWords {
  std::string context, cluster, user;  // names of what the kubeconfig has
  std::string server, server_name;     // server: "https://HOST[:PORT][/PATH]"
  std::string authority_file;
  bool insecure = false;
  std::string token, certificate_file, key_file;
  Impersonation as;

  // Whether it only means something beside a kubeconfig.
  bool nameParts() const { return !context.empty() || !cluster.empty() || !user.empty(); }
  friend bool operator==(const AccessWords&, const AccessWords&) = default;
};

struct KubeconfigText {
  std::string text;
  std::string source;  // what errors call it
  std::string folder;  // files that it names are relative to
};

// Of several files as kubectl has it: of each context, cluster and user, and of current-context,
// what the first one says that has it. Files that are named in what is used are read. A token of
// `words` is used instead of the kubeconfig's certificate, too.
// kUsage: where in which file, what is wrong, what is accepted; kIo: a file cannot be read.
Result<Access> kubeconfigAccess(const std::vector<KubeconfigText>& files,
                                const AccessWords& words = {});
// It has to be there.
Result<Access> kubeconfigFileAccess(const std::string& path, const AccessWords& words = {});
// As KUBECONFIG has them, with ':' between; those that are not there are ignored. kIo: none is, and
// `words` do not say where the server is.
Result<Access> kubeconfigListAccess(const std::string& paths, const AccessWords& words = {});

// The same beside anything else, for all but names of parts of a kubeconfig.
Result<void> applyWords(const AccessWords& words, Access* access);

// What a pod has: `folder` holds token, ca.crt and namespace; host and port are from the
// environment (KUBERNETES_SERVICE_HOST, _PORT). Empty ones: kNotFound, not in a cluster.
inline constexpr const char* kServiceAccount = "/var/run/secrets/kubernetes.io/serviceaccount";
Result<Access> clusterAccess(const std::string& host, const std::string& port,
                             const std::string& folder = kServiceAccount);

// Of a server by its address, "https://host:port/path", the path in `base`. `authority_file`: whose
// certificates are believed; empty: those that the system trusts. kUsage: what is accepted; kIo.
Result<Access> urlAccess(const std::string& url, const std::string& authority_file = "");

}  // namespace divvy::kube
