// How programs come to the driver, and that they come to us: B4, B7, I7.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "run_program.h"
#include "tenant_dir.h"

namespace divvy::interposer {
namespace {

namespace fs = std::filesystem;
using test::built;
using test::Environment;
using test::ProgramResult;
using test::runProgram;

constexpr std::uint64_t kShare = std::uint64_t{3} << 30;

class LoadingTest : public testing::Test {
 protected:
  Environment environment(Environment extra = {}) const {
    extra.emplace("LD_PRELOAD", built("lib/libdivvy-cuda.so"));
    extra.emplace("LD_LIBRARY_PATH", driverDir());
    extra.emplace("DIVVY_TENANT_DIR", dir_.tenant());
    extra.emplace("SIMGPU_PROFILE", "rtx4070");
    extra.emplace("SIMGPU_DIR", dir_.cards());
    return extra;
  }
  ProgramResult probe(const std::string& word, const std::string& argument,
                      const Environment& extra = {}) const {
    return runProgram({built("tests/loading_probe"), word, argument}, environment(extra));
  }
  static std::string driverDir() {
    const char* variant = std::getenv("DIVVY_SIMGPU_VARIANT");
    return built(variant == nullptr ? "simgpu" : variant);
  }
  void SetUp() override { dir_.makeTenant({.ceiling = kShare}); }

  static void expectShare(const ProgramResult& result) {
    EXPECT_EQ(result.status, 0) << result.err;
    EXPECT_EQ(result.answer("divvy"), "1") << result.out;
    EXPECT_EQ(result.answer("same_twice"), "1");
    EXPECT_EQ(result.answer("init"), "0");
    EXPECT_EQ(result.answer("total"), std::to_string(kShare));
    EXPECT_EQ(result.err, "");
  }

  TenantDir dir_;
};

TEST_F(LoadingTest, EveryNameOfDriver_B7ShareShown) {
  for (const std::string& name :
       {std::string("libcuda.so.1"), std::string("libcuda.so"), driverDir() + "/libcuda.so.1",
        driverDir() + "/libcuda.so", std::string("/nowhere/libcuda.so.1")}) {
    SCOPED_TRACE(name);
    expectShare(probe("open", name));
  }
}

TEST_F(LoadingTest, LdBindNow_B7ShareShown) {
  expectShare(probe("open", "libcuda.so.1", {{"LD_BIND_NOW", "1"}}));
}

TEST_F(LoadingTest, DeepBoundOpens_B7ShareShown) {
  expectShare(probe("open-deep", "libcuda.so.1"));
  expectShare(probe("plugin-deep", built("tests/loading/libprobe-caller.so")));
}

TEST_F(LoadingTest, PythonCtypes_B7ShareShown) {
  const ProgramResult result = runProgram({"python3", "-c",
                                           "import ctypes\n"
                                           "cuda = ctypes.CDLL('libcuda.so')\n"
                                           "total = ctypes.c_size_t()\n"
                                           "print('init=%d' % cuda.cuInit(0))\n"
                                           "cuda.cuDeviceTotalMem_v2(ctypes.byref(total), 0)\n"
                                           "print('total=%d' % total.value)\n"},
                                          environment());
  EXPECT_EQ(result.answer("init"), "0") << result.err;
  EXPECT_EQ(result.answer("total"), std::to_string(kShare));
}

// The reason for the assembly: compiled as a call, ours would be the caller that the loader sees.
TEST_F(LoadingTest, Dlopen_I7KeepsCallersRunpath) {
  const ProgramResult result = probe("runpath", built("tests/loading/libprobe-caller.so"));
  EXPECT_EQ(result.answer("found"), "1") << result.out << result.err;
}

// Anything else about dlopen is the C library's business.
TEST_F(LoadingTest, DlopenOfUnknownName_FailsWithItsName) {
  const ProgramResult result = probe("open", "libcuda.so.7");
  EXPECT_EQ(result.answer("opened"), "0");
  EXPECT_NE(result.answer("error").find("libcuda.so.7"), std::string::npos);
}

TEST_F(LoadingTest, ProcessWithoutCuda_B4NoDriverOrPagesMapped) {
  const ProgramResult result = probe("idle", "");
  EXPECT_EQ(result.answer("drivers"), "0");
  EXPECT_EQ(result.answer("pages"), "0");
}

TEST_F(LoadingTest, NoTenant_B4DriversOwnFigures) {
  Environment without = environment();
  without.erase("DIVVY_TENANT_DIR");
  const ProgramResult ours =
      runProgram({built("tests/loading_probe"), "open", "libcuda.so.1"}, without);
  without.erase("LD_PRELOAD");
  const ProgramResult bare =
      runProgram({built("tests/loading_probe"), "open", "libcuda.so.1"}, without);
  EXPECT_EQ(ours.answer("divvy"), "1");
  EXPECT_EQ(bare.answer("divvy"), "0");
  for (const char* key : {"init", "count", "total"}) EXPECT_EQ(ours.answer(key), bare.answer(key));
}

TEST_F(LoadingTest, NoDriver_InitSaysNoDevice) {
  const ProgramResult result = probe("open", "libcuda.so.1", {{"LD_LIBRARY_PATH", "/nowhere"}});
  if (result.answer("init") == "0") GTEST_SKIP() << "SKIPPED: this machine has a real driver";
  EXPECT_EQ(result.answer("init"), "100");
  EXPECT_EQ(result.answer("count"), "-1");
}

TEST_F(LoadingTest, DriverPathInControlPage_PrecedesSearchPath) {
  TenantDir other;
  other.makeTenant({.ceiling = kShare, .driver_path = driverDir() + "/libcuda.so.1"});
  const ProgramResult result =
      probe("open", "libcuda.so.1",
            {{"LD_LIBRARY_PATH", "/nowhere"}, {"DIVVY_TENANT_DIR", other.tenant()}});
  expectShare(result);
}

// A copy of the library under the driver's name in front of the real one: an old installation, say.
TEST_F(LoadingTest, OtherDivvyLibraryInSearchPath_PassedOver) {
  const fs::path shadow = fs::path(dir_.cards()).parent_path() / "shadow";
  fs::create_directories(shadow);
  fs::copy_file(built("lib/libdivvy-cuda.so"), shadow / "libcuda.so.1");
  expectShare(
      probe("open", "libcuda.so.1", {{"LD_LIBRARY_PATH", shadow.string() + ":" + driverDir()}}));
}

}  // namespace
}  // namespace divvy::interposer
