// P2.2: any call of the driver may fail while memory moves. Nothing is lost, and it is tried again.
#include <string>

#include "swap_fixture.h"

namespace divvy::interposer {
namespace {

constexpr std::uint64_t kChunk = 2 * kMiB;
constexpr std::uint64_t kBytes = 3 * kChunk;

struct Failure {
  const char* symbol;
  unsigned call;  // the test's block is made by three of each that makes memory
  int code;
  std::uint64_t leaked = 0;  // bytes that stay on the card because of it
};

class MoverFaultTest : public SwapTest, public testing::WithParamInterface<Failure> {};

TEST_P(MoverFaultTest, LosesNothing) {
  const Failure& failure = GetParam();
  Tenancy tenancy = swappable();
  tenancy.environment["SIMGPU_FAULTS"] += std::string(",fail-at=") + failure.symbol + ":" +
                                          std::to_string(failure.call) + "=" +
                                          std::to_string(failure.code);
  if (outside(tenancy)) return;
  makeSwappable();
  const CUdeviceptr block = filled(kBytes, failure.call);
  for (int round = 0; round < 3; ++round) {
    allow(0);
    ASSERT_TRUE(eventually([&] { return resident() <= failure.leaked; })) << round;
    allow(kEverything);
    ASSERT_TRUE(holds(block, kBytes, failure.call)) << round;
  }
  EXPECT_EQ(resident(), kBytes + failure.leaked);
  EXPECT_EQ(shown()->device[0].mapped, kBytes + failure.leaked) << "it says what it has";
  EXPECT_EQ(takenUnderWork(), 0u);
}

INSTANTIATE_TEST_SUITE_P(
    Calls, MoverFaultTest,
    testing::Values(Failure{"cuCtxSynchronize", 1, 999}, Failure{"cuStreamCreate", 1, 2},
                    Failure{"cuStreamCreate", 2, 2}, Failure{"cuMemHostRegister_v2", 1, 2},
                    Failure{"cuMemcpyDtoHAsync_v2", 2, 999}, Failure{"cuStreamQuery", 2, 999},
                    Failure{"cuMemUnmap", 2, 999}, Failure{"cuMemRelease", 2, 999, kChunk},
                    Failure{"cuMemCreate", 5, 2}, Failure{"cuMemCreate", 5, 999},
                    Failure{"cuMemMap", 5, 999}, Failure{"cuMemSetAccess", 5, 999},
                    Failure{"cuMemcpyHtoDAsync_v2", 2, 999}),
    [](const auto& named) {
      return std::string(named.param.symbol) + "_" + std::to_string(named.param.call) + "_" +
             std::to_string(named.param.code);
    });

}  // namespace
}  // namespace divvy::interposer
