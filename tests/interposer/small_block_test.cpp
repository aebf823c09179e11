// P1.1: blocks below the device's granularity are pieces of arenas, which are swapped as all other
// blocks are.
#include <sys/wait.h>
#include <unistd.h>

#include <random>
#include <thread>
#include <vector>

#include "swap_fixture.h"

namespace divvy::interposer {
namespace {

class SmallBlockTest : public SwapTest {
 protected:
  static Tenancy tenancy() {
    Tenancy tenancy = swappable();
    tenancy.machine = "rtx4070";
    return tenancy;
  }
  static CUdeviceptr allocate(std::size_t bytes) {
    CUdeviceptr block = 0;
    EXPECT_EQ(cu<Cu::cuMemAlloc_v2>(&block, bytes), CUDA_SUCCESS);
    return block;
  }
  static void free(CUdeviceptr block) { EXPECT_EQ(cu<Cu::cuMemFree_v2>(block), CUDA_SUCCESS); }
  static std::uint64_t native() { return booked(Charge::kPlain); }
};

TEST_F(SmallBlockTest, SwappedOutBlocks_BytesComeBack) {
  if (outside(tenancy())) return;
  makeSwappable();
  std::vector<CUdeviceptr> blocks;
  for (unsigned i = 0; i < 50; ++i) blocks.push_back(filled(4 * (1 + i * 997), i));
  EXPECT_EQ(native(), 0u);
  const std::uint64_t held = resident();
  EXPECT_EQ(held, 6 * kMiB) << "arenas of a chunk";
  allow(0);
  EXPECT_TRUE(becomesResident(0));
  EXPECT_EQ(cu<Cu::cuMemFree_v2>(blocks.back()), CUDA_SUCCESS) << "while it is away";
  blocks.pop_back();
  allow(kEverything);
  for (unsigned i = 0; i < blocks.size(); ++i) {
    EXPECT_TRUE(holds(blocks[i], 4 * (1 + i * 997), i)) << i;
  }
  EXPECT_EQ(resident(), held);
  EXPECT_EQ(takenUnderWork(), 0u);
  for (const CUdeviceptr block : blocks) free(block);
  EXPECT_EQ(resident(), 0u) << "without a block the arena is given back";
  EXPECT_EXACT();
}

TEST_F(SmallBlockTest, Blocks_AlignedAndDisjoint) {
  if (outside(tenancy())) return;
  makeSwappable();
  CUdeviceptr last = 0;
  for (const std::size_t bytes : {1, 512, 513, 100'000, 1}) {
    const CUdeviceptr block = allocate(bytes);
    EXPECT_EQ(block % 512, 0u);
    EXPECT_GT(block, last);
    last = block + bytes - 1;
  }
}

TEST_F(SmallBlockTest, Blocks_ChargedByArena) {
  if (outside(tenancy())) return;
  makeSwappable();
  const std::uint64_t before = charged();
  const CUdeviceptr one = allocate(1);
  EXPECT_EQ(charged(), before + 2 * kMiB);
  const CUdeviceptr other = allocate(2 * kMiB - 512);
  EXPECT_EQ(charged(), before + 2 * kMiB) << "there was room for it";
  const CUdeviceptr third = allocate(512);
  EXPECT_EQ(charged(), before + 4 * kMiB);
  std::size_t free_bytes = 0, total = 0;
  ASSERT_EQ(cu<Cu::cuMemGetInfo_v2>(&free_bytes, &total), CUDA_SUCCESS);
  EXPECT_EQ(free_bytes, total - charged());
  EXPECT_EXACT();
  free(one);
  free(other);
  EXPECT_EQ(charged(), before + 2 * kMiB);
  free(third);
  EXPECT_EQ(charged(), before);
  EXPECT_EXACT();
}

// Arenas grow with what is in use, up to a chunk: less than half of what is charged is unused.
TEST_F(SmallBlockTest, ManyBlocks_ArenasGrowUpToChunk) {
  Tenancy small = tenancy();
  small.swap_chunk = 8 * kMiB;
  if (outside(small)) return;
  makeSwappable();
  std::vector<CUdeviceptr> blocks;
  std::vector<std::uint64_t> sizes;
  for (int i = 0; i < 32; ++i) {
    const std::uint64_t before = resident();
    blocks.push_back(allocate(kMiB));
    if (resident() != before) sizes.push_back((resident() - before) / kMiB);
  }
  EXPECT_EQ(sizes, (std::vector<std::uint64_t>{2, 2, 4, 8, 8, 8}));
  for (const CUdeviceptr block : blocks) free(block);
  EXPECT_EQ(resident(), 0u);
  EXPECT_EXACT();
}

// A share that is nearly used up is used up to its end all the same.
TEST_F(SmallBlockTest, ShareNearlyUsed_S5LimitReachedExactly) {
  Tenancy small = tenancy();
  small.context_outside = true;
  small.ceiling = 11 * kMiB + 3 * 1024;
  if (outside(small)) return;
  makeSwappable();
  std::uint64_t bytes = 0;
  CUdeviceptr block = 0;
  while (cu<Cu::cuMemAlloc_v2>(&block, std::size_t{256 << 10}) == CUDA_SUCCESS) bytes += 256 << 10;
  EXPECT_GE(bytes, 10 * kMiB);
  while (cu<Cu::cuMemAlloc_v2>(&block, std::size_t{1024}) == CUDA_SUCCESS) bytes += 1024;
  EXPECT_EQ(bytes, small.ceiling);
  EXPECT_EQ(charged(), small.ceiling);
  EXPECT_EQ(native(), kMiB + 3 * 1024) << "what no arena fits into is the driver's";
  EXPECT_EQ(control().refusals, 2u);
}

TEST_F(SmallBlockTest, InvalidFrees_S5DriversErrors) {
  if (outside(tenancy())) return;
  makeSwappable();
  const CUdeviceptr first = allocate(5000), second = allocate(5000);
  EXPECT_EQ(cu<Cu::cuMemFree_v2>(first + 512), CUDA_ERROR_INVALID_VALUE) << "inside";
  EXPECT_EQ(cu<Cu::cuMemFree_v2>(first + 4999), CUDA_ERROR_INVALID_VALUE);
  free(first);
  EXPECT_EQ(cu<Cu::cuMemFree_v2>(first), CUDA_ERROR_INVALID_VALUE)
      << "twice, where the arena begins";
  EXPECT_EQ(cu<Cu::cuMemsetD8_v2>(second, static_cast<unsigned char>(1), std::size_t{5000}),
            CUDA_SUCCESS);
  free(second);
  EXPECT_NE(cu<Cu::cuMemFree_v2>(second), CUDA_SUCCESS);
  EXPECT_EXACT();
}

// The next one may get the room at once: nothing may be under way in it.
TEST_F(SmallBlockTest, FreeDuringWork_WaitsForWork) {
  if (outside(tenancy())) return;
  makeSwappable();
  const CUdeviceptr kept = allocate(512), block = allocate(kMiB);
  CUstream stream = nullptr;
  ASSERT_EQ(cu<Cu::cuStreamCreate>(&stream, 1u), CUDA_SUCCESS);
  for (int i = 0; i < 20; ++i) {
    ASSERT_EQ(
        cu<Cu::cuMemsetD8Async>(block, static_cast<unsigned char>(i), std::size_t{kMiB}, stream),
        CUDA_SUCCESS);
  }
  free(block);
  EXPECT_EQ(cu<Cu::cuStreamQuery>(stream), CUDA_SUCCESS) << "nothing of it is under way";
  EXPECT_EQ(allocate(kMiB), block);
  free(kept);
}

TEST_F(SmallBlockTest, ContextDestroyed_OnlyItsBlocksFreed) {
  if (outside(tenancy())) return;
  makeSwappable();
  const CUdeviceptr kept = allocate(1000);
  CUcontext context = nullptr, primary = nullptr;
  ASSERT_EQ(cu<Cu::cuCtxGetCurrent>(&primary), CUDA_SUCCESS);
  ASSERT_EQ(cu<Cu::cuCtxCreate_v2>(&context, 0u, 0), CUDA_SUCCESS);
  const CUdeviceptr other = allocate(1000);
  EXPECT_EQ(resident(), 4 * kMiB) << "contexts share no arena";
  ASSERT_EQ(cu<Cu::cuCtxDestroy_v2>(context), CUDA_SUCCESS);
  EXPECT_EQ(resident(), 2 * kMiB);
  EXPECT_EXACT();
  ASSERT_EQ(cu<Cu::cuCtxSetCurrent>(primary), CUDA_SUCCESS);
  EXPECT_NE(cu<Cu::cuMemFree_v2>(other), CUDA_SUCCESS) << "it is gone";
  EXPECT_EQ(cu<Cu::cuMemsetD8_v2>(kept, static_cast<unsigned char>(1), std::size_t{1000}),
            CUDA_SUCCESS);
  ASSERT_EQ(cu<Cu::cuDevicePrimaryCtxReset_v2>(0), CUDA_SUCCESS);
  EXPECT_EQ(resident(), 0u);
  EXPECT_EQ(charged(), 0u);
}

TEST_F(SmallBlockTest, FreeDuringCapture_DoneAfterCapture) {
  if (outside(tenancy())) return;
  makeSwappable();
  const CUdeviceptr kept = allocate(512), block = allocate(5000);
  CUstream stream = nullptr;
  ASSERT_EQ(cu<Cu::cuStreamCreate>(&stream, 1u), CUDA_SUCCESS);
  ASSERT_EQ(cu<Cu::cuStreamBeginCapture_v2>(stream, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
  CUdeviceptr other = 0;
  EXPECT_EQ(cu<Cu::cuMemAlloc_v2>(&other, std::size_t{5000}),
            CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  CUgraph graph = nullptr;
  EXPECT_EQ(cu<Cu::cuStreamEndCapture>(stream, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  ASSERT_EQ(cu<Cu::cuStreamBeginCapture_v2>(stream, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_SUCCESS);
  free(block);
  EXPECT_EQ(cu<Cu::cuMemFree_v2>(block), CUDA_ERROR_INVALID_VALUE) << "twice";
  EXPECT_NE(allocate(5000), block) << "work may be using it still";
  EXPECT_EQ(cu<Cu::cuStreamEndCapture>(stream, &graph), CUDA_SUCCESS);
  CUdeviceptr again = 0;
  EXPECT_TRUE(eventually([&] {
    again = allocate(5000);
    return again == block;
  })) << "now it is not";
  EXPECT_EQ(resident(), 2 * kMiB);
  free(kept);
}

TEST_F(SmallBlockTest, ForkedChildFreesParentsBlock_Refused) {
  if (outside(tenancy())) return;
  makeSwappable();
  const CUdeviceptr block = filled(4096, 3);
  const pid_t child = ::fork();
  if (child == 0) ::_exit(cu<Cu::cuMemFree_v2>(block) == CUDA_SUCCESS ? 1 : 0);
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0) << "it freed its parent's memory";
  EXPECT_TRUE(holds(block, 4096, 3));
  free(block);
  EXPECT_EXACT();
}

TEST_F(SmallBlockTest, ThreadsAllocateAndFree_S2NothingLeftCharged) {
  if (outside(tenancy())) return;
  makeSwappable();
  const std::uint64_t before = charged();
  CUcontext context = nullptr;
  ASSERT_EQ(cu<Cu::cuCtxGetCurrent>(&context), CUDA_SUCCESS);
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      EXPECT_EQ(cu<Cu::cuCtxSetCurrent>(context), CUDA_SUCCESS);
      std::mt19937 random(t);
      std::vector<CUdeviceptr> own;
      for (unsigned i = 0; i < 400; ++i) {
        if (own.size() < 10 && random() % 2 == 0) {
          own.push_back(allocate(1 + random() % (600 << 10)));
        } else if (!own.empty()) {
          std::swap(own[random() % own.size()], own.back());
          free(own.back());
          own.pop_back();
        }
      }
      for (const CUdeviceptr block : own) free(block);
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_TRUE(eventually([&] { return resident() == 0 && charged() == before; })) << resident();
  EXPECT_EXACT();
}

// Every call of the driver on the way may fail: then the driver is asked for the block itself.
TEST_F(SmallBlockTest, ArenaCreationFails_S5UndoneAndBlockNative) {
  Tenancy failing = tenancy();
  failing.environment["SIMGPU_FAULTS"] = "fail-at=cuMemSetAccess:1=999";
  if (outside(failing)) return;
  makeSwappable();
  const std::uint64_t before = charged();
  const CUdeviceptr block = allocate(1000);
  EXPECT_TRUE(eventually([] { return resident() == 0; }));
  EXPECT_EQ(native(), 1024u);
  EXPECT_EXACT();
  const CUdeviceptr next = allocate(1000);
  EXPECT_EQ(resident(), 2 * kMiB) << "the next one works";
  free(next);
  free(block);
  EXPECT_EQ(charged(), before);
  EXPECT_EXACT();
}

}  // namespace
}  // namespace divvy::interposer
