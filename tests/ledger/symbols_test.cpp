// B1, B2: the tenant's half asks for nothing but a few old functions of libc.
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <sstream>
#include <string>

namespace divvy::ledger {
namespace {

std::string outputOf(const std::string& command) {
  std::string text;
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return text;
  std::array<char, 4096> part{};
  while (fgets(part.data(), part.size(), pipe) != nullptr) text += part.data();
  return pclose(pipe) == 0 ? text : "";
}

TEST(LedgerSymbols, TenantHalf_B2NeedsNoCxxRuntime) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers add symbols of their own";
#endif
  const char* build = std::getenv("DIVVY_BUILD_DIR");
  ASSERT_NE(build, nullptr) << "run by ctest, which sets DIVVY_BUILD_DIR";
  // All of GLIBC_2.17 or older on x86-64 and aarch64.
  const std::set<std::string> accepted = {
      "__errno_location", "clock_gettime", "getauxval", "getenv",  "madvise",
      "memchr",           "memcmp",        "memcpy",    "memset",  "mmap",
      "munmap",           "strlen",        "strnlen",   "syscall", "_GLOBAL_OFFSET_TABLE_"};
  const std::string archive = std::string(build) + "/src/ledger/libdivvy_ledger_tenant.a";
  std::istringstream text(outputOf("nm " + archive));
  std::set<std::string> defined;
  std::set<std::string> undefined;
  unsigned constructors = 0;
  for (std::string line; std::getline(text, line);) {
    std::istringstream words(line);
    std::string first;
    std::string kind;
    std::string name;
    words >> first >> kind >> name;
    if (first == "U") undefined.insert(kind);
    if (name.empty()) continue;
    defined.insert(name);
    if (name.starts_with("_GLOBAL__sub_I")) ++constructors;
  }
  EXPECT_GT(defined.size(), 20u);
  EXPECT_EQ(constructors, 0u) << "static initialisation";
  for (const std::string& name : undefined) {
    if (defined.contains(name)) continue;
    EXPECT_TRUE(accepted.contains(name)) << name;
  }
}

}  // namespace
}  // namespace divvy::ledger
