// The helper of a node's agent that lacks privileges (`divvy agent-helper`).
#pragma once

#include <string>
#include <vector>

#include "agent/node.h"
#include "base/result.h"

namespace divvy::agent {

// A user ID that images rarely use. The agent's group is root's, as for all containers on
// OpenShift.
inline constexpr unsigned kAgentUser = 65532;

struct HelperOptions {
  Node node;
  unsigned agent_uid = kAgentUser;  // accepted user of clients, in addition to the helper's own
  std::string kubelet_dir = "/var/lib/kubelet";
  std::string cdi_dir = "/var/run/cdi";  // empty: no CDI files are written
  std::string install_dir;               // shared with the agent; empty: none
};

// Opens the shared directories for the agent and carries out its calls until SIGTERM or SIGINT;
// then it withdraws the directories.
Result<void> serveHelper(const HelperOptions& options);
// Does the same with the command-line arguments that becomeHelper() passes. kUsage: other
// arguments.
Result<void> serveHelper(const std::vector<std::string>& words);

}  // namespace divvy::agent
