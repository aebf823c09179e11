// What libdivvy-nvml.so promises to the loader.
#include <gtest/gtest.h>

#include "abi/nvml_entries.h"
#include "elf_facts.h"
#include "run_program.h"

namespace divvy::interposer::test {
namespace {

const ElfFacts& nvml() {
  static const ElfFacts facts = readElf(built("lib/libdivvy-nvml.so"));
  return facts;
}

TEST(NvmlLibrary, TakesTheDriversPlaceByItsSoname) {
  EXPECT_EQ(nvml().soname, "libnvidia-ml.so.1");
}

TEST(NvmlLibrary, B3_ExportsAreTheListAndCarryNoVersion) {
  std::set<std::string> list;
  for (const abi::Entry& entry : abi::kNvEntries) list.insert(entry.symbol);
  EXPECT_EQ(nvml().exports, list);
}

TEST(NvmlLibrary, B2_NeedsOnlyTheCLibrarysFamily) {
  const std::set<std::string> allowed{"libc.so.6", "libdl.so.2", "libpthread.so.0",
                                      "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"};
  for (const std::string& library : nvml().needed) EXPECT_TRUE(allowed.count(library)) << library;
}

TEST(NvmlLibrary, B1_AsksForNothingAboveGlibc217) {
  EXPECT_LE(nvml().glibcFloor(), std::make_pair(2, 17));
  EXPECT_GE(nvml().glibcFloor(), std::make_pair(2, 2)) << "versions were not read at all";
}

TEST(NvmlLibrary, B1_NamesTheLibrariesThatHoldItsSymbolsInAnOlderGlibc) {
  EXPECT_TRUE(nvml().needed.count("libdl.so.2"));
}

TEST(NvmlLibrary, HasNoTextRelocationsAndNoExecutableStack) {
  EXPECT_TRUE(nvml().text_relocations.empty());
  EXPECT_FALSE(nvml().executable_stack);
  EXPECT_TRUE(nvml().relro);
}

TEST(NvmlLibrary, B4_DoesNothingWhenItIsLoaded) {
  EXPECT_EQ(nvml().constructors, 0u);
}

}  // namespace
}  // namespace divvy::interposer::test
