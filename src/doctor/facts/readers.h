// Readers of a machine's facts, one for each part.
#pragma once

#include "doctor/read_node.h"

namespace divvy::doctor {

DriverFacts readDriver(const RootFs& tree);
InstallFacts readInstall(const RootFs& tree, const NodeOptions& options);
RuntimeDir readRuntimeDir(const RootFs& tree, const NodeOptions& options, const std::string& path);
// `runtimes` are of agents that replied and name their files.
SettingsFacts readSettings(const RootFs& tree, const NodeOptions& options,
                           const std::vector<RuntimeDir>& runtimes);
RuntimeFacts readRuntime(const RootFs& tree);
OperatorFacts readOperator(const RootFs& tree);
KubeletFacts readKubelet(const RootFs& tree, const std::string& dir);
MachineFacts readMachine(const RootFs& tree, bool clock);

// Reads a containerd configuration and its drop-ins. Missing drop-ins are ignored. kNotFound: the
// configuration is missing. Other errors go to RuntimeConfig::fault.
Result<RuntimeConfig> readContainerd(const RootFs& tree, const std::string& path,
                                     const std::string& flavour);
// Sets the toolkit's members of the facts.
void readToolkit(const RootFs& tree, RuntimeFacts* facts);

// Facts of a library's header and dynamic section. kCorrupt: not an ELF file.
struct ElfReader {
  bool elf64 = false;
  std::uint16_t machine = 0;
  std::string soname;
};
Result<ElfReader> elfWords(const std::string& bytes);

// Returns the version of an installed package, from dpkg's status file; empty: not installed.
std::string debianVersion(const std::string& status, const std::string& package);

}  // namespace divvy::doctor
