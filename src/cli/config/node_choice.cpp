#include "config/node_choice.h"

#include <cstdlib>
#include <optional>
#include <string_view>

#include "simgpu/catalog.h"

namespace divvy::cli {

std::string defaultProfile() {
  const char* named = std::getenv("DIVVY_SIM");
  return named == nullptr || *named == '\0' ? "h100" : named;
}

namespace {

Result<agent::Node> simulatedNode(const std::string& profile, const char* hint) {
  const std::optional<simgpu::SimulatedMachine> machine = simgpu::findMachine(profile);
  if (machine) return agent::parseNode("sim-" + machine->name);
  std::string accepted;
  for (const simgpu::ProfileEntry& entry : simgpu::profileCatalog())
    accepted += " " + std::string(entry.name);
  return Error{ErrorCode::kUsage, "simulated card \"" + profile + "\" is not known; accepted:" +
                                      accepted + ", with suffix xN for N cards" + hint};
}

}  // namespace

Result<agent::Node> nodeForRun(const SimChoice& sim) {
  if (!sim) return agent::Node{};
  return simulatedNode(sim->empty() ? defaultProfile() : *sim, " (put -- before the command)");
}

Result<agent::Node> nodeForAgent(const std::string& name) {
  Result<agent::Node> node = agent::parseNode(name);
  if (!node || !node->simulated()) return node;
  return simulatedNode(name.substr(std::string_view("sim-").size()), "");
}

}  // namespace divvy::cli
