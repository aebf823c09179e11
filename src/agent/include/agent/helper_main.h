// The helper of a node's agent that has no rights of its own (`divvy agent-helper`).
#pragma once

#include <string>
#include <vector>

#include "agent/node.h"
#include "base/result.h"

namespace divvy::agent {

// A user whom images rarely are; an agent's group is root's, as that of everything on OpenShift.
inline constexpr unsigned kAgentUser = 65532;

struct HelperOptions {
  Node node;
  unsigned agent_uid = kAgentUser;  // who is answered, beside this user
  std::string kubelet_dir = "/var/lib/kubelet";
  std::string cdi_dir = "/var/run/cdi";  // empty: nothing is written there
  std::string install_dir;               // lent to the agent; empty: it has none
};

// Lends the agent its folders, and answers it until SIGTERM or SIGINT; then it takes them back.
Result<void> serveHelper(const HelperOptions& options);
// Likewise, of a program's words: those that becomeHelper() gives it. Others are kUsage.
Result<void> serveHelper(const std::vector<std::string>& words);

}  // namespace divvy::agent
