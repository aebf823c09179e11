// Programs call the driver from destructors, exit handlers and forked children. They end with the
// status that they chose, bare and in a share.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <sstream>
#include <vector>

#include "abi/cuda_types.h"
#include "run_program.h"
#include "tenant_dir.h"

namespace divvy::interposer {
namespace {

using test::built;
using test::Environment;
using test::ProgramResult;
using test::runProgram;

const std::vector<const char*> kFamilies = {"memory",  "pools",  "mappings", "contexts", "primary",
                                            "streams", "events", "launches", "graphs",   "nvml"};
// Those in which swapped memory makes a difference.
const std::vector<const char*> kSwapped = {"memory", "pools", "mappings", "primary"};

// Codes that an entry point may answer: CUDA_SUCCESS, CUDA_ERROR_NOT_INITIALIZED in the child of a
// process that used the driver, CUDA_ERROR_DEINITIALIZED once the process exits, and the two for a
// context that is gone.
bool isSane(const std::string& call, int result, bool child) {
  if (child && call.starts_with("cu")) return result == CUDA_ERROR_NOT_INITIALIZED;
  if (child && call.starts_with("gone.")) return result == CUDA_ERROR_NOT_INITIALIZED;
  if (call.starts_with("gone.")) {
    return result == CUDA_ERROR_CONTEXT_IS_DESTROYED || result == CUDA_ERROR_INVALID_CONTEXT;
  }
  return result == CUDA_SUCCESS || (call.starts_with("cu") && result == CUDA_ERROR_DEINITIALIZED);
}

Environment placeBare(const TenantDir& dir) {
  return {{"LD_LIBRARY_PATH", built("simgpu")},
          {"SIMGPU_PROFILE", "rtx4070"},
          {"SIMGPU_DIR", dir.cards()},
          {"LATE_MODULE", built("tests/loading/liblate-module.so")}};
}

Environment placeInside(const TenantDir& dir) {
  Environment environment = placeBare(dir);
  environment["LD_PRELOAD"] = built("lib/libdivvy-cuda.so") + ":" + built("lib/libdivvy-nvml.so");
  environment["DIVVY_TENANT_DIR"] = dir.tenant();
  return environment;
}

class LateCalls : public testing::TestWithParam<const char*> {
 protected:
  // Each process has a tenant of its own: no agent takes back what an ended one held.
  static void expectSaneEnds(const std::vector<const char*>& families,
                             const std::function<Environment(const TenantDir&)>& place) {
    const std::string moment = GetParam();
    for (const char* family : families) {
      SCOPED_TRACE(moment + ", " + family);
      const TenantDir dir;
      const ProgramResult seen =
          runProgram({built("tests/late_caller"), moment, family}, place(dir));
      EXPECT_EQ(seen.status, 0) << seen.out << seen.err;
      EXPECT_EQ(seen.err, "");
      EXPECT_EQ(seen.answer("came"), "0") << seen.out;
      expectSaneCodes(seen.out, moment.starts_with("child"));
    }
  }
  static void expectSaneCodes(const std::string& output, bool child) {
    std::istringstream lines(output);
    for (std::string line; std::getline(lines, line);) {
      const std::size_t sign = line.find('=');
      ASSERT_NE(sign, std::string::npos) << line;
      EXPECT_TRUE(isSane(line.substr(0, sign), std::stoi(line.substr(sign + 1)), child)) << line;
    }
  }
};

TEST_P(LateCalls, WithoutShare_CodesSaneAndExitZero) {
  expectSaneEnds(kFamilies, placeBare);
}

TEST_P(LateCalls, InShare_CodesSaneAndExitZero) {
  expectSaneEnds(kFamilies, [](const TenantDir& dir) {
    dir.makeTenant({});
    return placeInside(dir);
  });
}

TEST_P(LateCalls, InShareWithSwap_CodesSaneAndExitZero) {
  expectSaneEnds(kSwapped, [](const TenantDir& dir) {
    dir.makeTenant({.swap = true});
    return placeInside(dir);
  });
}

// The account ends with the process: nobody is asked what a dead context took along.
TEST(ExitHandlers, ContextEndsAtExit_DriverNotAsked) {
  for (const char* asked : {"cuPointerGetAttribute", "cuDevicePrimaryCtxGetState"}) {
    const TenantDir dir;
    dir.makeTenant({});
    Environment environment = placeInside(dir);
    environment["SIMGPU_FAULTS"] = std::string("kill-at=") + asked + ":1";
    const ProgramResult seen =
        runProgram({built("tests/late_caller"), "early-exit-handler", "primary"}, environment);
    EXPECT_EQ(seen.status, 0) << asked << " was called";
    EXPECT_EQ(seen.answer("came"), "0") << seen.out;
  }
}

INSTANTIATE_TEST_SUITE_P(Moments, LateCalls,
                         testing::Values("thread-local", "main-thread-local", "early-key",
                                         "late-key", "early-exit-handler", "late-exit-handler",
                                         "program-destructor", "module-close", "module-exit",
                                         "child", "child-exit", "beside", "driver-closed"),
                         [](const testing::TestParamInfo<const char*>& moment) {
                           std::string name = moment.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace divvy::interposer
