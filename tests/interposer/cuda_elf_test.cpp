// What libdivvy-cuda.so promises to the loader.
#include <gtest/gtest.h>

#include <filesystem>

#include "abi/cuda_entries.h"
#include "elf_facts.h"
#include "run_program.h"

namespace divvy::interposer::test {
namespace {

namespace fs = std::filesystem;

std::string library() {
  return built("lib/libdivvy-cuda.so");
}

const ElfFacts& cuda() {
  static const ElfFacts facts = readElf(library());
  return facts;
}

TEST(CudaLibrary, Soname_IsTheDrivers) {
  EXPECT_EQ(cuda().soname, "libcuda.so.1");
}

// I1: the whole list. I7: dlsym is not among it.
TEST(CudaLibrary, Exports_B3ListDlopenAndControlOnly) {
  std::set<std::string> list{"dlopen", "divvy_control"};
  for (const abi::Entry& entry : abi::kCuEntries) list.insert(entry.symbol);
  EXPECT_EQ(cuda().exports, list);
}

// dlsym is not ours, so that RTLD_NEXT means what it means to its caller and every name of every
// other library is found as ever.
TEST(CudaLibrary, Dlsym_I7NotExported) {
  for (const char* name : {"dlsym", "dlvsym", "_dl_sym", "dlmopen", "dladdr"}) {
    EXPECT_FALSE(cuda().exports.contains(name)) << name;
  }
}

TEST(CudaLibrary, Needed_B2OnlyCLibraryFamily) {
  const std::set<std::string> family{"libc.so.6", "libdl.so.2", "libpthread.so.0"};
  EXPECT_EQ(cuda().needed, family) << "libdl and libpthread hold our symbols before glibc 2.34";
}

TEST(CudaLibrary, SymbolVersions_B1AtMostGlibc217) {
  EXPECT_LE(cuda().glibcFloor(), std::make_pair(2, 17));
  EXPECT_GE(cuda().glibcFloor(), std::make_pair(2, 2)) << "versions were not read at all";
}

TEST(CudaLibrary, ElfHeaders_NoTextRelocationsOrExecutableStack) {
  EXPECT_TRUE(cuda().text_relocations.empty());
  EXPECT_FALSE(cuda().executable_stack);
  EXPECT_TRUE(cuda().relro);
  EXPECT_TRUE(cuda().binds_now);
}

TEST(CudaLibrary, Load_B4NoConstructors) {
  EXPECT_EQ(cuda().constructors, 0u);
}

// Debian 11's libc, unpacked by tools/fetch-old-libc: with a NEEDED entry missing, every process
// that preloads us would fail to start there.
TEST(CudaLibrary, LdBindNowUnderGlibc231_B1ProcessStarts) {
  const std::string root = built("../old-libc/root");
  std::string loader;
  for (const char* name :
       {"/lib/x86_64-linux-gnu/ld-2.31.so", "/lib/aarch64-linux-gnu/ld-2.31.so"}) {
    if (fs::exists(root + name)) loader = root + name;
  }
  if (loader.empty()) GTEST_SKIP() << "SKIPPED: no older libc in " << root;
  const ProgramResult result =
      runProgram({loader, "--library-path", fs::path(loader).parent_path().string(),
                  built("tests/libc_only_probe")},
                 {{"LD_PRELOAD", library()}, {"LD_BIND_NOW", "1"}});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(result.out, "started\n");
  EXPECT_EQ(result.err, "");
}

}  // namespace
}  // namespace divvy::interposer::test
