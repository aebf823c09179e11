// Reads a machine. What stands between a file and a judgement is in node_facts.h.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "doctor/node_facts.h"
#include "doctor/root_fs.h"

namespace divvy::doctor {

struct NodeOptions {
  std::string version;                    // of this program
  std::vector<std::string> runtime_dirs;  // where agents may be
  std::string staged_dir = "/var/lib/divvy";
  std::string kubelet_dir = "/var/lib/kubelet";
  // This program's own libraries; they are of the machine we run on, whatever tree is read.
  std::string lib_dir;
  // Asks the agent whose folder that is. `path` names the folder by a descriptor of ours, so that
  // it can be reached through a mounted tree. Errors as AgentFacts::answer has them.
  std::function<Result<AgentAnswer>(const std::string& path)> ask;
  std::string settings_file;  // of nodes; empty: only where they usually are is looked
  // What an agent would say of a file of them: as SettingsFile has it. None: nobody can say.
  std::function<Result<std::vector<std::string>>(const std::string& text, const std::string& path)>
      settings;
  // The kernel's clock; a tree has none. False: do not ask.
  bool clock = true;
};

// Never fails: what cannot be read is among the facts. Takes as long as the file systems do.
NodeFacts readNode(const RootFs& tree, const NodeOptions& terms);

}  // namespace divvy::doctor
