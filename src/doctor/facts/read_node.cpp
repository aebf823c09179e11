#include "doctor/read_node.h"

#include <unistd.h>

#include <algorithm>

#include "facts/readers.h"

namespace divvy::doctor {

NodeFacts readNode(const RootFs& tree, const NodeOptions& terms) {
  NodeFacts facts;
  facts.root = tree.root();
  facts.as_root = geteuid() == 0;
  facts.version = terms.version;
  facts.driver = readDriver(tree);
  facts.install = readInstall(tree, terms);
  std::vector<std::string> seen;
  for (const std::string& dir : terms.runtime_dirs) {
    if (std::find(seen.begin(), seen.end(), dir) != seen.end()) continue;
    seen.push_back(dir);
    facts.runtimes.push_back(readRuntimeDir(tree, terms, dir));
  }
  facts.settings = readSettings(tree, terms, facts.runtimes);
  facts.runtime = readRuntime(tree);
  facts.gpu_operator = readOperator(tree);
  facts.kubelet = readKubelet(tree, terms.kubelet_dir);
  facts.machine = readMachine(tree, terms.clock);
  return facts;
}

}  // namespace divvy::doctor
