// Where an agent lives: one directory per user and node flavour, and the names of the files in it.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace divvy::agent {

// The machine's own cards ("gpu") or one simulated card set ("sim-h100"). Value type.
struct Node {
  std::string name = "gpu";

  bool simulated() const { return name.starts_with("sim-"); }
  // The simulated profile ("h100"); empty for the machine's own cards.
  std::string profile() const { return simulated() ? name.substr(4) : std::string(); }
};

// Accepts "gpu" and "sim-<profile>" (letters, digits, '.', '_', '-', at most 24). Says nothing
// about whether the profile exists: the simulated driver's catalogue knows that.
Result<Node> parseNode(std::string_view name);

// The user's runtime directory: DIVVY_RUNTIME_DIR, else $XDG_RUNTIME_DIR/divvy, else
// /tmp/divvy-<uid>. Creates nothing. Refuses paths that are relative or too long for a socket
// address.
Result<std::string> runtimeRoot();

// True when the directory was named by DIVVY_RUNTIME_DIR; such a directory is removed only by
// who made it and had to give up.
bool runtimeRootIsNamed();

// Paths of one node's files; nothing here touches the file system.
class NodePaths {
 public:
  NodePaths(std::string root, const Node& node)
      : root_(std::move(root)), dir_(root_ + "/" + node.name) {}

  const std::string& root() const { return root_; }
  const std::string& dir() const { return dir_; }
  std::string lock() const { return dir_ + "/agent.lock"; }
  std::string socket() const { return dir_ + "/agent.sock"; }
  std::string registrar() const { return dir_ + "/register.sock"; }
  // The same for containers, alone in a folder that is mounted into them.
  std::string containersDir() const { return dir_ + "/reg"; }
  std::string containersRegistrar() const { return containersDir() + "/register.sock"; }
  // What stands for /etc/ld.so.preload in containers.
  std::string preloadList() const { return dir_ + "/ld.so.preload"; }
  std::string log() const { return dir_ + "/agent.log"; }
  std::string tenants() const { return dir_ + "/tenants"; }
  std::string contextCosts() const { return dir_ + "/context-costs"; }
  std::string watchMark() const { return dir_ + "/watched"; }
  // Of cards, while they are not over, and what their driver remembered last.
  std::string faults() const { return dir_ + "/faults"; }
  std::string timesliceTrial() const { return dir_ + "/timeslice-trial"; }
  // Where the helper of an agent without rights listens.
  std::string helper() const { return dir_ + "/helper.sock"; }
  // State of the simulated cards (SIMGPU_DIR); unused with real ones.
  std::string cards() const { return dir_ + "/card"; }

 private:
  std::string root_;
  std::string dir_;
};

// Creates the root and the node directory (0700) where missing. Refuses a directory that is a link,
// belongs to someone else or that others may write; root may have given it to our group.
// `made_root`/`made_dir` say what was created.
struct CreatedDirs {
  bool made_root = false;
  bool made_dir = false;
};
Result<CreatedDirs> makeNodeDir(const NodePaths& paths);

}  // namespace divvy::agent
