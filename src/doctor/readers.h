// Parts of reading a machine, one for each part of its facts.
#pragma once

#include "doctor/read_node.h"

namespace divvy::doctor {

DriverFacts readDriver(const Tree& tree);
InstallFacts readInstall(const Tree& tree, const NodeTerms& terms);
RuntimeDir readRuntimeDir(const Tree& tree, const NodeTerms& terms, const std::string& path);
// `runtimes`: of agents that answered and say where theirs are.
SettingsFacts readSettings(const Tree& tree, const NodeTerms& terms,
                           const std::vector<RuntimeDir>& runtimes);
RuntimeFacts readRuntime(const Tree& tree);
OperatorFacts readOperator(const Tree& tree);
KubeletFacts readKubelet(const Tree& tree, const std::string& dir);
MachineFacts readMachine(const Tree& tree, bool clock);

// A containerd configuration and its drop-ins; a missing one is none.
Result<RuntimeConfig> readContainerd(const Tree& tree, const std::string& path,
                                     const std::string& flavour);
// Into the toolkit's part of the facts.
void readToolkit(const Tree& tree, RuntimeFacts* facts);

// What the header and the dynamic section of a library say. kCorrupt: it is none.
struct ElfWords {
  bool elf64 = false;
  std::uint16_t machine = 0;
  std::string soname;
};
Result<ElfWords> elfWords(const std::string& bytes);

// The version of a package that is installed, of dpkg's status file; empty: it is not.
std::string debianVersion(const std::string& status, const std::string& package);

}  // namespace divvy::doctor
