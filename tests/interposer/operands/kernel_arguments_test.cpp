// What is found among a launch's arguments, and how it is kept how large they are.
#include "operands/kernel_arguments.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

namespace divvy::interposer {
namespace {

constexpr std::uint64_t kA = 0x7f12'3400'0000, kB = 0x7f12'3400'0010, kC = 0x7f99'0000'0008;

// As they come, those that are one of the three.
struct Found {
  std::vector<std::uint64_t> values;
  unsigned looked = 0;
  void operator()(std::uint64_t value) {
    ++looked;
    if (value == kA || value == kB || value == kC) values.push_back(value);
  }
};

ParamSizes sizesOf(std::initializer_list<std::uint16_t> list) {
  ParamSizes sizes;
  for (const std::uint16_t size : list) sizes.of[sizes.count++] = size;
  return sizes;
}

TEST(KernelArguments, SmallAndLargeParameters_OnlyPointersRead) {
  // Behind what is smaller than an address lies one: who reads on finds it.
  struct {
    std::uint32_t number = 7;
    std::uint64_t beside = kB;
  } __attribute__((packed)) small;
  std::uint64_t one = kA, other = kC;
  void* params[] = {&one, &small.number, &other};
  Found found;
  EXPECT_TRUE(scanParams(sizesOf({8, 4, 8}), params, std::ref(found)));
  EXPECT_EQ(found.values, (std::vector<std::uint64_t>{kA, kC}));
  EXPECT_EQ(found.looked, 2u);
}

TEST(KernelArguments, StructuresByValue_PointersInsideFound) {
  struct {
    std::uint32_t rows = 1;
    std::uint64_t data = kA;  // at 4: packed
    std::uint32_t columns = 2;
    std::uint64_t more[2] = {kB, 17};
    char tail[3] = {};
  } __attribute__((packed)) const by_value;
  void* params[] = {const_cast<void*>(static_cast<const void*>(&by_value))};
  Found found;
  EXPECT_TRUE(scanParams(sizesOf({sizeof by_value}), params, std::ref(found)));
  EXPECT_EQ(found.values, (std::vector<std::uint64_t>{kA, kB}));
}

TEST(KernelArguments, UnalignedParameter_PointerFound) {
  char memory[32] = {};
  std::memcpy(memory + 3, &kA, sizeof kA);
  void* params[] = {memory + 3};
  Found found;
  EXPECT_TRUE(scanParams(sizesOf({8}), params, std::ref(found)));
  EXPECT_EQ(found.values, std::vector<std::uint64_t>{kA});
}

TEST(KernelArguments, ParametersAboveBound_ScanIncomplete) {
  std::vector<std::uint64_t> large(1024);
  large[511] = kA;
  large[512] = kB;  // beyond 4096 bytes
  void* params[] = {large.data(), large.data()};
  Found found;
  EXPECT_FALSE(scanParams(sizesOf({8192, 8}), params, std::ref(found)));
  EXPECT_EQ(found.values, std::vector<std::uint64_t>{kA});
  ParamSizes many = sizesOf({8});
  many.more = true;
  EXPECT_FALSE(scanParams(many, params, std::ref(found)));
}

TEST(KernelArguments, ExtraBuffer_ScannedUpToItsSize) {
  std::uint64_t buffer[4] = {kA, 1, kB, kC};
  std::size_t bytes = 24;
  void* extra[] = {reinterpret_cast<void*>(1), buffer, reinterpret_cast<void*>(2), &bytes, nullptr};
  Found found;
  EXPECT_TRUE(scanExtra(extra, std::ref(found)));
  EXPECT_EQ(found.values, (std::vector<std::uint64_t>{kA, kB})) << "the last is beyond its end";
  void* other_order[] = {reinterpret_cast<void*>(2), &bytes, reinterpret_cast<void*>(1), buffer,
                         nullptr};
  found.values.clear();
  EXPECT_TRUE(scanExtra(other_order, std::ref(found)));
  EXPECT_EQ(found.values.size(), 2u);
  void* half[] = {reinterpret_cast<void*>(1), buffer, nullptr};
  EXPECT_FALSE(scanExtra(half, std::ref(found))) << "nobody says how large it is";
}

// ---- the table
// -----------------------------------------------------------------------------------

TEST(KernelParamCache, KeptSizes_FoundUntilPlaceReused) {
  const auto table = std::make_unique<KernelParamCache>();
  ParamSizes out;
  EXPECT_FALSE(table->find(0x1000, &out));
  const ParamSizes one = sizesOf({8, 4, 200}), other = sizesOf({16});
  table->keep(0x1000, one);
  ASSERT_TRUE(table->find(0x1000, &out));
  EXPECT_EQ(out, one);
  table->keep(0x1000, other);
  ASSERT_TRUE(table->find(0x1000, &out));
  EXPECT_EQ(out, other) << "one place for each";
  // Far more than there is room for: the latest is there, and whatever is there is its own.
  for (std::uint64_t i = 1; i <= 8 * KernelParamCache::kRoom; ++i) {
    const ParamSizes sizes =
        sizesOf({static_cast<std::uint16_t>(i), static_cast<std::uint16_t>(i)});
    table->keep(i << 4, sizes);
    ASSERT_TRUE(table->find(i << 4, &out));
    ASSERT_EQ(out, sizes);
  }
  std::size_t kept = 0;
  for (std::uint64_t i = 1; i <= 8 * KernelParamCache::kRoom; ++i) {
    if (!table->find(i << 4, &out)) continue;
    ++kept;
    EXPECT_EQ(out.of[0], static_cast<std::uint16_t>(i));
  }
  EXPECT_GT(kept, KernelParamCache::kRoom / 2);
  EXPECT_LE(kept, KernelParamCache::kRoom);
  table->forgetAfterFork();
  EXPECT_FALSE(table->find(0x1000, &out));
}

TEST(KernelParamCache, ConcurrentWriters_ReaderSeesFullEntries) {
  const auto table = std::make_unique<KernelParamCache>();
  // Of each kernel all sizes are the same number.
  const auto allOf = [](std::uint16_t size) {
    ParamSizes sizes;
    while (sizes.count < ParamSizes::kMax) sizes.of[sizes.count++] = size;
    return sizes;
  };
  std::atomic<bool> stop{false};
  std::vector<std::thread> writers;
  for (std::uint16_t writer = 0; writer < 2; ++writer) {
    writers.emplace_back([&, writer] {
      for (std::uint16_t i = writer; !stop; i = static_cast<std::uint16_t>(i + 2)) {
        table->keep(0x4000, allOf(i));
      }
    });
  }
  // Threads may begin late: it goes on until enough was read.
  constexpr unsigned kReads = 20'000;
  unsigned read = 0;
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (read < kReads && std::chrono::steady_clock::now() < end) {
    ParamSizes out;
    if (!table->find(0x4000, &out)) continue;
    ++read;
    ASSERT_EQ(out, allOf(out.of[0]));
  }
  stop = true;
  for (std::thread& writer : writers) writer.join();
  ParamSizes out;
  EXPECT_TRUE(table->find(0x4000, &out));
  EXPECT_EQ(read, kReads);
}

}  // namespace
}  // namespace divvy::interposer
