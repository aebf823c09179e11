#include "options/kubectl_options.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace divvy::cli {
namespace {

constexpr std::array kReach{
    ConnectionOption{"--kubeconfig", &ConnectionText::kubeconfig, "FILE",
                     "kubeconfig file [KUBECONFIG, the pod's service account, ~/.kube/config]"},
    ConnectionOption{"--context", &ConnectionText::context, "NAME",
                     "context of the kubeconfig [its current one]"},
    ConnectionOption{"--user", &ConnectionText::user, "NAME",
                     "user of the kubeconfig [the context's]"},
    ConnectionOption{"-s,--server", &ConnectionText::server, "URL",
                     "address of the API server [the kubeconfig's]"},
    ConnectionOption{"--tls-server-name", &ConnectionText::server_name, "NAME",
                     "server name for verifying the certificate [the server's host]"},
    ConnectionOption{"--certificate-authority", &ConnectionText::authority, "FILE",
                     "certificate authority, PEM [the kubeconfig's]"},
    ConnectionOption{"--token", &ConnectionText::token, "TOKEN",
                     "bearer token, instead of the kubeconfig's credentials"},
    ConnectionOption{"--client-certificate", &ConnectionText::certificate, "FILE",
                     "client certificate, PEM, with --client-key"},
    ConnectionOption{"--client-key", &ConnectionText::key, "FILE", "client key, PEM"},
    ConnectionOption{"--as", &ConnectionText::as, "USER", "user to impersonate, if RBAC allows it"},
    ConnectionOption{"--as-uid", &ConnectionText::as_uid, "UID", "UID to impersonate, with --as"},
    ConnectionOption{"--request-timeout", &ConnectionText::timeout, "TIME",
                     "maximum wait for each answer; 0: no limit [30s]"}};

constexpr std::array<std::string_view, 4> kMoreWithValue{"-n", "--namespace", "--cluster",
                                                         "--as-group"};
constexpr std::array<std::string_view, 3> kWithout{"-A", "--all-namespaces",
                                                   "--insecure-skip-tls-verify"};
// Source: kubectl 1.34, `kubectl options`.
constexpr std::array<std::string_view, 13> kOnlyKubectls{"--cache-dir",
                                                         "--disable-compression",
                                                         "--kuberc",
                                                         "--log-flush-frequency",
                                                         "--password",
                                                         "--match-server-version",
                                                         "--profile",
                                                         "--profile-output",
                                                         "--username",
                                                         "--v",
                                                         "-v",
                                                         "--vmodule",
                                                         "--warnings-as-errors"};

enum class Kind { kOther, kFlag, kValue };

Kind kindOf(std::string_view name) {
  const auto has = [name](const auto& list) {
    return std::find(list.begin(), list.end(), name) != list.end();
  };
  if (has(kWithout)) return Kind::kFlag;
  if (has(kMoreWithValue)) return Kind::kValue;
  for (const ConnectionOption& one : kReach) {
    const std::string_view names = one.names;
    const std::size_t comma = names.find(',');
    if (name == names.substr(0, comma)) return Kind::kValue;
    if (comma != std::string_view::npos && name == names.substr(comma + 1)) return Kind::kValue;
  }
  return Kind::kOther;
}

bool isShort(const std::string& word) {
  return word.size() > 2 && word[0] == '-' && word[1] != '-';
}

// Number of words of the option that begins here; 0: it is none of these.
std::size_t widthOf(const std::string& word) {
  const std::string name = isShort(word) ? word.substr(0, 2) : word.substr(0, word.find('='));
  const Kind kind = kindOf(name);
  if (kind == Kind::kOther) return 0;
  return kind == Kind::kValue && name == word ? 2 : 1;
}

}  // namespace

std::span<const ConnectionOption> reachOptions() {
  return kReach;
}

std::vector<std::string> asKubectl(std::vector<std::string> words) {
  std::size_t before = 0;
  while (before < words.size()) {
    const std::size_t width = widthOf(words[before]);
    if (width == 0) break;
    before += width;
  }
  if (before >= words.size()) return {};  // there is no command
  if (before > 0 && !words[before].starts_with('-'))
    std::rotate(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(before),
                words.begin() + static_cast<std::ptrdiff_t>(before) + 1);
  if (!words.empty() && words[0] == "run") return words;  // the rest belongs to another program
  for (std::string& word : words)
    if (isShort(word) && word[2] == '=') word.erase(2, 1);
  return words;
}

bool onlyKubectls(const std::string& option) {
  return std::find(kOnlyKubectls.begin(), kOnlyKubectls.end(), option) != kOnlyKubectls.end();
}

}  // namespace divvy::cli
