// An agent's runtime directory: one per user and node flavour, and the names of the files in it.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace divvy::agent {

// The machine's own cards ("gpu") or a set of simulated cards ("sim-h100"). Value type.
struct Node {
  std::string name = "gpu";

  bool simulated() const { return name.starts_with("sim-"); }
  // The simulated profile ("h100"); empty for the machine's own cards.
  std::string profile() const { return simulated() ? name.substr(4) : std::string(); }
};

// Accepts "gpu" and "sim-<profile>" (letters, digits, '.', '_', '-', at most 24). Does not check
// that the profile exists: the simulated driver's catalogue has it.
Result<Node> parseNode(std::string_view name);

// The user's runtime directory: DIVVY_RUNTIME_DIR, else $XDG_RUNTIME_DIR/divvy, else
// /tmp/divvy-<uid>. Creates nothing. Refuses paths that are relative or too long for a socket
// address.
Result<std::string> runtimeRoot();

// True if DIVVY_RUNTIME_DIR names the directory. Such a directory is removed only by the process
// that created it, if that process fails to start.
bool runtimeRootIsNamed();

// Paths of one node's files. Does not access the file system.
class NodePaths {
 public:
  NodePaths(std::string root, const Node& node)
      : root_(std::move(root)), dir_(root_ + "/" + node.name) {}

  const std::string& root() const { return root_; }
  const std::string& dir() const { return dir_; }
  std::string lock() const { return dir_ + "/agent.lock"; }
  std::string socket() const { return dir_ + "/agent.sock"; }
  std::string registrar() const { return dir_ + "/register.sock"; }
  // The same for containers, alone in a directory that is mounted into them.
  std::string containersDir() const { return dir_ + "/reg"; }
  std::string containersRegistrar() const { return containersDir() + "/register.sock"; }
  // The containers' /etc/ld.so.preload.
  std::string preloadList() const { return dir_ + "/ld.so.preload"; }
  std::string log() const { return dir_ + "/agent.log"; }
  std::string tenants() const { return dir_ + "/tenants"; }
  std::string contextCosts() const { return dir_ + "/context-costs"; }
  std::string watchMark() const { return dir_ + "/watched"; }
  // Device faults that last, and the driver's last error counts.
  std::string faults() const { return dir_ + "/faults"; }
  std::string timesliceTrial() const { return dir_ + "/timeslice-trial"; }
  // The socket of the helper of an agent without privileges.
  std::string helper() const { return dir_ + "/helper.sock"; }
  // State of the simulated cards (SIMGPU_DIR); unused with real cards.
  std::string cards() const { return dir_ + "/card"; }

 private:
  std::string root_;
  std::string dir_;
};

// Creates the root and the node directory (0700) where missing. Refuses a directory that is a link,
// belongs to another user or that others may write; root may have given it to our group. Returns
// which directories were created.
struct CreatedDirs {
  bool made_root = false;
  bool made_dir = false;
};
Result<CreatedDirs> makeNodeDir(const NodePaths& paths);

}  // namespace divvy::agent
