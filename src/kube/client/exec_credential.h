// Credentials that a program prints. Private. Source: client.authentication.k8s.io/v1.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "base/result.h"
#include "client/asio.h"
#include "kube/access.h"

namespace divvy::kube {

struct Credential {
  std::string token;
  std::string certificate, key;                   // PEM
  std::optional<std::chrono::sys_seconds> until;  // none: no end is stated
};

// Checks the plugin's version of the protocol. kUnsupported: which version, and which are accepted.
Result<void> checkPlugin(const ExecPlugin& plugin);
// Reads a credential. kCorrupt: what differs from the protocol. The message does not contain
// secrets.
Result<Credential> credentialIn(const std::string& text, const std::string& api_version);

// Runs the plugin without a shell or terminal. It inherits the environment and stderr, but no other
// open file. kUnavailable: it cannot be started, fails, prints what is no credential, or exceeds
// `bound`. A plugin that exceeds it is killed with its process group.
asio::awaitable<Result<Credential>> runPlugin(ExecPlugin plugin, std::chrono::milliseconds bound);

}  // namespace divvy::kube
