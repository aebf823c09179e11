// What libdivvy-nvml.so promises to the loader.
#include <gtest/gtest.h>

#include <filesystem>

#include "abi/nvml_entries.h"
#include "elf_facts.h"
#include "run_program.h"

namespace divvy::interposer::test {
namespace {

namespace fs = std::filesystem;

const ElfFacts& nvml() {
  static const ElfFacts facts = readElf(built("lib/libdivvy-nvml.so"));
  return facts;
}

TEST(NvmlLibrary, Soname_IsTheDrivers) {
  EXPECT_EQ(nvml().soname, "libnvidia-ml.so.1");
}

TEST(NvmlLibrary, Exports_B3ListWithoutVersions) {
  std::set<std::string> list;
  for (const abi::Entry& entry : abi::kNvEntries) list.insert(entry.symbol);
  EXPECT_EQ(nvml().exports, list);
}

TEST(NvmlLibrary, Needed_B2OnlyCLibraryFamily) {
  const std::set<std::string> allowed{"libc.so.6", "libdl.so.2", "libpthread.so.0",
                                      "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"};
  for (const std::string& library : nvml().needed) EXPECT_TRUE(allowed.count(library)) << library;
}

TEST(NvmlLibrary, SymbolVersions_B1AtMostGlibc217) {
  EXPECT_LE(nvml().glibcFloor(), std::make_pair(2, 17));
  EXPECT_GE(nvml().glibcFloor(), std::make_pair(2, 2)) << "versions were not read at all";
}

TEST(NvmlLibrary, Needed_B1NamesLibdl) {
  EXPECT_TRUE(nvml().needed.count("libdl.so.2"));
}

TEST(NvmlLibrary, ElfHeaders_NoTextRelocationsOrExecutableStack) {
  EXPECT_TRUE(nvml().text_relocations.empty());
  EXPECT_FALSE(nvml().executable_stack);
  EXPECT_TRUE(nvml().relro);
}

TEST(NvmlLibrary, Load_B4NoConstructors) {
  EXPECT_EQ(nvml().constructors, 0u);
}

// Debian 11's libc, unpacked by tools/fetch-old-libc. Both libraries, as `divvy run` preloads them.
TEST(NvmlLibrary, LdBindNowUnderGlibc231_B1ProcessStarts) {
  const char* root = ::getenv("DIVVY_OLD_LIBC");
  std::string loader;
  for (const char* name :
       {"/lib/x86_64-linux-gnu/ld-2.31.so", "/lib/aarch64-linux-gnu/ld-2.31.so"}) {
    if (root != nullptr && fs::exists(std::string(root) + name)) loader = std::string(root) + name;
  }
  if (loader.empty()) GTEST_SKIP() << "SKIPPED: no older libc was fetched";
  const std::string both = built("lib/libdivvy-cuda.so") + ":" + built("lib/libdivvy-nvml.so");
  for (const std::string& preload : {built("lib/libdivvy-nvml.so"), both}) {
    const ProgramResult seen = runProgram(
        {loader, "--library-path", fs::path(loader).parent_path(), built("tests/libc_only_probe")},
        {{"LD_PRELOAD", preload}, {"LD_BIND_NOW", "1"}});
    EXPECT_EQ(seen.status, 0) << seen.err;
    EXPECT_EQ(seen.out, "started\n");
    EXPECT_EQ(seen.err, "");
  }
}

}  // namespace
}  // namespace divvy::interposer::test
