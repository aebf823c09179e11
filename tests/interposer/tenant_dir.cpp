#include "tenant_dir.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "card/profile.h"
#include "ledger/grants.h"
#include "ledger/residency_pages.h"
#include "ledger/tenant_ledger.h"

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

// Everything can be swapped, on all devices.
ledger::SwapSpec swapSpec(const Tenancy& tenancy) {
  ledger::SwapSpec spec;
  spec.chunk = Bytes{tenancy.swap_chunk};
  spec.room_ms = tenancy.swap_room_ms;
  spec.pressure_ms = tenancy.swap_pressure_ms;
  spec.ipc_key = tenancy.ipc_key;
  spec.devices.resize(tenancy.devices.size());
  for (auto& device : spec.devices) device.swappable = true;
  return spec;
}

// What every process to come may have: the first slots are theirs, in the generation in which they
// were made.
void orderAll(const std::string& dir, const simgpu::Machine& machine, const Tenancy& tenancy) {
  constexpr unsigned kProcesses = 64;
  auto pages = ledger::ResidencyPages::open(dir);
  ASSERT_TRUE(pages) << pages.error().message();
  ledger::ResidencyOrder order;
  for (std::size_t i = 0; i < tenancy.devices.size(); ++i) {
    const auto card = static_cast<std::size_t>(tenancy.devices[i]);
    const std::uint64_t all = machine.cards.at(card)->usableBytes();
    order.allowed[i] = std::min(all, tenancy.swap_allowed);
    order.most[i] = std::min(all, tenancy.swap_most);
  }
  for (unsigned slot = 0; slot < kProcesses; ++slot) pages->order(slot, 0, order);
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
  spec.context_overhead_outside = tenancy.context_outside || tenancy.one_outside;
  spec.charges_contexts = !tenancy.context_outside;
  spec.driver_path = tenancy.driver_path;
  if (tenancy.subset_told) spec.node_devices = static_cast<unsigned>(machine->cards.size());
  for (const int card : tenancy.devices) {
    spec.devices.push_back(
        deviceSpec(*machine->cards.at(static_cast<std::size_t>(card)), card, tenancy));
  }
  auto made = ledger::TenantLedger::create(tenant(), spec);
  ASSERT_TRUE(made) << made.error().message();
  if (tenancy.swap || std::getenv("DIVVY_TEST_SWAP") != nullptr) {
    const auto swapped = made->setSwap(swapSpec(tenancy));
    ASSERT_TRUE(swapped) << swapped.error().message();
    if (tenancy.swap_allowed != 0) orderAll(tenant(), *machine, tenancy);
  }
  if (tenancy.card_permille == 0) return;
  auto pages = ledger::GrantPages::open(tenant());
  ASSERT_TRUE(pages) << pages.error().message();
  ledger::GrantOptions terms;
  terms.card_permille = tenancy.card_permille;
  pages->amend(terms);
}

std::string cardUuid(const std::string& machine, int card) {
  const auto found = simgpu::parseMachine(machine);
  if (!found) return "no such machine";
  return simgpu::cardIdentity(*found->cards.at(static_cast<std::size_t>(card)), card).uuidText();
}

}  // namespace divvy::interposer
