// Reads the facts of a machine (node_facts.h).
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "doctor/node_facts.h"
#include "doctor/root_fs.h"

namespace divvy::doctor {

struct NodeOptions {
  std::string version;                    // of this program
  std::vector<std::string> runtime_dirs;  // possible runtime directories of agents
  std::string staged_dir = "/var/lib/divvy";
  std::string kubelet_dir = "/var/lib/kubelet";
  // This program's own libraries, on the machine that it runs on, whichever root is read.
  std::string lib_dir;
  // Asks the agent of a folder for its state. `path` names the folder by our descriptor, so that it
  // is reached through a mounted root, too. Errors: those of AgentFacts::answer.
  std::function<Result<AgentAnswer>(const std::string& path)> ask;
  std::string settings_file;  // of nodes; empty: only the usual places are searched
  // Reads such a file as an agent would: SettingsFile::unheeded. Null: it is not read.
  std::function<Result<std::vector<std::string>>(const std::string& text, const std::string& path)>
      settings;
  // false: the kernel's clock is not asked, as for the root of another machine
  bool clock = true;
};

// Reads all facts. Never fails: errors are among the facts. It takes as long as the file systems
// do.
NodeFacts readNode(const RootFs& tree, const NodeOptions& options);

}  // namespace divvy::doctor
