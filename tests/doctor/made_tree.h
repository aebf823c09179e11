// A machine's files, made up: a node of Kubernetes on which all is well, to be spoiled by tests.
#pragma once

#include <cstdint>
#include <string>

#include "doctor/checks.h"
#include "doctor/read_node.h"

namespace divvy::doctor {

class MadeTree {
 public:
  MadeTree();
  ~MadeTree();
  MadeTree(const MadeTree&) = delete;
  MadeTree& operator=(const MadeTree&) = delete;

  // Paths are as the machine has them; folders above are made.
  void file(const std::string& path, const std::string& text, unsigned mode = 0644);
  // A tenant's page as an agent makes it, with nothing in it but what it is.
  void page(const std::string& path, std::uint64_t magic, std::uint64_t size);
  // What is beyond goes, or is zeros.
  void cut(const std::string& path, std::uint64_t size);
  // One byte becomes another.
  void poke(const std::string& path, std::uint64_t at, char byte);
  void folder(const std::string& path, unsigned mode = 0755);
  void link(const std::string& path, const std::string& target);
  void socket(const std::string& path);
  void pipe(const std::string& path);
  void mode(const std::string& path, unsigned mode);
  void remove(const std::string& path);
  std::string text(const std::string& path) const;
  std::string real(const std::string& path) const { return root_ + path; }
  const std::string& root() const { return root_; }

  // A card, its driver, containerd with NVIDIA's runtime and toolkit, a kubelet, an agent with one
  // tenant, and what it put there for containers.
  void healthyNode();
  // As the doctor would, with an agent that answers.
  NodeFacts read() const;
  NodeOptions terms() const;
  Findings findings() const { return diagnose(read()); }

  AgentAnswer answer;

 private:
  std::string root_;
};

// The worst state of a check; kOk of one that is not among them.
FindingState stateOf(const Findings& findings, const std::string& id);
// All that a check says, a line each.
std::string saidOf(const Findings& findings, const std::string& id);
// A 64-bit ELF library with that SONAME and nothing else.
std::string libraryBytes(const std::string& soname, std::uint16_t machine);
std::uint16_t thisMachine();

}  // namespace divvy::doctor
