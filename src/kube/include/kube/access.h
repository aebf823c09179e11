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
  std::string space = "default";
  friend bool operator==(const Access&, const Access&) = default;
};

// `context`: which one; empty: the current. Files that it names are read, relative to `folder`.
// kUsage: where in `source`, what is wrong, what is accepted; kIo: a file cannot be read.
Result<Access> kubeconfigAccess(const std::string& text, const std::string& source,
                                const std::string& folder, const std::string& context = "");
Result<Access> kubeconfigFileAccess(const std::string& path, const std::string& context = "");

// What a pod has: `folder` holds token, ca.crt and namespace; host and port are from the
// environment (KUBERNETES_SERVICE_HOST, _PORT). Empty ones: kNotFound, not in a cluster.
inline constexpr const char* kServiceAccount = "/var/run/secrets/kubernetes.io/serviceaccount";
Result<Access> clusterAccess(const std::string& host, const std::string& port,
                             const std::string& folder = kServiceAccount);

// Of a server by its address, "https://host:port/path", the path in `base`. `authority_file`: whose
// certificates are believed; empty: those that the system trusts. kUsage: what is accepted; kIo.
Result<Access> urlAccess(const std::string& url, const std::string& authority_file = "");

}  // namespace divvy::kube
