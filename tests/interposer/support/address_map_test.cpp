#include "support/address_map.h"

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <thread>
#include <vector>

namespace divvy::interposer {
namespace {

TEST(AddressMap, InsertedBlock_TakenOnce) {
  AddressMap map;
  const Block block{4096, 3, BlockKind::kManaged};
  ASSERT_TRUE(map.insert(0x7f0000000000, block));
  Block out;
  ASSERT_TRUE(map.find(0x7f0000000000, &out));
  EXPECT_EQ(out, block);
  ASSERT_TRUE(map.take(0x7f0000000000, &out));
  EXPECT_EQ(out, block);
  EXPECT_FALSE(map.take(0x7f0000000000, &out));
  EXPECT_FALSE(map.find(0x7f0000000000, &out));
}

TEST(AddressMap, EmptyMap_TakeFails) {
  AddressMap map;
  Block out;
  EXPECT_FALSE(map.take(42, &out));
  EXPECT_EQ(map.capacity(), 0u);
}

TEST(AddressMap, KeysZeroAndOne_StoredAsKeys) {
  AddressMap map;
  Block out;
  EXPECT_FALSE(map.find(0, &out));
  EXPECT_TRUE(map.insert(0, {10, 0, BlockKind::kOther}));
  EXPECT_TRUE(map.insert(1, {11, 0, BlockKind::kOther}));
  ASSERT_TRUE(map.take(0, &out));
  EXPECT_EQ(out.bytes, 10u);
  ASSERT_TRUE(map.take(1, &out));
  EXPECT_EQ(out.bytes, 11u);
}

TEST(AddressMap, LargestBlockAndDevice_Stored) {
  AddressMap map;
  const Block block{(std::uint64_t{1} << 48) - 1, 15, BlockKind::kOther};
  ASSERT_TRUE(map.insert(512, block));
  Block out;
  ASSERT_TRUE(map.take(512, &out));
  EXPECT_EQ(out, block);
}

// Small handles, addresses 512 bytes apart and addresses 32 MiB apart must all spread well: a map
// that grows much beyond its content would touch ever more memory.
TEST(AddressMap, HundredThousandKeysOfAnySpacing_FoundInBoundedMap) {
  for (const std::uint64_t spacing : {1ull, 512ull, 2ull << 20, 32ull << 20}) {
    AddressMap map;
    for (std::uint64_t i = 0; i < 100'000; ++i) {
      ASSERT_TRUE(map.insert(0x10000 + i * spacing, {i, 0, BlockKind::kPlain}));
    }
    EXPECT_LE(map.capacity(), 1'500'000u) << spacing;
    for (std::uint64_t i = 0; i < 100'000; ++i) {
      Block out;
      ASSERT_TRUE(map.take(0x10000 + i * spacing, &out)) << spacing;
      ASSERT_EQ(out.bytes, i);
    }
  }
}

TEST(AddressMap, MillionReplacements_CapacityUnchanged) {
  AddressMap map;
  std::mt19937_64 random(7);
  std::vector<std::uint64_t> live;
  for (int i = 0; i < 1000; ++i) {
    live.push_back(random() >> 8);
    ASSERT_TRUE(map.insert(live.back(), {1, 0, BlockKind::kPlain}));
  }
  for (int i = 0; i < 1'000'000; ++i) {
    std::uint64_t& key = live[random() % live.size()];
    Block out;
    ASSERT_TRUE(map.take(key, &out));
    key = random() >> 8;
    ASSERT_TRUE(map.insert(key, {1, 0, BlockKind::kPlain}));
  }
  EXPECT_LE(map.capacity(), 24'576u) << "the first segment";
}

TEST(AddressMap, ForEachWithTake_VisitsEveryBlock) {
  AddressMap map;
  for (std::uint64_t i = 0; i < 20'000; ++i) map.insert(i, {1, 0, BlockKind::kPlain});
  struct Visit {
    AddressMap* map;
    std::set<std::uint64_t> keys;
  } visit{&map, {}};
  map.forEach(
      [](void* context, std::uint64_t key, Block) {
        auto* seen = static_cast<Visit*>(context);
        Block out;
        if (seen->map->take(key, &out)) seen->keys.insert(key);
      },
      &visit);
  EXPECT_EQ(visit.keys.size(), 20'000u);
  Block out;
  EXPECT_FALSE(map.find(17, &out));
}

TEST(AddressMap, ConcurrentChurn_NothingLost) {
  AddressMap map;
  constexpr int kThreads = 4;
  constexpr std::uint64_t kKeys = 5000;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&map, t] {
      const std::uint64_t base = 0x1000000ull * (t + 1);
      for (int round = 0; round < 20; ++round) {
        for (std::uint64_t i = 0; i < kKeys; ++i) {
          ASSERT_TRUE(map.insert(base + i * 512, {i, 1, BlockKind::kPlain}));
        }
        for (std::uint64_t i = 0; i < kKeys; ++i) {
          Block out;
          ASSERT_TRUE(map.take(base + i * 512, &out));
          ASSERT_EQ(out.bytes, i);
        }
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_LE(map.capacity(), 400'000u);
}

TEST(AddressMap, ConcurrentTakers_OneSucceeds) {
  AddressMap map;
  for (int round = 0; round < 2000; ++round) {
    map.insert(512, {1, 0, BlockKind::kPlain});
    std::atomic<int> winners{0};
    std::thread other([&] {
      Block out;
      winners += map.take(512, &out);
    });
    Block out;
    winners += map.take(512, &out);
    other.join();
    ASSERT_EQ(winners, 1);
  }
}

TEST(AddressMap, ForgetAfterFork_MapEmptyAndUsable) {
  AddressMap map;
  map.insert(512, {1, 0, BlockKind::kPlain});
  map.forgetAfterFork();
  Block out;
  EXPECT_FALSE(map.find(512, &out));
  EXPECT_TRUE(map.insert(512, {2, 0, BlockKind::kPlain}));
  ASSERT_TRUE(map.take(512, &out));
  EXPECT_EQ(out.bytes, 2u);
}

}  // namespace
}  // namespace divvy::interposer
