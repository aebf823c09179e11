#include "simulated_node.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <sstream>

namespace divvy::interposer::test {

SimulatedNode::SimulatedNode(const std::string& profile) : profile_(profile) {
  std::string pattern = std::filesystem::temp_directory_path() / "divvy-node-XXXXXX";
  if (::mkdtemp(pattern.data()) == nullptr) ADD_FAILURE() << "mkdtemp " << pattern;
  dir_ = pattern;
  const std::vector<std::uint64_t> count = numbers(ask(bare(), {"init", "count"}).answer("count"));
  if (count.size() != 2) ADD_FAILURE() << "no simulated node " << profile;
  for (unsigned i = 0; count.size() == 2 && i < count[1]; ++i) {
    const std::string at = ":" + std::to_string(i);
    const ProgramResult seen = ask(bare(), {"init", "uuid" + at, "pci" + at});
    cards_.push_back({seen.answer("uuid" + at).substr(2), seen.answer("pci" + at).substr(2)});
  }
}

SimulatedNode::~SimulatedNode() {
  std::error_code ignored;
  std::filesystem::remove_all(dir_, ignored);
}

Environment SimulatedNode::bare() const {
  return {{"LD_LIBRARY_PATH", built("simgpu")},
          {"SIMGPU_PROFILE", profile_},
          {"SIMGPU_DIR", dir_ + "/cards"}};
}

Environment SimulatedNode::inside(const TenantDir& tenant) const {
  Environment environment = bare();
  environment["LD_PRELOAD"] = built("lib/libdivvy-cuda.so") + ":" + built("lib/libdivvy-nvml.so");
  environment["DIVVY_TENANT_DIR"] = tenant.path();
  return environment;
}

std::unique_ptr<TenantDir> SimulatedNode::tenantOf(const std::vector<unsigned>& cards,
                                                   Bytes ceiling) const {
  std::vector<ledger::DeviceSpec> shares;
  for (const unsigned card : cards) {
    ledger::DeviceSpec share;
    share.uuid = cards_.at(card).uuid;
    share.pci_bus_id = cards_.at(card).pci;
    share.guarantee = share.ceiling = ceiling;
    share.physical = gib(24);
    share.context = mib(300);
    shares.push_back(share);
  }
  return std::make_unique<TenantDir>(std::move(shares), static_cast<unsigned>(cards_.size()));
}

ProgramResult SimulatedNode::ask(const Environment& environment,
                                 const std::vector<std::string>& questions) const {
  std::vector<std::string> command{built("tests/nvml_probe")};
  command.insert(command.end(), questions.begin(), questions.end());
  ProgramResult seen = runProgram(command, environment);
  EXPECT_EQ(seen.status, 0) << seen.out << seen.err;
  EXPECT_EQ(seen.err, "");
  return seen;
}

std::vector<std::uint64_t> numbers(const std::string& answer) {
  std::istringstream stream(answer);
  std::vector<std::uint64_t> found;
  for (std::uint64_t number; stream >> number;) found.push_back(number);
  return found;
}

}  // namespace divvy::interposer::test
