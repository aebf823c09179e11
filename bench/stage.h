// Where a bench runs its probes: the build's products, a private directory, and the two ways of
// starting a probe, bare on the driver and under `divvy run`.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "command.h"

namespace divvy::bench {

struct Share {
  std::string memory = "64Gi";  // room for the contexts of 64 processes
  std::string cores;            // empty: no compute limit
};

enum class Driver {
  kSimulated,
  kCounted,  // simulated, reached through counting/, which counts the calls that arrive
  kReal,     // this machine's own
};

// build/<preset> that this program belongs to. Throws std::runtime_error when one of `products` is
// not there.
std::filesystem::path buildDirectory(const std::vector<std::string>& products);

// A fresh directory, in memory where there is such. The caller removes it.
std::filesystem::path makePrivateDirectory();

class Stage {
 public:
  // Makes the private directory; throws std::runtime_error when the build's products are not
  // beside this program. `settings`: NAME=VALUE for all that runs on it, the agent too.
  explicit Stage(Driver driver, std::vector<std::string> settings = {});
  ~Stage();  // ends the agent that `divvy run` started and removes the directory
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;

  // Output of the probe; throws std::runtime_error when it fails. `profile` is the simulated card.
  std::string bare(const std::vector<std::string>& probe, const std::string& profile) const;
  std::string divvied(const std::vector<std::string>& probe, const std::string& profile,
                      const Share& share) const;

  // A tenant that holds a context, and asks for nothing while this is there.
  std::unique_ptr<Companion> neighbour(const std::string& profile, const Share& share) const;

  // Calls that reached the driver so far, from all probes; only with Driver::kCounted.
  std::uint64_t calls() const;

 private:
  std::string output(const Command& command) const;
  Command divviedCommand(const std::vector<std::string>& probe, const std::string& profile,
                         const Share& share) const;

  void layCountedTree();
  std::vector<std::string> environment() const;

  std::filesystem::path build_;    // build/<preset>
  std::filesystem::path tree_;     // the same layout with the driver in use
  std::filesystem::path private_;  // removed at the end
  Driver driver_;
  std::vector<std::string> settings_;
};

}  // namespace divvy::bench
