// P2.2: any call of the driver may fail while memory moves, several copies of it under way. Nothing
// is lost, and it is tried again.
#include <cctype>
#include <string>

#include "swap_fixture.h"

namespace divvy::interposer {
namespace {

constexpr std::uint64_t kChunk = 2 * kMiB;
constexpr unsigned kChunks = 6;  // twice as many as may be under way
constexpr std::uint64_t kBytes = kChunks * kChunk;

struct Failure {
  const char* at;  // SYMBOL:CALL=CODE; the block is made by kChunks of each that makes memory
  std::uint64_t leaked = 0;  // bytes that stay on the card because of it
};

class PagerFaultTest : public SwapTest, public testing::WithParamInterface<Failure> {};

TEST_P(PagerFaultTest, DriverCallFails_NoBytesLost) {
  const Failure& failure = GetParam();
  Tenancy tenancy = swappable();
  tenancy.environment["SIMGPU_FAULTS"] += std::string(",fail-at=") + failure.at;
  if (outside(tenancy)) return;
  makeSwappable();
  const CUdeviceptr block = filled(kBytes, 7);
  for (int round = 0; round < 4; ++round) {
    allow(0);
    ASSERT_TRUE(eventually([&] { return resident() <= failure.leaked; })) << round << said();
    allow(kEverything);
    ASSERT_TRUE(holds(block, kBytes, 7)) << round << said();
  }
  EXPECT_EQ(resident(), kBytes + failure.leaked);
  EXPECT_EQ(shown()->device[0].mapped, kBytes + failure.leaked) << "it says what it has";
  EXPECT_EQ(takenUnderWork(), 0u);
  EXPECT_EQ(cu<Cu::cuMemFree_v2>(block), CUDA_SUCCESS);
  EXPECT_EQ(resident(), failure.leaked);
}

// Each call of a mover, as the first, in the middle and where copies are under way; 2: out of
// memory, 999: nobody knows why.
INSTANTIATE_TEST_SUITE_P(
    Calls, PagerFaultTest,
    testing::Values(
        Failure{"cuCtxSynchronize:1=2"}, Failure{"cuCtxSynchronize:1=999"},
        Failure{"cuCtxSetCurrent:2=2"}, Failure{"cuCtxSetCurrent:2=999"},
        Failure{"cuCtxSetCurrent:4=2"}, Failure{"cuCtxSetCurrent:4=999"},
        Failure{"cuStreamCreate:1=2"}, Failure{"cuStreamCreate:1=999"},
        Failure{"cuStreamCreate:2=2"}, Failure{"cuStreamCreate:2=999"},
        Failure{"cuMemHostRegister_v2:1=2"}, Failure{"cuMemHostRegister_v2:1=999"},
        Failure{"cuMemHostRegister_v2:5=2"}, Failure{"cuMemHostRegister_v2:5=999"},
        Failure{"cuMemcpyDtoHAsync_v2:1=2"}, Failure{"cuMemcpyDtoHAsync_v2:1=999"},
        Failure{"cuMemcpyDtoHAsync_v2:5=2"}, Failure{"cuMemcpyDtoHAsync_v2:5=999"},
        Failure{"cuEventCreate:2=2"}, Failure{"cuEventCreate:2=999"}, Failure{"cuEventRecord:3=2"},
        Failure{"cuEventRecord:3=999"}, Failure{"cuEventRecord:8=2"},
        Failure{"cuEventRecord:8=999"}, Failure{"cuEventQuery:2=2"}, Failure{"cuEventQuery:2=999"},
        Failure{"cuEventQuery:9=2"}, Failure{"cuEventQuery:9=999"}, Failure{"cuEventQuery:20=2"},
        Failure{"cuEventQuery:20=999"}, Failure{"cuMemUnmap:2=2"}, Failure{"cuMemUnmap:2=999"},
        Failure{"cuMemUnmap:6=2"}, Failure{"cuMemUnmap:6=999"}, Failure{"cuMemCreate:8=2"},
        Failure{"cuMemCreate:8=999"}, Failure{"cuMemCreate:12=2"}, Failure{"cuMemCreate:12=999"},
        Failure{"cuMemMap:8=2"}, Failure{"cuMemMap:8=999"}, Failure{"cuMemSetAccess:8=2"},
        Failure{"cuMemSetAccess:8=999"}, Failure{"cuMemcpyHtoDAsync_v2:2=2"},
        Failure{"cuMemcpyHtoDAsync_v2:2=999"}, Failure{"cuMemcpyHtoDAsync_v2:6=2"},
        Failure{"cuMemcpyHtoDAsync_v2:6=999"}, Failure{"cuMemRelease:2=999", kChunk},
        Failure{"cuStreamDestroy_v2:1=999"}, Failure{"cuEventDestroy_v2:1=999"},
        // Neither can it be filled, nor is it unmapped then.
        Failure{"cuMemcpyHtoDAsync_v2:2=999,fail-at=cuMemUnmap:7=999"},
        Failure{"cuEventRecord:2=999,fail-at=cuStreamSynchronize:1=999"}),
    [](const auto& named) {
      std::string name = named.param.at;
      for (char& letter : name) letter = std::isalnum(letter) != 0 ? letter : '_';
      return name;
    });

}  // namespace
}  // namespace divvy::interposer
