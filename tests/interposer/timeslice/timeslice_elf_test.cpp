// What libdivvy-timeslice.so promises to the loader.
#include <gtest/gtest.h>

#include <filesystem>

#include "elf_facts.h"
#include "run_program.h"

namespace divvy::interposer::test {
namespace {

TEST(TimesliceLibrary, ElfHeaders_OwnExportsAndNoConstructors) {
  const ElfFacts facts = readElf(built("lib/libdivvy-timeslice.so"));
  EXPECT_EQ(facts.exports, (std::set<std::string>{"ioctl", "divvy_timeslice_groups",
                                                  "divvy_timeslice_set", "divvy_timeslice_fault"}));
  EXPECT_EQ(facts.needed, (std::set<std::string>{"libc.so.6", "libdl.so.2", "libpthread.so.0"}));
  EXPECT_LE(facts.glibcFloor(), std::make_pair(2, 17));
  EXPECT_GE(facts.glibcFloor(), std::make_pair(2, 2)) << "versions were not read at all";
  EXPECT_EQ(facts.constructors, 0u);
  EXPECT_TRUE(facts.relro);
  EXPECT_TRUE(facts.binds_now);
  EXPECT_FALSE(facts.executable_stack);
  EXPECT_TRUE(facts.text_relocations.empty());
}

// Debian 11's libc, unpacked by tools/fetch-old-libc.
TEST(TimesliceLibrary, LdBindNowUnderGlibc231_ProcessStarts) {
  const std::string root = built("../old-libc/root");
  std::string loader;
  for (const char* name :
       {"/lib/x86_64-linux-gnu/ld-2.31.so", "/lib/aarch64-linux-gnu/ld-2.31.so"}) {
    if (std::filesystem::exists(root + name)) loader = root + name;
  }
  if (loader.empty()) GTEST_SKIP() << "SKIPPED: no older libc in " << root;
  const ProgramResult result =
      runProgram({loader, "--library-path", std::filesystem::path(loader).parent_path().string(),
                  built("tests/libc_only_probe")},
                 {{"LD_PRELOAD", built("lib/libdivvy-timeslice.so")}, {"LD_BIND_NOW", "1"}});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(result.out, "started\n");
  EXPECT_EQ(result.err, "");
}

}  // namespace
}  // namespace divvy::interposer::test
