// Memory that the application makes by handles and maps itself leaves the device and comes back
// like any other, and every answer about it is the driver's own about memory that stays.
#include <unistd.h>

#include <atomic>
#include <random>
#include <thread>

#include "vmm_fixture.h"

namespace divvy::interposer {
namespace {

TEST_F(VmmSwapTest, MappedHandles_SwappedOutAndInWithSameBytes) {
  if (outside(swappable())) return;
  makeSwappable();
  const std::uint64_t before = charged();
  const Handle handle = create(3 * kUnit), other = create(kUnit);
  const CUdeviceptr at = addresses(4 * kUnit);
  ASSERT_EQ(map(at, 3 * kUnit, handle), CUDA_SUCCESS);
  ASSERT_EQ(map(at + 3 * kUnit, kUnit, other), CUDA_SUCCESS);
  ASSERT_EQ(open(at, 4 * kUnit), CUDA_SUCCESS) << "both in one call";
  ASSERT_EQ(write(at, 4 * kUnit, 1), CUDA_SUCCESS);
  EXPECT_EXACT();
  allow(0);
  ASSERT_TRUE(becomesResident(0));
  EXPECT_EQ(charged(), before + 4 * kUnit);
  EXPECT_EQ(shown()->device[0].swappable, 4 * kUnit);
  EXPECT_EQ(shown()->chunks_out, 4u);
  EXPECT_EQ(accessOf(at + 5), kWrite);
  allow(kEverything);
  EXPECT_TRUE(holds(at, 4 * kUnit, 1));
  EXPECT_EQ(resident(), 4 * kUnit);
  ASSERT_EQ(write(at, 4 * kUnit, 2), CUDA_SUCCESS);
  outAndIn(4 * kUnit);
  EXPECT_TRUE(holds(at, 4 * kUnit, 2));
  EXPECT_EQ(release(handle), CUDA_SUCCESS);
  EXPECT_EQ(release(other), CUDA_SUCCESS);
  EXPECT_EQ(unmap(at, 4 * kUnit), CUDA_SUCCESS);
  EXPECT_EQ(charged(), before);
  EXPECT_EXACT();
  EXPECT_EQ(cu<Cu::cuMemAddressFree>(at, std::size_t{4 * kUnit}), CUDA_SUCCESS);
  EXPECT_EQ(takenUnderWork(), 0u);
}

// Whatever of it is last: handles of either age, or a mapping.
TEST_F(VmmSwapTest, ReleasedOrUnmapped_LivesUntilLastReference) {
  if (outside(swappable())) return;
  makeSwappable();
  const std::uint64_t before = charged();
  const Handle handle = create(kUnit);
  const CUdeviceptr at = mapped(kUnit, handle);
  ASSERT_EQ(write(at, kUnit, 3), CUDA_SUCCESS);
  ASSERT_EQ(release(handle), CUDA_SUCCESS);
  EXPECT_NE(release(handle), CUDA_SUCCESS) << "twice";
  outAndIn(kUnit);
  allow(0);
  ASSERT_TRUE(becomesResident(0));
  Handle again = 0;
  ASSERT_EQ(cu<Cu::cuMemRetainAllocationHandle>(&again, reinterpret_cast<void*>(at + 4096)),
            CUDA_SUCCESS);
  EXPECT_EQ(again, handle) << "as the driver names it by one number";
  ASSERT_EQ(unmap(at, kUnit), CUDA_SUCCESS) << "while it is out";
  EXPECT_EQ(charged(), before + kUnit);
  const CUdeviceptr elsewhere = mapped(kUnit, again);
  allow(kEverything);
  EXPECT_TRUE(holds(elsewhere, kUnit, 3)) << "unmapped in between";
  EXPECT_NE(write(at, kUnit, 3), CUDA_SUCCESS) << "nothing is there any more";
  ASSERT_EQ(release(again), CUDA_SUCCESS);
  allow(0);
  ASSERT_TRUE(becomesResident(0));
  ASSERT_EQ(unmap(elsewhere, kUnit), CUDA_SUCCESS);
  EXPECT_EQ(charged(), before);
  EXPECT_EQ(shown()->device[0].swappable, 0u);
  EXPECT_NE(cu<Cu::cuMemRetainAllocationHandle>(&again, reinterpret_cast<void*>(elsewhere)),
            CUDA_SUCCESS);
}

TEST_F(VmmSwapTest, TwoMappingsOfHandle_StayOneMemory) {
  if (outside(swappable())) return;
  makeSwappable();
  const Handle handle = create(3 * kUnit);
  const CUdeviceptr one = mapped(3 * kUnit, handle), other = mapped(2 * kUnit, handle);
  ASSERT_EQ(write(one, 3 * kUnit, 4), CUDA_SUCCESS);
  outAndIn(3 * kUnit);
  ASSERT_EQ(write(other + kUnit, kUnit, 5), CUDA_SUCCESS);
  EXPECT_TRUE(holds(one + kUnit, kUnit, 5));
  ASSERT_EQ(unmap(one, 3 * kUnit), CUDA_SUCCESS);
  outAndIn(3 * kUnit);
  EXPECT_TRUE(holds(other + kUnit, kUnit, 5));
  EXPECT_EQ(pinnedFor(PinReason::kAliased), false);
}

TEST_F(VmmSwapTest, TenMappingsOfHandle_PinnedAsAliased) {
  if (outside(swappable())) return;
  makeSwappable();
  const std::uint64_t before = charged();
  const Handle handle = create(2 * kUnit);
  const CUdeviceptr at = addresses(20 * kUnit);
  for (unsigned i = 0; i < 10; ++i) {
    ASSERT_EQ(map(at + i * 2 * kUnit, 2 * kUnit, handle), CUDA_SUCCESS) << i;
  }
  ASSERT_EQ(open(at, 20 * kUnit), CUDA_SUCCESS);
  ASSERT_EQ(write(at, 2 * kUnit, 6), CUDA_SUCCESS);
  EXPECT_TRUE(pinnedFor(PinReason::kAliased));
  allow(0);
  EXPECT_TRUE(staysResident(2 * kUnit));
  for (unsigned i = 0; i < 10; ++i) {
    EXPECT_TRUE(holds(at + i * 2 * kUnit, 2 * kUnit, 6)) << i;
    EXPECT_EQ(accessOf(at + i * 2 * kUnit), kWrite);
  }
  EXPECT_EQ(release(handle), CUDA_SUCCESS);
  EXPECT_EQ(unmap(at, 20 * kUnit), CUDA_SUCCESS);
  EXPECT_EQ(charged(), before);
  EXPECT_EXACT();
}

TEST_F(VmmSwapTest, SwappedOut_MappingsAndAccessMayChange) {
  if (outside(swappable())) return;
  makeSwappable();
  const Handle handle = create(2 * kUnit);
  const CUdeviceptr at = mapped(2 * kUnit, handle), second = addresses(2 * kUnit);
  ASSERT_EQ(write(at, 2 * kUnit, 7), CUDA_SUCCESS);
  allow(0);
  ASSERT_TRUE(becomesResident(0));
  ASSERT_EQ(map(second, 2 * kUnit, handle), CUDA_SUCCESS);
  EXPECT_EQ(accessOf(second), 0u);
  ASSERT_EQ(open(at, 2 * kUnit, 0), CUDA_SUCCESS);
  ASSERT_EQ(open(second, 2 * kUnit), CUDA_SUCCESS);
  EXPECT_TRUE(staysResident(0)) << "nothing of that needs the memory";
  allow(kEverything);
  EXPECT_TRUE(holds(second, 2 * kUnit, 7));
  EXPECT_NE(write(at, 2 * kUnit, 8), CUDA_SUCCESS) << "nobody may";
  EXPECT_EQ(accessOf(at), 0u);
  ASSERT_EQ(open(at, 2 * kUnit), CUDA_SUCCESS);
  EXPECT_TRUE(holds(at, 2 * kUnit, 7));
}

TEST_F(VmmSwapTest, NoRoomOnDevice_CreatedAndWriteWaits) {
  if (outside(swappable())) return;
  makeSwappable();
  const CUdeviceptr first = mapped(kUnit, create(kUnit));
  ASSERT_EQ(write(first, kUnit, 9), CUDA_SUCCESS);
  allow(kUnit);
  const CUdeviceptr second = mapped(2 * kUnit, create(2 * kUnit));
  EXPECT_TRUE(staysResident(kUnit));
  CUcontext context = nullptr;
  ASSERT_EQ(cu<Cu::cuCtxGetCurrent>(&context), CUDA_SUCCESS);
  Launcher writer([=] {
    cu<Cu::cuCtxSetCurrent>(context);
    return write(second, 2 * kUnit, 10);
  });
  EXPECT_TRUE(eventually([] { return shows(ledger::kSwapWanted); }));
  EXPECT_FALSE(writer.done());
  allow(3 * kUnit);
  EXPECT_TRUE(writer.finishes());
  EXPECT_TRUE(holds(second, 2 * kUnit, 10));
  EXPECT_TRUE(holds(first, kUnit, 9));
}

TEST_F(VmmSwapTest, ExportedHandle_PinnedAndImportIsSame) {
  if (outside(swappable())) return;
  makeSwappable();
  const std::uint64_t before = charged();
  const Handle handle = create(3 * kUnit, exportable()), plain = create(kUnit);
  const CUdeviceptr at = mapped(3 * kUnit, handle);
  ASSERT_EQ(write(at, 3 * kUnit, 11), CUDA_SUCCESS);
  outAndIn(4 * kUnit);
  int fd = -1;
  const auto exported = [&](Handle of) {
    return cu<Cu::cuMemExportToShareableHandle>(static_cast<void*>(&fd), of,
                                                CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0ull);
  };
  EXPECT_EQ(exported(plain), CUDA_ERROR_INVALID_VALUE);
  ASSERT_EQ(exported(handle), CUDA_SUCCESS);
  EXPECT_TRUE(pinnedFor(PinReason::kExported));
  allow(0);
  EXPECT_TRUE(becomesResident(3 * kUnit)) << "the other one";
  EXPECT_TRUE(staysResident(3 * kUnit));
  Handle imported = 0;
  ASSERT_EQ(cu<Cu::cuMemImportFromShareableHandle>(
                &imported, reinterpret_cast<void*>(static_cast<std::intptr_t>(fd)),
                CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR),
            CUDA_SUCCESS);
  EXPECT_EQ(imported, handle) << "it is the same memory";
  allow(kEverything);
  ASSERT_TRUE(becomesResident(4 * kUnit));
  EXPECT_TRUE(holds(mapped(3 * kUnit, imported), 3 * kUnit, 11));
  ::close(fd);
  for (const Handle held : {imported, handle, plain}) EXPECT_EQ(release(held), CUDA_SUCCESS);
  EXPECT_EQ(charged(), before + 3 * kUnit) << "two mappings";
}

TEST_F(VmmSwapTest, UnswappableHandles_PinnedWithReason) {
  if (outside(swappable())) return;
  makeSwappable();
  filled(kUnit, 12);
  create(kUnit, staying());
  EXPECT_TRUE(pinnedFor(PinReason::kSparseArray));
  CUmemAllocationProp squeezed = memoryOf();
  squeezed.allocFlags.compressionType = CU_MEM_ALLOCATION_COMP_GENERIC;
  create(kUnit, squeezed);
  EXPECT_TRUE(pinnedFor(PinReason::kDriver));
  // Who only tries what there is uses none of it: it would keep checkpoints away.
  CUmemAllocationProp odd = memoryOf();
  odd.requestedHandleTypes = CU_MEM_HANDLE_TYPE_FABRIC;
  Handle none = 0;
  const CUmemAllocationProp& asked = odd;
  EXPECT_NE(cu<Cu::cuMemCreate>(&none, std::size_t{kUnit}, &asked, 0ull), CUDA_SUCCESS);
  odd = memoryOf();
  odd.type = CU_MEM_ALLOCATION_TYPE_INVALID;
  EXPECT_NE(cu<Cu::cuMemCreate>(&none, std::size_t{kUnit}, &asked, 0ull), CUDA_SUCCESS);
  EXPECT_FALSE(pinnedFor(PinReason::kExported));
  EXPECT_FALSE(pinnedFor(PinReason::kManaged));
  EXPECT_TRUE(eventually([] { return shown()->device[0].pinned >= 2 * kUnit; }));
  allow(0);
  EXPECT_TRUE(becomesResident(2 * kUnit));
  EXPECT_TRUE(staysResident(2 * kUnit));
}

// The simulated driver has no dma-buf and no multicast, and refuses after the memory was told to
// stay: a real one might have given it away.
TEST_F(VmmSwapTest, RangeSharedWithOtherDevices_PinnedEntirely) {
  if (outside(swappable())) return;
  makeSwappable();
  const Handle one = create(kUnit), other = create(kUnit);
  const CUdeviceptr both = addresses(2 * kUnit);
  ASSERT_EQ(map(both, kUnit, one), CUDA_SUCCESS);
  ASSERT_EQ(map(both + kUnit, kUnit, other), CUDA_SUCCESS);
  ASSERT_EQ(open(both, 2 * kUnit), CUDA_SUCCESS);
  const CUdeviceptr plain = filled(3 * kUnit, 13);
  filled(4 * kUnit, 14);
  allow(0);
  ASSERT_TRUE(becomesResident(0));
  allow(kEverything);
  ASSERT_TRUE(becomesResident(9 * kUnit));
  EXPECT_FALSE(pinnedFor(PinReason::kForeignUse));
  int fd = -1;
  const auto share = [&](CUdeviceptr at, std::uint64_t bytes) {
    return cu<Cu::cuMemGetHandleForAddressRange>(static_cast<void*>(&fd), at, std::size_t{bytes},
                                                 CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0ull);
  };
  EXPECT_NE(share(both, ~std::uint64_t{0} >> 1), CUDA_SUCCESS) << "without end";
  EXPECT_FALSE(pinnedFor(PinReason::kForeignUse));
  EXPECT_NE(share(both, 2 * kUnit), CUDA_SUCCESS);
  EXPECT_TRUE(pinnedFor(PinReason::kForeignUse));
  allow(0);
  EXPECT_TRUE(becomesResident(2 * kUnit));
  EXPECT_TRUE(staysResident(2 * kUnit)) << "of both mappings";
  allow(kEverything);
  ASSERT_TRUE(becomesResident(9 * kUnit));
  EXPECT_FALSE(pinnedFor(PinReason::kMulticast));
  EXPECT_NE(cu<Cu::cuMulticastBindAddr>(Handle{1}, std::size_t{0}, plain, std::size_t{kUnit}, 0ull),
            CUDA_SUCCESS);
  EXPECT_TRUE(pinnedFor(PinReason::kMulticast));
  allow(0);
  EXPECT_TRUE(becomesResident(5 * kUnit)) << "the whole block";
  EXPECT_EQ(takenUnderWork(), 0u);
}

TEST_F(VmmSwapTest, MulticastBind_OnlySingleChunkPinned) {
  if (outside(swappable())) return;
  makeSwappable();
  const Handle small = create(kUnit), large = create(2 * kUnit);
  const auto bind = [](Handle memory) {
    return cu<Cu::cuMulticastBindMem>(Handle{1}, std::size_t{0}, memory, std::size_t{0},
                                      std::size_t{kUnit}, 0ull);
  };
  EXPECT_EQ(bind(large), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_FALSE(pinnedFor(PinReason::kMulticast));
  EXPECT_NE(bind(small), CUDA_SUCCESS);
  EXPECT_TRUE(pinnedFor(PinReason::kMulticast));
  allow(0);
  EXPECT_TRUE(becomesResident(kUnit));
  EXPECT_TRUE(staysResident(kUnit));
}

// It is used by other devices only where there are any.
TEST_F(VmmSwapTest, RdmaCapableHandle_PinnedIfNetworkDeviceExists) {
  if (outside(swappable())) return;
  makeSwappable();
  bool devices = false;
  for (const char* path : {"/dev/infiniband", "/dev/gdrdrv", "/dev/nvidia-fs0"}) {
    devices = devices || ::access(path, F_OK) == 0;
  }
  CUmemAllocationProp prop = memoryOf();
  prop.allocFlags.gpuDirectRDMACapable = 1;
  const Handle handle = create(2 * kUnit, prop);
  EXPECT_EQ(pinnedFor(PinReason::kForeignUse), devices);
  filled(kUnit, 18);
  allow(0);
  EXPECT_TRUE(becomesResident(devices ? 2 * kUnit : 0));
  CUmemAllocationProp back{};
  EXPECT_EQ(cu<Cu::cuMemGetAllocationPropertiesFromHandle>(&back, handle), CUDA_SUCCESS);
  EXPECT_EQ(back.allocFlags.gpuDirectRDMACapable, 1) << "it is told what it asked for";
}

// Tokens are what GPUDirect's first interface handed to network cards. That the driver is not asked
// shows in its answer, which would be another one.
TEST_F(VmmSwapTest, SwappableMemory_P2pTokensRefused) {
  Tenancy tenancy = swappable();
  tenancy.environment["SIMGPU_FAULTS"] +=
      ",fail-at=cuPointerGetAttribute:1=801,fail-at=cuPointerGetAttributes:1=802";
  if (outside(tenancy)) return;
  makeSwappable();
  const CUdeviceptr block = filled(kUnit, 15), small = filled(4096, 16);
  const CUdeviceptr view = mapped(kUnit, create(kUnit));
  CUDA_POINTER_ATTRIBUTE_P2P_TOKENS tokens{};
  unsigned type = 0;
  CUpointer_attribute asked[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_P2P_TOKENS};
  void* answers[] = {&type, &tokens};
  const auto one = [&](CUdeviceptr at) {
    return cu<Cu::cuPointerGetAttribute>(static_cast<void*>(&tokens),
                                         CU_POINTER_ATTRIBUTE_P2P_TOKENS, at);
  };
  const auto several = [&](CUdeviceptr at) {
    return cu<Cu::cuPointerGetAttributes>(2u, static_cast<CUpointer_attribute*>(asked),
                                          static_cast<void**>(answers), at);
  };
  for (const CUdeviceptr at : {block, small, view}) {
    EXPECT_EQ(one(at), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(several(at), CUDA_ERROR_INVALID_VALUE);
  }
  // What stays for such a use is the driver's to answer for.
  const std::uint32_t yes = 1;
  ASSERT_EQ(cu<Cu::cuPointerSetAttribute>(static_cast<const void*>(&yes),
                                          CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, block),
            CUDA_SUCCESS);
  EXPECT_EQ(one(block), CUresult{801});
  EXPECT_EQ(several(block), CUresult{802});
}

TEST_F(VmmSwapTest, PeerAccess_RestoredAfterSwap) {
  Tenancy tenancy = swappable();
  tenancy.machine = "h100x2";
  tenancy.devices = {0, 1};
  if (outside(tenancy)) return;
  makeSwappable();
  const CUdeviceptr at = addresses(2 * kUnit);
  ASSERT_EQ(map(at, 2 * kUnit, create(2 * kUnit)), CUDA_SUCCESS);
  ASSERT_EQ(open(at, 2 * kUnit), CUDA_SUCCESS);
  ASSERT_EQ(open(at, 2 * kUnit, kRead, 1), CUDA_SUCCESS);
  ASSERT_EQ(write(at, 2 * kUnit, 15), CUDA_SUCCESS);
  outAndIn(2 * kUnit);
  EXPECT_EQ(accessOf(at, 0), kWrite);
  EXPECT_EQ(accessOf(at, 1), kRead);
  CUcontext context = nullptr;
  ASSERT_EQ(cu<Cu::cuDevicePrimaryCtxRetain>(&context, 1), CUDA_SUCCESS);
  ASSERT_EQ(cu<Cu::cuCtxSetCurrent>(context), CUDA_SUCCESS);
  EXPECT_TRUE(holds(at, 2 * kUnit, 15)) << "read by the other one";
  EXPECT_NE(cu<Cu::cuMemsetD32_v2>(at, 1u, std::size_t{1}), CUDA_SUCCESS) << "and read only";
}

TEST_F(VmmSwapTest, ContextDestroyed_MemorySurvives) {
  if (outside(swappable())) return;
  makeSwappable();
  CUcontext primary = nullptr, context = nullptr;
  ASSERT_EQ(cu<Cu::cuCtxGetCurrent>(&primary), CUDA_SUCCESS);
  ASSERT_EQ(cu<Cu::cuCtxCreate_v2>(&context, 0u, 0), CUDA_SUCCESS);
  const CUdeviceptr at = mapped(2 * kUnit, create(2 * kUnit));
  ASSERT_EQ(write(at, 2 * kUnit, 16), CUDA_SUCCESS);
  allow(0);
  ASSERT_TRUE(becomesResident(0));
  ASSERT_EQ(cu<Cu::cuCtxDestroy_v2>(context), CUDA_SUCCESS);
  ASSERT_EQ(cu<Cu::cuCtxSetCurrent>(primary), CUDA_SUCCESS);
  allow(kEverything);
  EXPECT_TRUE(holds(at, 2 * kUnit, 16));
}

// What is exportable is one chunk, of whatever size: its host memory is of no use for small ones.
TEST_F(VmmSwapTest, LargeChunkReleased_SmallOnesFindHostMemory) {
  if (outside(swappable())) return;
  makeSwappable();
  const Handle large = create(10 * kUnit, exportable());
  allow(0, 11 * kUnit);
  ASSERT_TRUE(becomesResident(0));
  EXPECT_EQ(shown()->host_bytes, 10 * kUnit);
  allow(kEverything);
  ASSERT_TRUE(becomesResident(10 * kUnit));
  ASSERT_EQ(release(large), CUDA_SUCCESS);
  const CUdeviceptr at = mapped(8 * kUnit, create(8 * kUnit));
  ASSERT_EQ(write(at, 8 * kUnit, 17), CUDA_SUCCESS);
  allow(0, 11 * kUnit);
  EXPECT_TRUE(becomesResident(0)) << "eight chunks of one unit find a place";
  EXPECT_LE(shown()->host_bytes, 11 * kUnit);
  allow(kEverything);
  EXPECT_TRUE(holds(at, 8 * kUnit, 17));
}

// Mappings come and go, in the thread that reads and writes there, while memory does.
TEST_F(VmmSwapTest, MappingsChangeDuringSwaps_BytesCorrect) {
  if (outside(swappable())) return;
  makeSwappable();
  const std::uint64_t before = charged();
  constexpr unsigned kHandles = 4;
  CUcontext context = nullptr;
  ASSERT_EQ(cu<Cu::cuCtxGetCurrent>(&context), CUDA_SUCCESS);
  std::atomic<bool> over{false};
  std::atomic<unsigned> turns{0};
  std::thread worker([&] {
    cu<Cu::cuCtxSetCurrent>(context);
    Handle handles[kHandles];
    CUdeviceptr places[kHandles] = {};
    const CUdeviceptr at = addresses(2 * kHandles * 2 * kUnit);
    unsigned seeds[kHandles];
    std::mt19937 random(3);
    for (unsigned i = 0; i < kHandles; ++i) handles[i] = create(2 * kUnit);
    for (unsigned turn = 0; !over; ++turn) {
      const unsigned i = random() % kHandles;
      if (places[i] != 0) {
        ASSERT_TRUE(holds(places[i], 2 * kUnit, seeds[i])) << "turn " << turn;
        ASSERT_EQ(unmap(places[i], 2 * kUnit), CUDA_SUCCESS);
      }
      const bool first = places[i] == 0;
      places[i] = at + (i + (random() % 2) * kHandles) * 2 * kUnit;
      ASSERT_EQ(map(places[i], 2 * kUnit, handles[i]), CUDA_SUCCESS);
      ASSERT_EQ(open(places[i], 2 * kUnit), CUDA_SUCCESS);
      ASSERT_TRUE(first || holds(places[i], 2 * kUnit, seeds[i])) << "turn " << turn;
      seeds[i] = static_cast<unsigned>(random());
      ASSERT_EQ(write(places[i], 2 * kUnit, seeds[i]), CUDA_SUCCESS);
      ++turns;
    }
    for (unsigned i = 0; i < kHandles; ++i) {
      EXPECT_EQ(unmap(places[i], 2 * kUnit) == CUDA_SUCCESS, places[i] != 0);
      EXPECT_EQ(release(handles[i]), CUDA_SUCCESS);
    }
  });
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  const int rounds = 20;
#else
  const int rounds = 200;
#endif
  std::mt19937 random(4);
  for (int round = 0; round < rounds && !HasFailure(); ++round) {
    const std::uint64_t allowed = random() % (2 * kHandles) * kUnit;
    const std::uint64_t done = shown()->chunks_out;
    allow(allowed);
    eventually([=] { return resident() <= allowed || shown()->chunks_out > done + 8; });
    allow(kEverything);
    const unsigned turn = turns;
    ASSERT_TRUE(eventually([&] { return turns > turn; })) << "round " << round;
  }
  over = true;
  allow(kEverything);
  worker.join();
  EXPECT_EQ(charged(), before);
  EXPECT_EXACT();
  EXPECT_EQ(takenUnderWork(), 0u);
}

// Threads that map the same memory, each at addresses of its own, do not see each other.
TEST_F(VmmSwapTest, ThreadsMapSameHandle_BytesCorrect) {
  if (outside(swappable())) return;
  makeSwappable();
  const std::uint64_t before = charged();
  CUcontext context = nullptr;
  ASSERT_EQ(cu<Cu::cuCtxGetCurrent>(&context), CUDA_SUCCESS);
  const Handle handle = create(3 * kUnit);
  ASSERT_EQ(write(mapped(3 * kUnit, handle), 3 * kUnit, 20), CUDA_SUCCESS);
  std::atomic<bool> over{false};
  std::atomic<unsigned> turns{0};
  const auto work = [&](unsigned bytes) {
    cu<Cu::cuCtxSetCurrent>(context);
    const CUdeviceptr at = addresses(bytes);
    while (!over && !HasFailure()) {
      ASSERT_EQ(map(at, bytes, handle), CUDA_SUCCESS);
      ASSERT_EQ(open(at, bytes, turns % 2 == 0 ? kRead : kWrite), CUDA_SUCCESS);
      ASSERT_TRUE(holds(at, bytes, 20));
      ASSERT_EQ(unmap(at, bytes), CUDA_SUCCESS);
      ++turns;
    }
  };
  std::thread one(work, 3 * kUnit), other(work, 2 * kUnit);
  for (int round = 0; round < 50 && !HasFailure(); ++round) {
    const std::uint64_t allowed = static_cast<unsigned>(round) % 3 * kUnit;
    allow(allowed);
    ASSERT_TRUE(eventually([=] { return resident() <= allowed; })) << "round " << round;
    allow(kEverything);
    const unsigned turn = turns;
    ASSERT_TRUE(eventually([&] { return turns > turn || HasFailure(); })) << "round " << round;
  }
  over = true;
  allow(kEverything);
  one.join();
  other.join();
  EXPECT_EQ(charged(), before + 3 * kUnit);
  EXPECT_FALSE(pinnedFor(PinReason::kAliased));
  EXPECT_EQ(takenUnderWork(), 0u);
}

}  // namespace
}  // namespace divvy::interposer
