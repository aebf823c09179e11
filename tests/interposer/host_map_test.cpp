// Memory that has no room on the device and is used where it is, with the host, at the address that
// it always had.
#include <cctype>
#include <string>

#include "swap_fixture.h"

namespace divvy::interposer {
namespace {

using ledger::SwapRefusal;

class HostMapTest : public SwapTest {
 protected:
  static constexpr std::uint32_t kReadyAtHost = ledger::kSwapReady | ledger::kSwapHostMapped;

  // So much on the card, the rest at the host.
  static void allowWithHost(std::uint64_t bytes, std::uint64_t host_bytes = kGiB) {
    allow(bytes, host_bytes, ledger::kMayHostMap);
  }
  static bool runsWithHost(std::uint64_t bytes) {
    return becomesResident(bytes) && eventually([] { return shows(kReadyAtHost); });
  }
  static bool allIsBack(std::uint64_t bytes) {
    return becomesResident(bytes) &&
           eventually([] { return shows(ledger::kSwapReady) && !shows(ledger::kSwapHostMapped); });
  }
  // The driver's word on where an address is: ours is that it is the device's.
  static unsigned memoryType(CUdeviceptr address) {
    unsigned type = 0;
    EXPECT_EQ(cu<Cu::cuPointerGetAttribute>(static_cast<void*>(&type),
                                            CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address),
              CUDA_SUCCESS);
    return type;
  }
};

TEST_F(HostMapTest, NoRoomOnDevice_HostMappedUntilRoomReturns) {
  if (outside(swappable())) return;
  makeSwappable();
  const CUdeviceptr block = filled(8 * kMiB, 1);
  EXPECT_TRUE(shows(ledger::kSwapMapsHost));
  allowWithHost(4 * kMiB, 4 * kMiB);
  ASSERT_TRUE(runsWithHost(4 * kMiB)) << said();
  EXPECT_EQ(shown()->device[0].mapped, 4 * kMiB);
  EXPECT_EQ(shown()->host_bytes, 4 * kMiB) << "all that it may keep there, and no more";
  EXPECT_TRUE(holds(block, 8 * kMiB, 1));
  for (unsigned i = 0; i < 4; ++i) {
    EXPECT_EQ(memoryType(block + i * 2 * kMiB), unsigned{CU_MEMORYTYPE_DEVICE});
  }
  EXPECT_EQ(cu<Cu::cuMemsetD8_v2>(block, static_cast<unsigned char>(0x5a), std::size_t{8 * kMiB}),
            CUDA_SUCCESS);
  allow(kEverything);
  ASSERT_TRUE(allIsBack(8 * kMiB)) << said();
  std::vector<unsigned char> bytes(8 * kMiB);
  EXPECT_EQ(
      cu<Cu::cuMemcpyDtoH_v2>(static_cast<void*>(bytes.data()), block, std::size_t{bytes.size()}),
      CUDA_SUCCESS);
  EXPECT_TRUE(bytes == std::vector<unsigned char>(8 * kMiB, 0x5a));
  EXPECT_EQ(takenUnderWork(), 0u);
  EXPECT_EQ(faults(31), 0u);
}

TEST_F(HostMapTest, HostMappingNotOrdered_GateStaysClosed) {
  if (outside(swappable())) return;
  makeSwappable();
  const CUdeviceptr block = filled(8 * kMiB, 2);
  allow(4 * kMiB);
  ASSERT_TRUE(becomesResident(4 * kMiB));
  EXPECT_TRUE(staysResident(4 * kMiB));
  EXPECT_TRUE(shows(ledger::kSwapClosed));
  EXPECT_FALSE(shows(ledger::kSwapReady));
  allowWithHost(4 * kMiB);
  EXPECT_TRUE(runsWithHost(4 * kMiB)) << said();
  EXPECT_TRUE(holds(block, 8 * kMiB, 2));
}

TEST_F(HostMapTest, NewBlocksWithoutRoom_CreatedAtHost) {
  if (outside(swappable())) return;
  makeSwappable();
  allowWithHost(4 * kMiB);
  const CUdeviceptr one = filled(2 * kMiB, 3), other = filled(8 * kMiB, 4);
  EXPECT_TRUE(runsWithHost(4 * kMiB)) << said();
  EXPECT_EQ(shown()->chunks_out, 0u) << "nothing had to leave for it";
  EXPECT_TRUE(holds(one, 2 * kMiB, 3));
  EXPECT_TRUE(holds(other, 8 * kMiB, 4));
  const std::uint64_t before = shown()->host_bytes;
  EXPECT_EQ(before, 6 * kMiB);
  EXPECT_EQ(cu<Cu::cuMemFree_v2>(other), CUDA_SUCCESS);
  EXPECT_TRUE(eventually([] { return shown()->host_bytes == 0; })) << "it goes with its block";
  EXPECT_FALSE(shows(ledger::kSwapHostMapped));
  EXPECT_TRUE(holds(one, 2 * kMiB, 3));
  EXPECT_EQ(charged(), booked());
}

TEST_F(HostMapTest, RoomForPart_PartReturnsRestStaysAtHost) {
  if (outside(swappable())) return;
  makeSwappable();
  const CUdeviceptr one = filled(4 * kMiB, 5), other = filled(4 * kMiB, 6);
  allowWithHost(4 * kMiB);
  ASSERT_TRUE(runsWithHost(4 * kMiB)) << said();
  allowWithHost(6 * kMiB);
  ASSERT_TRUE(runsWithHost(6 * kMiB)) << said();
  allowWithHost(2 * kMiB);
  ASSERT_TRUE(runsWithHost(2 * kMiB)) << said();
  EXPECT_TRUE(holds(one, 4 * kMiB, 5));
  EXPECT_TRUE(holds(other, 4 * kMiB, 6));
  EXPECT_EQ(takenUnderWork(), 0u);
}

TEST_F(HostMapTest, DriverWithoutHostMapping_ReportedAndGateClosed) {
  Tenancy tenancy = swappable();
  tenancy.environment["SIMGPU_FAULTS"] = "strict-unmap=any,no-host-map";
  if (outside(tenancy)) return;
  makeSwappable();
  const CUdeviceptr block = filled(8 * kMiB, 7);
  EXPECT_FALSE(shows(ledger::kSwapMapsHost));
  allowWithHost(4 * kMiB);
  ASSERT_TRUE(becomesResident(4 * kMiB));
  EXPECT_TRUE(staysResident(4 * kMiB));
  EXPECT_FALSE(shows(ledger::kSwapReady));
  allow(kEverything);
  EXPECT_TRUE(holds(block, 8 * kMiB, 7));
}

// It says that it can, and cannot.
TEST_F(HostMapTest, HostAllocationRefused_NotRetriedAndNothingLost) {
  Tenancy tenancy = swappable();
  // The context's block is one; four of the device's, then the host's.
  tenancy.environment["SIMGPU_FAULTS"] = "strict-unmap=any,fail-at=cuMemCreate:5=801";
  if (outside(tenancy)) return;
  makeSwappable();
  const CUdeviceptr block = filled(8 * kMiB, 8);
  ASSERT_TRUE(shows(ledger::kSwapMapsHost));
  allowWithHost(4 * kMiB);
  EXPECT_TRUE(eventually([] { return !shows(ledger::kSwapMapsHost); })) << said();
  EXPECT_TRUE(staysResident(4 * kMiB));
  EXPECT_FALSE(shows(ledger::kSwapReady));
  allow(kEverything);
  EXPECT_TRUE(holds(block, 8 * kMiB, 8));
}

TEST_F(HostMapTest, HostLimitReached_GateClosedUntilRaised) {
  if (outside(swappable())) return;
  makeSwappable();
  const CUdeviceptr block = filled(8 * kMiB, 9);
  allowWithHost(4 * kMiB);
  ASSERT_TRUE(runsWithHost(4 * kMiB)) << said();
  const auto more = [] {
    CUdeviceptr made = 0;
    EXPECT_EQ(cu<Cu::cuMemAlloc_v2>(&made, std::size_t{2 * kMiB}), CUDA_SUCCESS);
  };
  allowWithHost(4 * kMiB, 4 * kMiB);
  more();
  EXPECT_TRUE(eventually([] { return refuses(SwapRefusal::kNoHostMemory); })) << said();
  EXPECT_LE(shown()->host_bytes, 4 * kMiB);
  allowWithHost(4 * kMiB, 6 * kMiB);
  EXPECT_TRUE(runsWithHost(4 * kMiB)) << said();
  EXPECT_TRUE(holds(block, 8 * kMiB, 9));
}

// What stays for a reason of its own stays on the device.
TEST_F(HostMapTest, BlockPinnedWhileAtHost_MovedToDevice) {
  if (outside(swappable())) return;
  makeSwappable();
  const CUdeviceptr one = filled(4 * kMiB, 10), other = filled(4 * kMiB, 11);
  allowWithHost(4 * kMiB);
  ASSERT_TRUE(runsWithHost(4 * kMiB)) << said();
  const std::uint64_t before = pinned();
  unsigned on = 1;
  for (const CUdeviceptr block : {one, other}) {
    EXPECT_EQ(cu<Cu::cuPointerSetAttribute>(static_cast<const void*>(&on),
                                            CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, block),
              block == one ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY)
        << "there is room for one of them; " << said();
  }
  EXPECT_EQ(pinned(), before + 4 * kMiB);
  EXPECT_TRUE(holds(one, 4 * kMiB, 10));
  EXPECT_TRUE(holds(other, 4 * kMiB, 11));
  EXPECT_TRUE(shows(ledger::kSwapHostMapped));
  EXPECT_EQ(takenUnderWork(), 0u);
}

// On a bare driver captures of other threads refuse neither.
TEST_F(HostMapTest, BlockPinnedDuringCapture_WaitsForCaptureToEnd) {
  if (outside(swappable())) return;
  makeSwappable();
  const CUdeviceptr block = filled(4 * kMiB, 12);
  allowWithHost(2 * kMiB);
  ASSERT_TRUE(runsWithHost(2 * kMiB)) << said();
  CUcontext context = nullptr;
  ASSERT_EQ(cu<Cu::cuCtxGetCurrent>(&context), CUDA_SUCCESS);
  CUstream captured = nullptr;
  ASSERT_EQ(cu<Cu::cuStreamCreate>(&captured, unsigned{CU_STREAM_NON_BLOCKING}), CUDA_SUCCESS);
  ASSERT_EQ(cu<Cu::cuStreamBeginCapture_v2>(captured, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL),
            CUDA_SUCCESS);
  allow(kEverything);
  Launcher pinning([=] {
    unsigned on = 1;
    cu<Cu::cuCtxSetCurrent>(context);
    return cu<Cu::cuPointerSetAttribute>(static_cast<const void*>(&on),
                                         CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, block);
  });
  EXPECT_TRUE(staysResident(2 * kMiB));
  EXPECT_FALSE(pinning.done());
  CUgraph graph = nullptr;
  ASSERT_EQ(cu<Cu::cuStreamEndCapture>(captured, &graph), CUDA_SUCCESS);
  EXPECT_TRUE(pinning.finishes());
  EXPECT_TRUE(pinnedFor(ledger::PinReason::kForeignUse)) << said();
  EXPECT_TRUE(allIsBack(4 * kMiB)) << said();
  EXPECT_TRUE(holds(block, 4 * kMiB, 12));
}

TEST_F(HostMapTest, BlockPinnedDuringOwnCapture_RefusedWithinBound) {
  if (outside(swappable())) return;
  makeSwappable();
  const CUdeviceptr block = filled(4 * kMiB, 13);
  allowWithHost(2 * kMiB);
  ASSERT_TRUE(runsWithHost(2 * kMiB)) << said();
  CUstream captured = nullptr;
  ASSERT_EQ(cu<Cu::cuStreamCreate>(&captured, unsigned{CU_STREAM_NON_BLOCKING}), CUDA_SUCCESS);
  ASSERT_EQ(cu<Cu::cuStreamBeginCapture_v2>(captured, CU_STREAM_CAPTURE_MODE_RELAXED),
            CUDA_SUCCESS);
  allow(kEverything);
  unsigned on = 1;
  EXPECT_EQ(cu<Cu::cuPointerSetAttribute>(static_cast<const void*>(&on),
                                          CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, block),
            CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  CUgraph graph = nullptr;
  EXPECT_EQ(cu<Cu::cuStreamEndCapture>(captured, &graph), CUDA_SUCCESS) << "it is not spoiled";
  EXPECT_TRUE(holds(block, 4 * kMiB, 13));
}

// SYMBOL:CALL=CODE, of the calls that are about memory at the host; 2: out of memory, 999: nobody
// knows why. The block is made by six of each that makes memory, four of which leave first.
struct Failure {
  const char* at;
  bool leaks = false;  // a chunk of 2 MiB stays, and stays counted; which depends on who is faster
};

class HostMapFaultTest : public HostMapTest, public testing::WithParamInterface<Failure> {};

TEST_P(HostMapFaultTest, DriverCallFails_NoBytesLost) {
  constexpr std::uint64_t kBytes = 12 * kMiB;
  Tenancy tenancy = swappable();
  tenancy.environment["SIMGPU_FAULTS"] += std::string(",fail-at=") + GetParam().at;
  if (outside(tenancy)) return;
  makeSwappable();
  const CUdeviceptr block = filled(kBytes, 7);
  for (int round = 0; round < 3; ++round) {
    allowWithHost(4 * kMiB);
    ASSERT_TRUE(eventually([] { return shows(kReadyAtHost) || !shows(ledger::kSwapMapsHost); }))
        << round << said();
    if (shows(kReadyAtHost)) {
      ASSERT_TRUE(holds(block, kBytes, 7)) << round << said();
    }
    allow(kEverything);
    ASSERT_TRUE(holds(block, kBytes, 7)) << round << said();
    ASSERT_TRUE(GetParam().leaks ? becomesResident(kBytes) : allIsBack(kBytes)) << round << said();
  }
  EXPECT_EQ(shown()->device[0].mapped, kBytes) << "it says what it has";
  EXPECT_EQ(takenUnderWork(), 0u);
  EXPECT_EQ(cu<Cu::cuMemFree_v2>(block), CUDA_SUCCESS);
  // What the mover has in hand it lets go of a moment later.
  const std::uint64_t most = GetParam().leaks ? 2 * kMiB : 0;
  EXPECT_TRUE(eventually([most] { return resident() <= most; })) << resident() << " stay";
}

INSTANTIATE_TEST_SUITE_P(
    Calls, HostMapFaultTest,
    testing::Values(Failure{"cuMemCreate:7=2"}, Failure{"cuMemCreate:7=999"},
                    Failure{"cuMemCreate:9=2"}, Failure{"cuMemMap:7=2"}, Failure{"cuMemMap:8=999"},
                    Failure{"cuMemSetAccess:7=2"}, Failure{"cuMemSetAccess:8=999"},
                    Failure{"cuMemcpyHtoDAsync_v2:2=2"}, Failure{"cuMemcpyHtoDAsync_v2:2=999"},
                    Failure{"cuMemcpyHtoDAsync_v2:4=999"}, Failure{"cuEventRecord:6=999"},
                    Failure{"cuMemcpyDtoHAsync_v2:5=2"}, Failure{"cuMemcpyDtoHAsync_v2:6=999"},
                    Failure{"cuMemUnmap:5=2"}, Failure{"cuMemUnmap:6=999"},
                    Failure{"cuMemRelease:5=999", true}, Failure{"cuMemCreate:11=2"},
                    Failure{"cuMemCreate:11=999"}, Failure{"cuMemcpyHtoDAsync_v2:6=999"},
                    // Neither can it be filled, nor is it unmapped then.
                    Failure{"cuMemcpyHtoDAsync_v2:2=999,fail-at=cuMemUnmap:5=999"}),
    [](const auto& named) {
      std::string name = named.param.at;
      for (char& letter : name) letter = std::isalnum(letter) != 0 ? letter : '_';
      return name;
    });

}  // namespace
}  // namespace divvy::interposer
