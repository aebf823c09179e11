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
  std::optional<std::chrono::sys_seconds> until;  // none: as long as the server takes it
};

// kUnsupported: a version of the protocol that is not known; which are.
Result<void> checkPlugin(const ExecPlugin& plugin);
// kCorrupt: what of it is not as the protocol has it. Nothing of what it holds is repeated.
Result<Credential> credentialIn(const std::string& text, const std::string& api_version);
// RFC 3339: "2026-01-02T03:04:05Z", with a fraction or an offset. None: it is anything else.
std::optional<std::chrono::sys_seconds> timeIn(const std::string& text);

// Without a shell and without a terminal; it inherits our environment and stderr, and no open
// files. kUnavailable: it cannot be started, fails, or is not ready within the bound, when it is
// ended with all that it started.
asio::awaitable<Result<Credential>> runPlugin(ExecPlugin plugin, std::chrono::milliseconds bound);

}  // namespace divvy::kube
