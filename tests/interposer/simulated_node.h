// A simulated node in a private directory, and a tenant on it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "nvml_fake_driver.h"
#include "run_program.h"

namespace divvy::interposer::test {

struct SimulatedCard {
  std::string uuid;
  std::string pci;  // "0000:3B:00.0"
};

class SimulatedNode {
 public:
  explicit SimulatedNode(const std::string& profile);
  ~SimulatedNode();
  SimulatedNode(const SimulatedNode&) = delete;
  SimulatedNode& operator=(const SimulatedNode&) = delete;

  // As the bare driver lists them.
  const std::vector<SimulatedCard>& cards() const { return cards_; }
  // For a program without Divvy.
  Environment bare() const;
  // For a program of the tenant, with both libraries preloaded.
  Environment inside(const TenantDir& tenant) const;

  // A tenant with a share of `ceiling` on each of these cards, in this order.
  std::unique_ptr<TenantDir> tenantOf(const std::vector<unsigned>& cards, Bytes ceiling) const;

  // nvml_probe with these questions.
  ProgramResult ask(const Environment& environment,
                    const std::vector<std::string>& questions) const;

 private:
  std::string profile_;
  std::string dir_;
  std::vector<SimulatedCard> cards_;
};

// "0 a b c" -> {0, a, b, c}
std::vector<std::uint64_t> numbers(const std::string& answer);

}  // namespace divvy::interposer::test
