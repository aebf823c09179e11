// Parts of reading a machine, one for each part of its facts.
#pragma once

#include "doctor/read_node.h"

namespace divvy::doctor {

DriverFacts readDriver(const RootFs& tree);
InstallFacts readInstall(const RootFs& tree, const NodeOptions& terms);
RuntimeDir readRuntimeDir(const RootFs& tree, const NodeOptions& terms, const std::string& path);
// `runtimes`: of agents that answered and say where theirs are.
SettingsFacts readSettings(const RootFs& tree, const NodeOptions& terms,
                           const std::vector<RuntimeDir>& runtimes);
RuntimeFacts readRuntime(const RootFs& tree);
OperatorFacts readOperator(const RootFs& tree);
KubeletFacts readKubelet(const RootFs& tree, const std::string& dir);
MachineFacts readMachine(const RootFs& tree, bool clock);

// A containerd configuration and its drop-ins; a missing one is none.
Result<RuntimeConfig> readContainerd(const RootFs& tree, const std::string& path,
                                     const std::string& flavour);
// Into the toolkit's part of the facts.
void readToolkit(const RootFs& tree, RuntimeFacts* facts);

// What the header and the dynamic section of a library say. kCorrupt: it is none.
struct ElfReader {
  bool elf64 = false;
  std::uint16_t machine = 0;
  std::string soname;
};
Result<ElfReader> elfWords(const std::string& bytes);

// The version of a package that is installed, of dpkg's status file; empty: it is not.
std::string debianVersion(const std::string& status, const std::string& package);

}  // namespace divvy::doctor
