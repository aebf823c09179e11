#include "allocator/arena_units.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <thread>
#include <vector>

namespace divvy::interposer {
namespace {

constexpr std::uint32_t kUnits = 4096;  // 2 MiB

class ArenaUnitsTest : public testing::Test {
 protected:
  ArenaUnitsTest() { EXPECT_TRUE(pieces_.begin(kUnits)); }

  std::uint32_t unitsOf(std::uint32_t bytes) const { return (bytes + 511) / 512; }
  void free(std::uint32_t piece) {
    EXPECT_TRUE(pieces_.end(piece, false));
    pieces_.give(piece);
  }
  std::uint32_t startOf(std::uint32_t unit) const {
    ArenaUnits::ArenaUnit found;
    return pieces_.find(unit, &found);
  }

  ArenaUnits pieces_{};
};

TEST_F(ArenaUnitsTest, SeveralBlocks_AdjacentAndFoundByUnit) {
  EXPECT_EQ(pieces_.take(1, 7), 0u);
  EXPECT_EQ(pieces_.take(513, 8), 1u);
  EXPECT_EQ(pieces_.take(512 * 200, 9), 3u);
  EXPECT_EQ(pieces_.take(512, 10), 203u);
  ArenaUnits::ArenaUnit found;
  EXPECT_EQ(pieces_.find(2, &found), 1u);
  EXPECT_EQ(found.bytes, 513u);
  EXPECT_EQ(found.id, 8u);
  EXPECT_EQ(pieces_.find(202, &found), 3u);
  EXPECT_EQ(found.id, 9u);
  EXPECT_EQ(startOf(204), ArenaUnits::kNone);
  EXPECT_EQ(startOf(kUnits), ArenaUnits::kNone);
}

TEST_F(ArenaUnitsTest, BlockOfFullArena_LargerRefusedUntilFreed) {
  EXPECT_EQ(pieces_.take(kUnits * 512 + 1, 1), ArenaUnits::kNone);
  EXPECT_EQ(pieces_.take(0, 1), ArenaUnits::kNone);
  EXPECT_EQ(pieces_.take(kUnits * 512, 1), 0u);
  EXPECT_EQ(pieces_.take(1, 2), ArenaUnits::kNone);
  EXPECT_EQ(startOf(kUnits - 1), 0u);
  free(0);
  EXPECT_EQ(pieces_.take(1, 2), 0u);
}

TEST_F(ArenaUnitsTest, FreedGap_ReusedByBlocksThatFit) {
  const std::uint32_t gap = pieces_.take(512 * 100, 1), after = pieces_.take(512, 2);
  free(gap);
  EXPECT_EQ(startOf(gap), ArenaUnits::kNone);
  EXPECT_EQ(pieces_.take(512 * 101, 3), after + 1);
  EXPECT_EQ(pieces_.take(512 * 70, 4), gap);
  EXPECT_EQ(pieces_.take(512 * 30, 5), gap + 70);
}

TEST_F(ArenaUnitsTest, SecondEnd_RefusedAndUnitsKeptUntilGiven) {
  const std::uint32_t piece = pieces_.take(5000, 1);
  EXPECT_TRUE(pieces_.end(piece, false));
  EXPECT_FALSE(pieces_.end(piece, false));
  EXPECT_EQ(startOf(piece), ArenaUnits::kNone) << "it is nobody's";
  EXPECT_NE(pieces_.take(5000, 2), piece) << "but its room is not free yet";
  pieces_.give(piece);
  EXPECT_EQ(pieces_.take(5000, 3), piece);
}

TEST_F(ArenaUnitsTest, DoomedBlocks_UnitsGivenAtNextDue) {
  const std::uint32_t one = pieces_.take(5000, 1), other = pieces_.take(5000, 2);
  EXPECT_TRUE(pieces_.end(one, true));
  EXPECT_EQ(pieces_.giveDue(), 0u);
  EXPECT_EQ(pieces_.spend(), 1u);
  EXPECT_TRUE(pieces_.end(other, true)) << "too late for this time";
  EXPECT_EQ(pieces_.giveDue(), 1u);
  EXPECT_EQ(pieces_.take(5000, 3), one);
  EXPECT_EQ(pieces_.spend(), 1u);
  EXPECT_EQ(pieces_.giveDue(), 1u);
  EXPECT_EQ(pieces_.take(5000, 4), other);
}

TEST_F(ArenaUnitsTest, BeginAgain_BlocksAndFlagsForgotten) {
  const std::uint32_t piece = pieces_.take(5000, 1);
  pieces_.setSyncMemops(piece, true);
  EXPECT_TRUE(pieces_.begin(kUnits / 2));
  EXPECT_EQ(startOf(piece), ArenaUnits::kNone);
  EXPECT_EQ(pieces_.take(kUnits / 2 * 512, 2), 0u);
  ArenaUnits::ArenaUnit found;
  EXPECT_EQ(pieces_.find(0, &found), 0u);
  EXPECT_FALSE(found.sync_memops);
  EXPECT_TRUE(pieces_.begin(kUnits * 2)) << "more than ever before";
  EXPECT_EQ(pieces_.take(kUnits * 2 * 512, 3), 0u);
}

// Against a list of what is where.
TEST_F(ArenaUnitsTest, RandomTakesAndFrees_BlocksNeverOverlap) {
  std::mt19937 random(1);
  std::map<std::uint32_t, std::uint32_t> live;  // first unit: bytes
  for (int i = 0; i < 20'000; ++i) {
    if (live.empty() || random() % 2 == 0) {
      const std::uint32_t bytes =
          1 + static_cast<std::uint32_t>(random() % (random() % 200'000 + 1));
      const std::uint32_t piece = pieces_.take(bytes, static_cast<std::uint64_t>(i));
      if (piece == ArenaUnits::kNone) continue;
      const auto after = live.lower_bound(piece);
      ASSERT_TRUE(after == live.end() || piece + unitsOf(bytes) <= after->first);
      ASSERT_TRUE(after == live.begin() ||
                  std::prev(after)->first + unitsOf(std::prev(after)->second) <= piece);
      ASSERT_LE(piece + unitsOf(bytes), kUnits);
      live[piece] = bytes;
    } else {
      const auto gone = std::next(live.begin(), static_cast<long>(random() % live.size()));
      free(gone->first);
      live.erase(gone);
    }
    const auto unit = static_cast<std::uint32_t>(random() % kUnits);
    const auto after = live.upper_bound(unit);
    std::uint32_t expected = ArenaUnits::kNone;
    if (after != live.begin() &&
        unit - std::prev(after)->first < unitsOf(std::prev(after)->second)) {
      expected = std::prev(after)->first;
    }
    ASSERT_EQ(startOf(unit), expected);
  }
}

TEST_F(ArenaUnitsTest, ConcurrentTakes_NoUnitShared) {
  std::vector<std::atomic<int>> users(kUnits);
  std::vector<std::thread> threads;
  std::atomic<int> shared{0};
  for (unsigned t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937 random(t);
      for (int i = 0; i < 5000; ++i) {
        const std::uint32_t bytes = 1 + static_cast<std::uint32_t>(random() % 400'000);
        const std::uint32_t piece = pieces_.take(bytes, t);
        if (piece == ArenaUnits::kNone) continue;
        for (std::uint32_t u = piece; u < piece + unitsOf(bytes); ++u) shared += users[u]++ != 0;
        for (std::uint32_t u = piece; u < piece + unitsOf(bytes); ++u) --users[u];
        free(piece);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(shared, 0);
  EXPECT_EQ(pieces_.take(kUnits * 512, 1), 0u) << "and nothing is left behind";
}

}  // namespace
}  // namespace divvy::interposer
