#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>

#include "ledger/layout_hash.h"
#include "ledger/packed_words.h"
#include "ledger/pins.h"
#include "ledger/registration.h"

namespace divvy::ledger {
namespace {

// B8: the offsets are written as static_asserts beside the structs. This number holds them all at
// once: when it changes, pages of running tenants cannot be read any more, and kMajor must grow.
TEST(LedgerLayout, HashOfVersion1_B8Frozen) {
  EXPECT_EQ(kLayoutHash, 10181153834039628067u);
}

TEST(LedgerLayout, FieldsOfEachWriter_B8OwnCacheLines) {
  // The owner of a lane, its overwriters, the agent and the tenant's other processes.
  EXPECT_EQ(offsetof(Slot, committed) % 64, 0u);
  EXPECT_EQ(offsetof(Slot, counters) % 64, 0u);
  EXPECT_EQ(offsetof(Slot, lanes) % 64, 0u);
  EXPECT_EQ(sizeof(Lane) % 64, 0u);
  EXPECT_EQ(offsetof(Lane, used) % 64, 0u);
  EXPECT_EQ(offsetof(Lane, spare) % 64, 0u);
  EXPECT_EQ(sizeof(DeviceReport) % 64, 0u);
  EXPECT_EQ(offsetof(DeviceReport, resident_bytes) % 64, 0u);
  EXPECT_EQ(offsetof(ControlHeader, agent_epoch) % 64, 0u);
  EXPECT_EQ(offsetof(DeviceControl, mem_guarantee) % 64, 0u);
  EXPECT_EQ(offsetof(DeviceControl, grant_word) % 64, 0u);
  EXPECT_EQ(offsetof(DeviceControl, swap_seq) % 64, 0u);
}

TEST(Layout, Magics_ReadAsText) {
  EXPECT_EQ(std::memcmp(&kControlMagic, "DIVVYCTL", 8), 0);
  EXPECT_EQ(std::memcmp(&kReportMagic, "DIVVYRPT", 8), 0);
  EXPECT_EQ(std::memcmp(&kRegisterMagic, "DVRG", 4), 0);
}

// A tenant of yesterday's version is read by tomorrow's agent.
TEST(Layout, PinReasons_KeepNumbersAndWords) {
  const char* const in_order[] = {"context",
                                  "managed memory",
                                  "arrays",
                                  "shared pools",
                                  "graph memory",
                                  "imported memory",
                                  "exported memory",
                                  "IPC handles",
                                  "use by other devices",
                                  "collectives",
                                  "32-bit addresses",
                                  "allocated before",
                                  "the driver lacks the required functions",
                                  "multicast",
                                  "sparse arrays",
                                  "devices without access",
                                  "no host memory",
                                  "too many addresses"};
  unsigned bit = 0;
  for (const char* words : in_order) EXPECT_STREQ(pinWords(PinReason{bit++}), words);
  for (; bit < 64; ++bit) EXPECT_EQ(pinWords(PinReason{bit}), nullptr) << bit;
}

TEST(Words, PackAndUnpack_AreInverse) {
  for (const std::uint32_t slot : {0u, 1u, 4095u, kMaxSlots}) {
    for (std::uint32_t lane = 0; lane < kLanes; ++lane) {
      for (const std::uint64_t seq : {std::uint64_t{1}, std::uint64_t{12345678901}, kMaxSeq}) {
        const Tag tag{slot, lane, seq};
        EXPECT_EQ(unpackTag(packTag(tag)), tag);
      }
    }
  }
  const Owner owner{4194303, (1ull << 40) - 1};
  EXPECT_EQ(unpackOwner(packOwner(owner)), owner);
  EXPECT_EQ(stateGeneration(packState(77, Phase::kReaping)), 77u);
  EXPECT_EQ(statePhase(packState(77, Phase::kReaping)), Phase::kReaping);
}

TEST(Words, Counters_Saturate) {
  std::uint64_t counter = UINT64_MAX - 1;
  bumpOwned(counter, 5);
  EXPECT_EQ(counter, UINT64_MAX);
  bumpShared(counter, 5);
  EXPECT_EQ(counter, UINT64_MAX);
}

TEST(Words, CasPair_ChangesBothHalvesOrNone) {
  Pair word{1, 2};
  Pair expected{1, 3};
  EXPECT_FALSE(casPair(word, expected, {9, 9}));
  EXPECT_EQ(expected.low, 1u);
  EXPECT_EQ(expected.high, 2u);
  EXPECT_TRUE(casPair(word, expected, {9, 8}));
  EXPECT_EQ(word.low, 9u);
  EXPECT_EQ(word.high, 8u);
}

}  // namespace
}  // namespace divvy::ledger
