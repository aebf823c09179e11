#include "tenant_dir.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "ledger/tenant_ledger.h"
#include "profile.h"

namespace divvy::interposer {
namespace {

namespace fs = std::filesystem;

ledger::DeviceSpec deviceSpec(const simgpu::Profile& profile, int card, const Tenancy& tenancy) {
  ledger::DeviceSpec device;
  device.uuid = simgpu::cardIdentity(profile, card).uuidText();
  device.guarantee = device.ceiling = Bytes{tenancy.ceiling};
  device.headroom = Bytes{tenancy.headroom};
  device.physical = Bytes{profile.usableBytes()};
  device.context = Bytes{profile.context_bytes};
  return device;
}

}  // namespace

TenantDir::TenantDir() {
  std::string path = (fs::temp_directory_path() / "divvy-interposer-XXXXXX").string();
  if (::mkdtemp(path.data()) != nullptr) path_ = path;
}

TenantDir::~TenantDir() {
  std::error_code ignored;
  if (!path_.empty()) fs::remove_all(path_, ignored);
}

void TenantDir::makeTenant(const Tenancy& tenancy) const {
  const auto machine = simgpu::parseMachine(tenancy.machine);
  ASSERT_TRUE(machine) << tenancy.machine;
  ledger::TenantSpec spec;
  spec.id = spec.name = "test";
  spec.context_overhead_outside = tenancy.context_outside;
  spec.driver_path = tenancy.driver_path;
  if (tenancy.subset_told) spec.node_devices = static_cast<unsigned>(machine->cards.size());
  for (const int card : tenancy.devices) {
    spec.devices.push_back(
        deviceSpec(*machine->cards.at(static_cast<std::size_t>(card)), card, tenancy));
  }
  const auto made = ledger::TenantLedger::create(tenant(), spec);
  ASSERT_TRUE(made) << made.error().message();
}

std::string cardUuid(const std::string& machine, int card) {
  const auto found = simgpu::parseMachine(machine);
  if (!found) return "no such machine";
  return simgpu::cardIdentity(*found->cards.at(static_cast<std::size_t>(card)), card).uuidText();
}

}  // namespace divvy::interposer
