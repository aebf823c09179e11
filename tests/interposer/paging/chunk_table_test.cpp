#include "paging/chunk_table.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace divvy::interposer {
namespace {

constexpr std::uint64_t kGranule = 2 << 20;
constexpr std::uint64_t kBase = 0x7f00'0000'0000;

class ChunkTableTest : public testing::Test {
 protected:
  ChunkTableTest() { EXPECT_TRUE(table_.setGranule(kGranule)); }

  // A published block of chunks of one granule each.
  std::uint32_t makeBlock(std::uint64_t address, unsigned chunks, unsigned device = 0) {
    const std::uint32_t number = table_.begin();
    SwapBlock& block = table_.block(number);
    block.address = address;
    block.device = device;
    block.reserved = chunks * kGranule;
    for (unsigned i = 0; i < chunks; ++i) {
      EXPECT_NE(table_.addChunk(number, address + i * kGranule, kGranule, ChunkState::kReserved),
                ChunkTable::kNone);
    }
    EXPECT_TRUE(table_.publish(number));
    return number;
  }

  ChunkTable table_;
};

// The table of issue 4's contract, b.6.
TEST(ChunkState, AllPairs_OnlyListedTransitionsAllowed) {
  using enum ChunkState;
  const std::vector<std::pair<ChunkState, ChunkState>> legal = {
      {kFree, kReserved},         {kFree, kSwappingIn},       {kReserved, kSwappingIn},
      {kReserved, kFreeing},      {kDevice, kSwappingOut},    {kDevice, kSwappingIn},
      {kDevice, kPinned},         {kDevice, kFreeing},        {kSwappingOut, kSwappedOut},
      {kSwappingOut, kDevice},    {kSwappedOut, kSwappingIn}, {kSwappedOut, kHost},
      {kSwappedOut, kFreeing},    {kSwappingIn, kDevice},     {kSwappingIn, kPinned},
      {kSwappingIn, kSwappedOut}, {kSwappingIn, kReserved},   {kSwappingIn, kHost},
      {kHost, kSwappingIn},       {kHost, kFreeing},          {kHost, kSwappingOut},
      {kSwappingOut, kHost},      {kFreeing, kFree},          {kPinned, kDevice},
      {kPinned, kSwappingIn},     {kPinned, kFreeing}};
  for (unsigned from = 0; from < kChunkStates; ++from) {
    for (unsigned to = 0; to < kChunkStates; ++to) {
      bool wanted = false;
      for (const auto& [a, b] : legal) {
        wanted = wanted || (static_cast<unsigned>(a) == from && static_cast<unsigned>(b) == to);
      }
      EXPECT_EQ(mayBecome(ChunkState{from}, ChunkState{to}), wanted) << from << " -> " << to;
    }
  }
}

TEST_F(ChunkTableTest, AddressInBlock_FindsItsChunk) {
  const std::uint32_t block = makeBlock(kBase, 3);
  ChunkTable::Place place{};
  for (unsigned i = 0; i < 3; ++i) {
    for (const std::uint64_t offset : {std::uint64_t{0}, std::uint64_t{1}, kGranule - 1}) {
      ASSERT_TRUE(table_.find(kBase + i * kGranule + offset, &place));
      EXPECT_EQ(place.block, block);
      EXPECT_EQ(table_.chunk(place.chunk).address, kBase + i * kGranule);
    }
  }
  EXPECT_FALSE(table_.find(kBase - 1, &place));
  EXPECT_FALSE(table_.find(kBase + 3 * kGranule, &place));
}

TEST_F(ChunkTableTest, Chunks_LinkedByAddress) {
  const SwapBlock& block = table_.block(makeBlock(kBase, 4));
  EXPECT_EQ(block.count, 4u);
  std::uint32_t number = block.first;
  for (unsigned i = 0; i < 4; ++i) {
    ASSERT_NE(number, ChunkTable::kNone);
    EXPECT_EQ(table_.chunk(number).address, kBase + i * kGranule);
    number = table_.chunk(number).next;
  }
  EXPECT_EQ(number, ChunkTable::kNone);
}

TEST_F(ChunkTableTest, Take_OnceAndByFirstAddressOnly) {
  const std::uint32_t block = makeBlock(kBase, 2);
  EXPECT_EQ(table_.take(kBase + kGranule), ChunkTable::kNone);
  EXPECT_FALSE(table_.take(block + 1, kBase)) << "another block is at this address";
  EXPECT_EQ(table_.take(kBase), block);
  EXPECT_EQ(table_.take(kBase), ChunkTable::kNone);
  ASSERT_TRUE(table_.publish(block)) << "the driver refused to free it";
  EXPECT_TRUE(table_.take(block, kBase));
}

TEST_F(ChunkTableTest, LastReferenceDropped_SaidToBeLast) {
  const std::uint32_t number = makeBlock(kBase, 2);
  SwapBlock& block = table_.block(number);
  const std::uint32_t first = block.first, second = table_.chunk(first).next;
  ASSERT_EQ(table_.take(kBase), number);
  ASSERT_TRUE((table_.chunk(second).advance<ChunkState::kReserved, ChunkState::kFreeing>()));
  EXPECT_FALSE(table_.drop(second));
  EXPECT_FALSE(table_.drop(block));
  ChunkTable::Place place{};
  EXPECT_FALSE(table_.find(kBase + kGranule, &place)) << "it is gone";
  EXPECT_TRUE(table_.find(kBase, &place)) << "somebody has yet to bring it out of a busy state";
  ASSERT_TRUE((table_.chunk(first).advance<ChunkState::kReserved, ChunkState::kFreeing>()));
  EXPECT_TRUE(table_.drop(first));
  table_.end(number);
}

TEST_F(ChunkTableTest, ForEach_VisitsByDeviceUntilStopped) {
  makeBlock(kBase, 3, 0);
  makeBlock(kBase + 64 * kGranule, 2, 1);
  unsigned on_0 = 0, on_1 = 0, all = 0;
  table_.forEachOn(0, [&](std::uint32_t, Chunk&) { return ++on_0 != 0; });
  table_.forEachOn(1, [&](std::uint32_t, Chunk&) { return ++on_1 != 0; });
  table_.forEach([&](std::uint32_t, Chunk&) { return ++all != 4; });
  EXPECT_EQ(on_0, 3u);
  EXPECT_EQ(on_1, 2u);
  EXPECT_EQ(all, 4u) << "until the visitor has seen enough";
}

TEST_F(ChunkTableTest, Granule_OneForAllDevices) {
  EXPECT_TRUE(table_.setGranule(kGranule));
  EXPECT_FALSE(table_.setGranule(kGranule / 2));
  ChunkTable other;
  EXPECT_FALSE(other.any());
  EXPECT_FALSE(other.setGranule(0));
  EXPECT_FALSE(other.setGranule(1));
  EXPECT_FALSE(other.setGranule(3 << 16));
  EXPECT_TRUE(other.setGranule(1 << 16));
  EXPECT_TRUE(other.any());
}

TEST_F(ChunkTableTest, RecordReused_OldGenerationCannotFree) {
  const std::uint32_t block = makeBlock(kBase, 1);
  const std::uint32_t number = table_.block(block).first;
  Chunk& chunk = table_.chunk(number);
  const std::uint32_t before = chunk.generation();
  ASSERT_EQ(chunk.claimForFreeing(before), ChunkState::kReserved);
  EXPECT_EQ(chunk.claimForFreeing(before), ChunkState::kFree) << "it is being freed";
  table_.drop(number);
  std::uint32_t again = ChunkTable::kNone;
  for (int i = 0; i < 5000 && again != number; ++i) {
    again =
        table_.addChunk(block, kBase + 64 * kGranule * (i + 1), kGranule, ChunkState::kReserved);
  }
  ASSERT_EQ(again, number) << "the record was never used again";
  EXPECT_EQ(chunk.claimForFreeing(before), ChunkState::kFree);
  EXPECT_EQ(chunk.claimForFreeing(chunk.generation()), ChunkState::kReserved);
}

TEST_F(ChunkTableTest, AfterFork_Empty) {
  makeBlock(kBase, 2);
  table_.forgetAfterFork();
  ChunkTable::Place place{};
  EXPECT_FALSE(table_.find(kBase, &place));
  EXPECT_EQ(table_.take(kBase), ChunkTable::kNone);
  EXPECT_FALSE(table_.any());
}

// What an application's frees and a mover do to each other: of a chunk that is freed while it is
// on its way, exactly one of the two undoes it, and somebody does.
TEST_F(ChunkTableTest, FreeRacesPager_ChunkUndoneOnce) {
  constexpr int kRounds = 20'000;
  std::atomic<std::uint32_t> current{ChunkTable::kNone};
  std::atomic<int> undone{0};
  std::atomic<bool> done{false};
  const auto undo = [&](Chunk& chunk, std::uint32_t number, std::uint32_t generation) {
    if (chunk.claimForFreeing(generation) == ChunkState::kFree) return;
    const std::uint32_t block = chunk.block.load();
    if (table_.drop(number)) table_.end(block);
    ++undone;
  };
  std::thread pager([&] {
    while (!done.load(std::memory_order_acquire)) {
      const std::uint32_t number = current.load(std::memory_order_acquire);
      if (number == ChunkTable::kNone) continue;
      Chunk& chunk = table_.chunk(number);
      if (!chunk.advance<ChunkState::kDevice, ChunkState::kSwappingOut>()) continue;
      const std::uint32_t generation = chunk.generation();
      ASSERT_TRUE((chunk.advance<ChunkState::kSwappingOut, ChunkState::kDevice>()));
      if (chunk.has(kDoomed)) undo(chunk, number, generation);
    }
  });
  for (int i = 0; i < kRounds; ++i) {
    const std::uint32_t block = table_.begin();
    table_.block(block).address = kBase;
    table_.block(block).device = 0;
    const std::uint32_t number = table_.addChunk(block, kBase, kGranule, ChunkState::kSwappingIn);
    Chunk& chunk = table_.chunk(number);
    ASSERT_TRUE((chunk.advance<ChunkState::kSwappingIn, ChunkState::kDevice>()));
    current.store(number, std::memory_order_release);
    const std::uint32_t generation = chunk.generation();
    ASSERT_EQ(undone.load(), i) << "a record's next chunk was freed for its last one";
    chunk.set(kDoomed);
    undo(chunk, number, generation);
    if (table_.drop(table_.block(block))) table_.end(block);
    while (undone.load() <= i) std::this_thread::yield();
  }
  done.store(true, std::memory_order_release);
  pager.join();
  EXPECT_EQ(undone.load(), kRounds);
}

}  // namespace
}  // namespace divvy::interposer
