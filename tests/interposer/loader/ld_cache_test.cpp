#include "loader/ld_cache.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

namespace divvy::interposer {
namespace {

#if defined(__x86_64__)
constexpr std::uint32_t kNative = 0x0303;
#else
constexpr std::uint32_t kNative = 0x0a03;
#endif
constexpr std::uint32_t kForeign = 0x0003;  // 32-bit

struct Row {
  std::uint32_t flags;
  std::string key;
  std::string value;
  std::uint64_t hwcap = 0;
};

// A cache file in glibc's form; `old_entries` puts the older form in front.
std::string makeCache(const std::vector<Row>& rows, int old_entries = -1) {
  std::string front;
  if (old_entries >= 0) {
    front = "ld.so-1.7.0";
    front.push_back('\0');
    const auto count = static_cast<std::uint32_t>(old_entries);
    front.append(reinterpret_cast<const char*>(&count), 4);
    front.resize(16 + static_cast<std::size_t>(old_entries) * 12);
    front.resize((front.size() + 7) & ~std::size_t{7});
  }
  std::string header = "glibc-ld.so.cache1.1";
  const auto word = [](std::string& to, std::uint32_t value) {
    to.append(reinterpret_cast<const char*>(&value), 4);
  };
  word(header, static_cast<std::uint32_t>(rows.size()));
  std::string entries, strings;
  const std::size_t text_start = 48 + rows.size() * 24;
  const auto add = [&](const std::string& text) {
    const std::size_t at = text_start + strings.size();
    strings += text;
    strings.push_back('\0');
    return static_cast<std::uint32_t>(at);
  };
  for (const Row& row : rows) {
    word(entries, row.flags);
    word(entries, add(row.key));
    word(entries, add(row.value));
    word(entries, 0);
    entries.append(reinterpret_cast<const char*>(&row.hwcap), 8);
  }
  word(header, static_cast<std::uint32_t>(strings.size()));
  header.resize(48);
  return front + header + entries + strings;
}

TEST(LdCache, SeveralEntries_NativeOnesInLoadersOrder) {
  const std::string bytes = makeCache({{kForeign, "libcuda.so.1", "/lib32/libcuda.so.1"},
                                       {kNative, "libc.so.6", "/lib/libc.so.6"},
                                       {kNative, "libcuda.so.1", "/compat/libcuda.so.1"},
                                       {kNative, "libcuda.so.1", "/lib64/libcuda.so.1"}});
  const LdCache cache(bytes.data(), bytes.size());
  EXPECT_STREQ(cache.entry("libcuda.so.1", 0), "/compat/libcuda.so.1");
  EXPECT_STREQ(cache.entry("libcuda.so.1", 1), "/lib64/libcuda.so.1");
  EXPECT_EQ(cache.entry("libcuda.so.1", 2), nullptr);
  EXPECT_EQ(cache.entry("libcuda.so", 0), nullptr);
}

TEST(LdCache, FileWithBothTables_EntryFound) {
  const std::string bytes = makeCache({{kNative, "libcuda.so.1", "/lib64/libcuda.so.1"}}, 3);
  const LdCache cache(bytes.data(), bytes.size());
  EXPECT_STREQ(cache.entry("libcuda.so.1", 0), "/lib64/libcuda.so.1");
}

TEST(LdCache, EntryForParticularProcessor_Skipped) {
  const std::string bytes =
      makeCache({{kNative, "libcuda.so.1", "/lib64/glibc-hwcaps/x/libcuda.so.1", 1ull << 62},
                 {kNative, "libcuda.so.1", "/lib64/libcuda.so.1"}});
  const LdCache cache(bytes.data(), bytes.size());
  EXPECT_STREQ(cache.entry("libcuda.so.1", 0), "/lib64/libcuda.so.1");
}

TEST(LdCache, FileMissing_NoEntries) {
  LdCache cache;
  cache.read("/nonexistent/ld.so.cache");
  EXPECT_EQ(cache.entry("libc.so.6", 0), nullptr);
}

TEST(LdCache, CacheOfThisMachine_CLibraryFound) {
  if (!std::filesystem::exists("/etc/ld.so.cache")) {
    GTEST_SKIP() << "SKIPPED: this machine has no /etc/ld.so.cache";
  }
  LdCache cache;
  cache.read("/etc/ld.so.cache");
  const char* path = cache.entry("libc.so.6", 0);
  ASSERT_NE(path, nullptr);
  EXPECT_NE(std::strstr(path, "libc.so.6"), nullptr);
}

TEST(LdCache, RandomBytes_NoReadBeyondEnd) {
  const std::string good = makeCache({{kNative, "libcuda.so.1", "/lib64/libcuda.so.1"},
                                      {kNative, "libnvidia-ml.so.1", "/lib64/libnvidia-ml.so.1"}},
                                     2);
  std::mt19937 random(3);
  for (int round = 0; round < 20'000; ++round) {
    std::string bytes = good.substr(0, random() % (good.size() + 1));
    for (unsigned i = 0; i < 3 && !bytes.empty(); ++i) {
      bytes[random() % bytes.size()] = static_cast<char>(random());
    }
    // An own allocation of the exact size, so that the sanitizer sees any byte read beyond it.
    const std::vector<char> exact(bytes.begin(), bytes.end());
    const LdCache cache(exact.data(), exact.size());
    for (unsigned nth = 0; nth < 3; ++nth) cache.entry("libcuda.so.1", nth);
  }
}

}  // namespace
}  // namespace divvy::interposer
