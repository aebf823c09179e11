#include "card/profile.h"

#include "cuda/memory/poison.h"

#include <gtest/gtest.h>

#include <set>

#include "simgpu/catalog.h"

namespace divvy::simgpu {
namespace {

TEST(Profile, NamesCountsAndAliases_AreParsed) {
  struct Case {
    const char* text;
    const char* name;
    int cards;
  };
  for (const Case& c :
       {Case{"h100", "h100", 1}, Case{"h100-migx2+H100", "h100-migx2+h100", 9},
        Case{"H100", "h100", 1}, Case{"4090x2", "rtx4090x2", 2}, Case{"rtx4090", "rtx4090", 1},
        Case{"rtx4070x16", "rtx4070x16", 16}, Case{"a100x8", "a100x8", 8},
        Case{"a100-80x4", "a100-80x4", 4}, Case{"v100-16", "v100", 1}, Case{"null", "null", 1},
        Case{"L20+h100x2", "l20+h100x2", 3}}) {
    const auto machine = parseMachine(c.text);
    ASSERT_TRUE(machine) << c.text;
    EXPECT_EQ(machine->name(), c.name);
    EXPECT_EQ(machine->cards.size(), static_cast<std::size_t>(c.cards));
  }
}

TEST(Profile, InvalidText_IsRefused) {
  for (const char* text : {"", "x", "x2", "h100x", "h100x0", "h100x17", "h100x-1", "h100x2x2",
                           "h1000", "h100 ", "rtx", "h100x99999999999999999999", "h100+", "+h100",
                           "h100x9+h100x8", "h100-migx5", "h100+null"}) {
    EXPECT_FALSE(parseMachine(text)) << text;
  }
}

TEST(Profile, EachProfile_FoundByNameAndPlausible) {
  std::set<std::string_view> names;
  for (const Profile& p : profiles()) {
    EXPECT_TRUE(names.insert(p.name).second) << p.name;
    const auto machine = parseMachine(p.name);
    ASSERT_TRUE(machine) << p.name;
    EXPECT_EQ(machine->boards.front(), &p);
    EXPECT_GT(p.usableBytes(), 16 * p.context_bytes) << p.name;
    EXPECT_EQ(p.pci_device_id & 0xffff, 0x10deU) << p.name;
    EXPECT_EQ(p.usableBytes() % (1U << 20), 0U) << p.name;
    EXPECT_EQ(p.vmm_granule & (p.vmm_granule - 1), 0U) << p.name;
    EXPECT_EQ(p.vmm_granule % kPoisonChunk, 0U) << p.name;
  }
  for (const ProfileEntry& entry : profileCatalog()) {
    if (entry.alias.empty()) continue;
    ASSERT_TRUE(findMachine(entry.alias)) << entry.alias;
    EXPECT_EQ(findMachine(entry.alias)->profile, entry.name);
  }
}

TEST(Profile, CardsOfMachine_DistinctStableIdentities) {
  std::set<std::string> uuids;
  std::set<std::string> serials;
  std::uint32_t last_bus = 0;
  const Profile& profile = *parseMachine("h100")->cards.front();
  for (int i = 0; i < 8; ++i) {
    const CardIdentity identity = cardIdentity(profile, i);
    EXPECT_TRUE(uuids.insert(identity.uuidText()).second);
    EXPECT_TRUE(serials.insert(identity.serialText()).second);
    EXPECT_EQ(identity.uuidText().size(), 40U);
    EXPECT_EQ(identity.serialText().size(), 13U);
    EXPECT_GT(identity.pci_bus, last_bus);
    last_bus = identity.pci_bus;
  }
  EXPECT_EQ(cardIdentity(profile, 0).uuidText(), "GPU-9763808f-51d6-4530-a94b-d579fed6196d")
      << "never changes: people write it down";
}

TEST(Profile, MigInstances_OwnUuidOnCardsBus) {
  const Machine machine = *parseMachine("h100+h100-migx2");
  ASSERT_EQ(machine.cards.size(), 9u);
  EXPECT_EQ(machine.board_of, (std::vector<int>{0, 1, 1, 1, 1, 2, 2, 2, 2}));
  std::set<std::string> uuids;
  int slices = 0;
  for (int unit = 0; unit < 9; ++unit) {
    const CardIdentity identity = unitIdentity(machine, unit);
    const std::string uuid = identity.uuidText();
    EXPECT_TRUE(uuids.insert(uuid.substr(4)).second) << uuid;
    EXPECT_EQ(uuid.substr(0, 4), unit == 0 ? "GPU-" : "MIG-");
    const int board = machine.board_of[static_cast<std::size_t>(unit)];
    const CardIdentity card = cardIdentity(*machine.boards[static_cast<std::size_t>(board)], board);
    EXPECT_EQ(identity.pci_bus, card.pci_bus);
    slices += machine.cards[static_cast<std::size_t>(unit)]->slices;
  }
  EXPECT_EQ(slices, 14) << "seven of each card";
}

}  // namespace
}  // namespace divvy::simgpu
