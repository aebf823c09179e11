// The seeds of a fuzzer, and what it ever found, through its own function.
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
extern const char* const kCorpusFolder;

TEST(CorpusReplay, EachSeed_DoesNotCrash) {
  std::size_t seeds = 0;
  for (const auto& entry : std::filesystem::directory_iterator(kCorpusFolder)) {
    std::ifstream file(entry.path(), std::ios::binary);
    const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
    SCOPED_TRACE(entry.path());
    EXPECT_EQ(
        LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()),
        0);
    ++seeds;
  }
  EXPECT_GT(seeds, 0u);
}
