// Calls with NULL pointers are answered in a share as they are without Divvy.
#include <gtest/gtest.h>

#include "run_program.h"
#include "tenant_dir.h"

namespace divvy::interposer {
namespace {

using test::built;
using test::Environment;
using test::ProgramResult;
using test::runProgram;

void expectAnswersAsBare(bool swap) {
  const TenantDir dir;
  dir.makeTenant({.swap = swap});
  Environment environment{{"LD_LIBRARY_PATH", built("simgpu")},
                          {"SIMGPU_PROFILE", "rtx4070"},
                          {"SIMGPU_DIR", dir.cards()}};
  const ProgramResult bare = runProgram({built("tests/null_probe")}, environment);
  environment["LD_PRELOAD"] = built("lib/libdivvy-cuda.so");
  environment["DIVVY_TENANT_DIR"] = dir.tenant();
  const ProgramResult inside = runProgram({built("tests/null_probe")}, environment);
  EXPECT_EQ(bare.status, 0);
  EXPECT_EQ(inside.status, 0) << inside.err.substr(inside.err.size() / 100 * 99);
  EXPECT_EQ(inside.out, bare.out);
}

TEST(NullPointers, CallsInShare_AnswersAsDriver) {
  expectAnswersAsBare(false);
}

TEST(NullPointers, CallsInShareWithSwap_AnswersAsDriver) {
  expectAnswersAsBare(true);
}

}  // namespace
}  // namespace divvy::interposer
