// P1.1: plain memory of a tenant whose memory can be swapped: made of chunks behind addresses that
// stay, and like native memory in everything that an application can see.
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <thread>
#include <vector>

#include "gate_fixture.h"
#include "ledger/residency_pages.h"

namespace divvy::interposer {
namespace {

class SwappableTest : public GateTest {
 protected:
  static CUdeviceptr allocate(std::size_t bytes) {
    CUdeviceptr block = 0;
    EXPECT_EQ(cu<Cu::cuMemAlloc_v2>(&block, bytes), CUDA_SUCCESS);
    return block;
  }

  // Bytes of chunks; those of native blocks.
  static std::uint64_t chunked(int card = 0) { return booked(Charge::kVmm, card); }
  static std::uint64_t native(int card = 0) { return booked(Charge::kPlain, card); }

  static unsigned ownSlot(ledger::ResidencyPages& pages) {
    ledger::SwapSample sample;
    unsigned slot = 0;
    while (slot < 64 && !pages.read(slot, 0, &sample)) ++slot;
    return slot;
  }

  static CUstream makeStream() {
    CUstream stream = nullptr;
    EXPECT_EQ(cu<Cu::cuStreamCreate>(&stream, 1u), CUDA_SUCCESS);
    return stream;
  }
};

Tenancy swappable() {
  Tenancy tenancy;
  tenancy.swap = true;
  return tenancy;
}

// The re-entrant variant asks for a module's globals by its own public name, in a call that no gate
// stands before.
TEST_F(SwappableTest, ModuleGlobals_StayNative) {
  if (outside(swappable())) return;
  makeReady();
  allocate(100 * kMiB);
  const std::uint64_t before = charged(), held = booked();
  const char* const text = R"(
.version 7.0
.target sm_75
.address_size 64
.visible .global .align 4 .b8 large[4194304];
.visible .global .align 4 .b8 small[5000];
.visible .entry none() { ret; }
)";
  CUmodule module = nullptr;
  ASSERT_EQ(cu<Cu::cuModuleLoadData>(&module, static_cast<const void*>(text)), CUDA_SUCCESS);
  EXPECT_EQ(chunked(), 100 * kMiB);
  EXPECT_GE(booked(), held + 4 * kMiB);
  for (const char* name : {"large", "small"}) {
    CUdeviceptr at = 0;
    std::size_t bytes = 0;
    ASSERT_EQ(cu<Cu::cuModuleGetGlobal_v2>(&at, &bytes, module, name), CUDA_SUCCESS);
    EXPECT_EQ(cu<Cu::cuMemsetD8_v2>(at, static_cast<unsigned char>(1), bytes), CUDA_SUCCESS);
  }
  EXPECT_EQ(cu<Cu::cuModuleUnload>(module), CUDA_SUCCESS);
  EXPECT_EQ(charged(), before);
  EXPECT_EQ(booked(), held);
}

TEST_F(SwappableTest, PlainBlock_MadeOfChunksAndChargedExactly) {
  if (outside(swappable())) return;
  makeReady();
  const std::uint64_t before = charged();
  const CUdeviceptr block = allocate(100 * kMiB + 5);
  EXPECT_EQ(chunked(), 102 * kMiB) << "a multiple of the device's granularity";
  EXPECT_EQ(native(), 0u);
  EXPECT_EQ(charged(), before + 102 * kMiB);
  EXPECT_EXACT();
  std::vector<unsigned char> bytes(64 << 10);
  for (const std::uint64_t offset : {std::uint64_t{0}, 32 * kMiB - 7, 100 * kMiB - 65531}) {
    ASSERT_EQ(
        cu<Cu::cuMemsetD8_v2>(block + offset, static_cast<unsigned char>(offset + 3), bytes.size()),
        CUDA_SUCCESS);
    ASSERT_EQ(
        cu<Cu::cuMemcpyDtoH_v2>(static_cast<void*>(bytes.data()), block + offset, bytes.size()),
        CUDA_SUCCESS);
    EXPECT_EQ(bytes,
              std::vector<unsigned char>(bytes.size(), static_cast<unsigned char>(offset + 3)));
  }
  ASSERT_EQ(cu<Cu::cuMemFree_v2>(block), CUDA_SUCCESS);
  EXPECT_EQ(chunked(), 0u);
  EXPECT_EQ(charged(), before);
  EXPECT_EXACT();
}

TEST_F(SwappableTest, TenantWithoutSwap_MemoryNative) {
  Tenancy native_tenancy;
  if (std::getenv("DIVVY_TEST_SWAP") != nullptr) GTEST_SKIP() << "every tenant's can be here";
  if (outside(native_tenancy)) return;
  makeReady();
  allocate(100 * kMiB);
  EXPECT_EQ(chunked(), 0u);
  EXPECT_EQ(native(), 100 * kMiB);
}

TEST_F(SwappableTest, DeviceWithSmallGranularity_ChunksAreSmall) {
  Tenancy tenancy = swappable();
  tenancy.machine = "swap";
  tenancy.swap_chunk = 128 << 10;
  tenancy.ceiling = 256 * kMiB;
  if (outside(tenancy)) return;
  makeReady();
  const CUdeviceptr block = allocate(300 << 10);
  EXPECT_EQ(chunked(), std::uint64_t{320 << 10}) << "two chunks, and one of 64 KiB";
  EXPECT_EXACT();
  ASSERT_EQ(cu<Cu::cuMemsetD8_v2>(block, static_cast<unsigned char>(1), std::size_t{300 << 10}),
            CUDA_SUCCESS);
  EXPECT_EQ(cu<Cu::cuMemFree_v2>(block), CUDA_SUCCESS);
  EXPECT_EXACT();
}

// What plain memory can: be copied between devices whether or not they are each other's peers.
TEST_F(SwappableTest, BlocksOfTwoDevices_CopiedAndFreed) {
  Tenancy tenancy = swappable();
  tenancy.machine = "h100x2";
  tenancy.devices = {0, 1};
  if (outside(tenancy)) return;
  makeReady();
  CUcontext first = nullptr, second = nullptr;
  ASSERT_EQ(cu<Cu::cuCtxGetCurrent>(&first), CUDA_SUCCESS);
  const CUdeviceptr from = allocate(8 * kMiB);
  ASSERT_EQ(cu<Cu::cuMemsetD8_v2>(from, static_cast<unsigned char>(0x5a), std::size_t{8 * kMiB}),
            CUDA_SUCCESS);
  ASSERT_EQ(cu<Cu::cuDevicePrimaryCtxRetain>(&second, 1), CUDA_SUCCESS);
  ASSERT_EQ(cu<Cu::cuCtxSetCurrent>(second), CUDA_SUCCESS);
  const CUdeviceptr to = allocate(8 * kMiB);
  EXPECT_EQ(chunked(0), 8 * kMiB);
  EXPECT_EQ(chunked(1), 8 * kMiB);
  ASSERT_EQ(cu<Cu::cuMemcpy>(to, from, std::size_t{8 * kMiB}), CUDA_SUCCESS);
  std::vector<unsigned char> bytes(8 * kMiB);
  ASSERT_EQ(cu<Cu::cuMemcpyDtoH_v2>(static_cast<void*>(bytes.data()), to, bytes.size()),
            CUDA_SUCCESS);
  EXPECT_EQ(bytes, std::vector<unsigned char>(bytes.size(), 0x5a));
  EXPECT_EQ(cu<Cu::cuMemFree_v2>(from), CUDA_SUCCESS) << "from the other device's context";
  EXPECT_EQ(cu<Cu::cuMemFree_v2>(to), CUDA_SUCCESS);
  EXPECT_EQ(chunked(0) + chunked(1), 0u);
  EXPECT_EQ(charged(0), booked(0));
  EXPECT_EQ(charged(1), booked(1));
}

TEST_F(SwappableTest, PitchedBlock_MadeOfChunks) {
  if (outside(swappable())) return;
  makeReady();
  CUdeviceptr block = 0;
  std::size_t pitch = 0;
  ASSERT_EQ(cu<Cu::cuMemAllocPitch_v2>(&block, &pitch, std::size_t{1025}, std::size_t{9000}, 4u),
            CUDA_SUCCESS);
  EXPECT_EQ(pitch, 1536u);
  EXPECT_EQ(chunked(), 14 * kMiB);
  EXPECT_EXACT();
  EXPECT_EQ(cu<Cu::cuMemFree_v2>(block), CUDA_SUCCESS);
  for (const unsigned element : {0u, 5u}) {
    EXPECT_EQ(
        cu<Cu::cuMemAllocPitch_v2>(&block, &pitch, std::size_t{kMiB}, std::size_t{9}, element),
        CUDA_ERROR_INVALID_VALUE);
  }
  EXPECT_EQ(cu<Cu::cuMemAllocPitch_v2>(&block, static_cast<std::size_t*>(nullptr),
                                       std::size_t{kMiB}, std::size_t{9}, 4u),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EXACT();
}

// By the card's books: when the free returns the memory is another's.
TEST_F(SwappableTest, FreeDuringWork_WaitsForWork) {
  if (outside(swappable())) return;
  makeReady();
  const CUdeviceptr block = allocate(64 * kMiB);
  const CUstream stream = makeStream();
  for (int i = 0; i < 20; ++i) {
    ASSERT_EQ(cu<Cu::cuMemsetD8Async>(block, static_cast<unsigned char>(i), std::size_t{64 * kMiB},
                                      stream),
              CUDA_SUCCESS);
  }
  EXPECT_EQ(cu<Cu::cuMemFree_v2>(block), CUDA_SUCCESS);
  EXPECT_EQ(cu<Cu::cuStreamQuery>(stream), CUDA_SUCCESS) << "nothing of it is under way";
  EXPECT_EQ(cu<Cu::cuCtxSynchronize>(), CUDA_SUCCESS) << "and nothing of it failed";
  EXPECT_EXACT();
}

TEST_F(SwappableTest, ContextDestroyed_OnlyItsBlocksFreed) {
  if (outside(swappable())) return;
  makeReady();
  const CUdeviceptr kept = allocate(32 * kMiB);
  CUcontext context = nullptr;
  ASSERT_EQ(cu<Cu::cuCtxCreate_v2>(&context, 0u, 0), CUDA_SUCCESS);
  allocate(64 * kMiB);
  EXPECT_EQ(chunked(), 96 * kMiB);
  ASSERT_EQ(cu<Cu::cuCtxDestroy_v2>(context), CUDA_SUCCESS);
  EXPECT_EQ(chunked(), 32 * kMiB);
  EXPECT_EXACT();
  CUcontext primary = nullptr;
  ASSERT_EQ(cu<Cu::cuDevicePrimaryCtxRetain>(&primary, 0), CUDA_SUCCESS);
  ASSERT_EQ(cu<Cu::cuCtxSetCurrent>(primary), CUDA_SUCCESS);
  EXPECT_EQ(cu<Cu::cuMemsetD8_v2>(kept, static_cast<unsigned char>(1), std::size_t{32 * kMiB}),
            CUDA_SUCCESS);
  ASSERT_EQ(cu<Cu::cuDevicePrimaryCtxReset_v2>(0), CUDA_SUCCESS);
  EXPECT_EQ(chunked(), 0u);
  EXPECT_EQ(charged(), 0u);
}

// P1.5: the driver's rule for calls that a capture forbids, applied by the driver.
TEST_F(SwappableTest, GlobalCapture_AllocateAndFreeUnsupported) {
  if (outside(swappable())) return;
  makeReady();
  const CUdeviceptr block = allocate(4 * kMiB);
  const CUstream stream = makeStream();
  ASSERT_EQ(cu<Cu::cuStreamBeginCapture_v2>(stream, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
  CUdeviceptr other = 0;
  EXPECT_EQ(cu<Cu::cuMemAlloc_v2>(&other, std::size_t{4 * kMiB}),
            CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  CUgraph graph = nullptr;
  EXPECT_EQ(cu<Cu::cuStreamEndCapture>(stream, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  ASSERT_EQ(cu<Cu::cuStreamBeginCapture_v2>(stream, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
  EXPECT_EQ(cu<Cu::cuMemFree_v2>(block), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  EXPECT_EQ(cu<Cu::cuStreamEndCapture>(stream, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  EXPECT_EQ(chunked(), 4 * kMiB);
  EXPECT_EQ(cu<Cu::cuMemFree_v2>(block), CUDA_SUCCESS);
  EXPECT_EQ(chunked(), 0u);
  EXPECT_EXACT();
}

TEST_F(SwappableTest, RelaxedCapture_AllocateAndFreeSucceed) {
  if (outside(swappable())) return;
  makeReady();
  const CUdeviceptr block = allocate(4 * kMiB);
  const CUstream stream = makeStream();
  ASSERT_EQ(cu<Cu::cuStreamBeginCapture_v2>(stream, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_SUCCESS);
  const CUdeviceptr other = allocate(6 * kMiB);
  EXPECT_EQ(cu<Cu::cuMemFree_v2>(block), CUDA_SUCCESS);
  EXPECT_NE(cu<Cu::cuMemFree_v2>(block), CUDA_SUCCESS) << "twice";
  CUgraph graph = nullptr;
  EXPECT_EQ(cu<Cu::cuStreamEndCapture>(stream, &graph), CUDA_SUCCESS);
  EXPECT_EQ(cu<Cu::cuMemFree_v2>(other), CUDA_SUCCESS);
  EXPECT_TRUE(eventually([] { return chunked() == 0 && charged() == booked(); }))
      << "the one that was freed during the capture as well, by whoever took it: " << chunked();
}

// Whoever collects what was freed during a capture waits for the device's work first. Memory that
// others are refused meanwhile is theirs after that.
TEST_F(SwappableTest, FreedInCaptureNotCollected_AllocationsWait) {
  Tenancy tenancy = swappable();
  tenancy.ceiling = 64 * kMiB;
  tenancy.context_outside = true;
  if (outside(tenancy)) return;
  makeReady();
  Endless work;
  const CUdeviceptr block = allocate(60 * kMiB);
  const CUstream stream = makeStream();
  ASSERT_EQ(cu<Cu::cuStreamBeginCapture_v2>(stream, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_SUCCESS);
  EXPECT_EQ(cu<Cu::cuMemFree_v2>(block), CUDA_SUCCESS);
  EXPECT_EQ(work.start(), CUDA_SUCCESS);
  CUgraph graph = nullptr;
  EXPECT_EQ(cu<Cu::cuStreamEndCapture>(stream, &graph), CUDA_SUCCESS);
  // One of them at most is who collects; a mover may be.
  std::atomic<int> begun{0};
  const auto allocating = [&] {
    EXPECT_EQ(cu<Cu::cuCtxSetCurrent>(work.context()), CUDA_SUCCESS);
    ++begun;
    CUdeviceptr own = 0;
    return cu<Cu::cuMemAlloc_v2>(&own, std::size_t{30 * kMiB});
  };
  Launcher one(allocating), other(allocating);
  EXPECT_TRUE(eventually([&] { return begun == 2; }));
  EXPECT_FALSE(
      eventually([&] { return one.done() || other.done(); }, std::chrono::milliseconds(50)));
  work.end();
  EXPECT_TRUE(one.finishes());
  EXPECT_TRUE(other.finishes());
  EXPECT_EQ(chunked(), 60 * kMiB);
  EXPECT_EQ(control().refusals, 0u);
}

TEST_F(SwappableTest, ForkedChildFreesParentsBlock_Refused) {
  if (outside(swappable())) return;
  makeReady();
  const CUdeviceptr block = allocate(4 * kMiB);
  const pid_t child = ::fork();
  if (child == 0) ::_exit(cu<Cu::cuMemFree_v2>(block) == CUDA_SUCCESS ? 1 : 0);
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0) << "it freed its parent's memory";
  EXPECT_EQ(chunked(), 4 * kMiB);
  EXPECT_EXACT();
  EXPECT_EQ(cu<Cu::cuMemFree_v2>(block), CUDA_SUCCESS);
}

TEST_F(SwappableTest, ThreadsAllocateAndFree_S2NothingLeftCharged) {
  if (outside(swappable())) return;
  makeReady();
  const std::uint64_t before = charged();
  CUcontext context = nullptr;
  ASSERT_EQ(cu<Cu::cuCtxGetCurrent>(&context), CUDA_SUCCESS);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      EXPECT_EQ(cu<Cu::cuCtxSetCurrent>(context), CUDA_SUCCESS);
      for (unsigned i = 0; i < 200; ++i) {
        const CUdeviceptr block = allocate((2 + (i * 7 + static_cast<unsigned>(t)) % 70) * kMiB);
        EXPECT_EQ(cu<Cu::cuMemFree_v2>(block), CUDA_SUCCESS);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_TRUE(eventually([&] { return chunked() == 0 && charged() == before; }));
  auto pages = ledger::ResidencyPages::open(tenantDir());
  ASSERT_TRUE(pages);
  ledger::SwapSample sample;
  // What is shown as pinned may be older than the books, until the mover looks.
  EXPECT_TRUE(eventually([&] {
    return pages->read(ownSlot(*pages), 0, &sample) && sample.device[0].pinned == before;
  })) << sample.device[0].pinned;
  EXPECT_EQ(sample.device[0].mapped, 0u);
  EXPECT_EQ(sample.device[0].swappable, 0u);
  EXPECT_EQ(chunked(), 0u);
  EXPECT_EQ(charged(), before);
  EXPECT_EXACT();
}

// Every call of the driver on the way may fail: nothing stays charged or booked.
class SwappableFailureTest : public SwappableTest,
                             public testing::WithParamInterface<const char*> {};

TEST_P(SwappableFailureTest, DriverCallFails_S5AllocationUndone) {
  Tenancy tenancy = swappable();
  tenancy.environment["SIMGPU_FAULTS"] = std::string("fail-at=") + GetParam() + "=999";
  if (outside(tenancy)) return;
  makeReady();
  const std::uint64_t before = charged();
  CUdeviceptr block = 0;
  EXPECT_EQ(cu<Cu::cuMemAlloc_v2>(&block, std::size_t{100 * kMiB}), CUDA_ERROR_UNKNOWN);
  EXPECT_EQ(block, 0u);
  EXPECT_TRUE(eventually([&] { return chunked() == 0 && charged() == before; }))
      << "a mover that had a chunk in its hands has ended it";
  EXPECT_EXACT();
  EXPECT_EQ(cu<Cu::cuMemFree_v2>(allocate(100 * kMiB)), CUDA_SUCCESS) << "the next one works";
  EXPECT_EXACT();
}

INSTANTIATE_TEST_SUITE_P(Calls, SwappableFailureTest,
                         testing::Values("cuMemAddressReserve:1", "cuMemCreate:1", "cuMemCreate:3",
                                         "cuMemMap:2", "cuMemSetAccess:4"));

// P6: what the device can never be made to hold is refused, as on a full card.
TEST_F(SwappableTest, AllocationAboveSwapMaximum_P6OutOfMemory) {
  Tenancy tenancy = swappable();
  tenancy.swap_most = 100 * kMiB;
  tenancy.context_outside = true;
  if (outside(tenancy)) return;
  makeReady();
  const CUdeviceptr block = allocate(96 * kMiB);
  const std::uint64_t held = charged();
  CUdeviceptr other = 0;
  EXPECT_EQ(cu<Cu::cuMemAlloc_v2>(&other, std::size_t{6 * kMiB}), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(control().refusals, 1u);
  EXPECT_EQ(failedRequests(), (FailedRequests{0, 0, 1, 6 * kMiB})) << "counted once, for one cause";
  EXPECT_EQ(charged(), held);
  EXPECT_EQ(cu<Cu::cuMemFree_v2>(allocate(4 * kMiB)), CUDA_SUCCESS);
  EXPECT_EQ(cu<Cu::cuMemFree_v2>(block), CUDA_SUCCESS);
  EXPECT_EQ(cu<Cu::cuMemFree_v2>(allocate(100 * kMiB)), CUDA_SUCCESS);
  EXPECT_EQ(chunked(), 0u);
  EXPECT_EQ(charged(), 0u);
}

// P6: with --on-pressure wait, it waits for somebody to give way.
TEST_F(SwappableTest, AllocationAboveDeviceCover_P6WaitsForOrder) {
  Tenancy tenancy = swappable();
  tenancy.swap_most = 100 * kMiB;
  tenancy.swap_pressure_ms = 60'000;
  tenancy.context_outside = true;
  if (outside(tenancy)) return;
  makeReady();
  allocate(96 * kMiB);
  CUcontext context = nullptr;
  ASSERT_EQ(cu<Cu::cuCtxGetCurrent>(&context), CUDA_SUCCESS);
  std::thread waiting([context] {
    EXPECT_EQ(cu<Cu::cuCtxSetCurrent>(context), CUDA_SUCCESS);
    allocate(64 * kMiB);
  });
  auto pages = ledger::ResidencyPages::open(tenantDir());
  ASSERT_TRUE(pages);
  ledger::SwapSample sample;
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  do {
    std::this_thread::yield();
    EXPECT_TRUE(pages->read(ownSlot(*pages), 0, &sample));
  } while (((sample.state & ledger::kSwapPressed) == 0 || sample.device[0].want == 0) &&
           std::chrono::steady_clock::now() < until);
  EXPECT_EQ(sample.device[0].want, 64 * kMiB);
  EXPECT_EQ(sample.pressure_waits, 1u);
  ledger::ResidencyOrder order;
  EXPECT_TRUE(pages->readOrder(ownSlot(*pages), 0, &order));
  order.most[0] = 160 * kMiB;
  pages->order(ownSlot(*pages), 0, order);
  waiting.join();
  EXPECT_EQ(chunked(), 160 * kMiB);
  ASSERT_TRUE(pages->read(ownSlot(*pages), 0, &sample));
  EXPECT_EQ(sample.state & ledger::kSwapPressed, 0u);
  EXPECT_EQ(sample.device[0].want, 0u);
  EXPECT_EQ(sample.device[0].pinned, 0u);
}

// Born lazily: without room an allocation succeeds at once, and nothing is taken from the card.
TEST_F(SwappableTest, NoRoomOnDevice_BlockMadeWithoutMemory) {
  Tenancy tenancy = swappable();
  tenancy.swap_allowed = 70 * kMiB;
  tenancy.context_outside = true;
  if (outside(tenancy)) return;
  makeReady();
  const std::uint64_t before = charged();
  const CUdeviceptr first = allocate(64 * kMiB), second = allocate(96 * kMiB);
  EXPECT_EQ(charged(), before + 160 * kMiB) << "the share is what it may have in all";
  EXPECT_EQ(chunked(), 64 * kMiB);
  EXPECT_EQ(cu<Cu::cuMemFree_v2>(second), CUDA_SUCCESS);
  EXPECT_EQ(cu<Cu::cuMemFree_v2>(first), CUDA_SUCCESS);
  EXPECT_EQ(chunked(), 0u);
  EXPECT_EQ(charged(), before);
}

}  // namespace
}  // namespace divvy::interposer
