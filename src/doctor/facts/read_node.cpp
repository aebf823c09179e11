#include "doctor/read_node.h"

#include <unistd.h>

#include <algorithm>

#include "facts/readers.h"

namespace divvy::doctor {

NodeFacts readNode(const RootFs& tree, const NodeOptions& options) {
  NodeFacts facts;
  facts.root = tree.root();
  facts.as_root = geteuid() == 0;
  facts.version = options.version;
  facts.driver = readDriver(tree);
  facts.install = readInstall(tree, options);
  std::vector<std::string> seen;
  for (const std::string& dir : options.runtime_dirs) {
    if (std::find(seen.begin(), seen.end(), dir) != seen.end()) continue;
    seen.push_back(dir);
    facts.runtimes.push_back(readRuntimeDir(tree, options, dir));
  }
  facts.settings = readSettings(tree, options, facts.runtimes);
  facts.runtime = readRuntime(tree);
  facts.gpu_operator = readOperator(tree);
  facts.kubelet = readKubelet(tree, options.kubelet_dir);
  facts.machine = readMachine(tree, options.clock);
  return facts;
}

}  // namespace divvy::doctor
