// Stream-ordered memory that can be swapped: what a program sees is the driver's order, in chunks.
#include <random>
#include <set>
#include <thread>
#include <vector>

#include "swap_fixture.h"

namespace divvy::interposer {
namespace {

constexpr CUstream kNull = nullptr;
constexpr std::size_t kLarge = 8 * kMiB;

class AsyncAllocatorTest : public SwapTest {
 protected:
  static Tenancy tenancy() {
    Tenancy tenancy = swappable();
    tenancy.machine = "rtx4070";
    return tenancy;
  }
  static CUstream makeStream() {
    CUstream stream = nullptr;
    EXPECT_EQ(cu<Cu::cuStreamCreate>(&stream, 1u), CUDA_SUCCESS);
    return stream;
  }
  static CUdeviceptr allocate(std::size_t bytes, CUstream stream = kNull) {
    CUdeviceptr block = 0;
    EXPECT_EQ(cu<Cu::cuMemAllocAsync>(&block, bytes, stream), CUDA_SUCCESS);
    return block;
  }
  static void free(CUdeviceptr block, CUstream stream = kNull) {
    EXPECT_EQ(cu<Cu::cuMemFreeAsync>(block, stream), CUDA_SUCCESS);
  }
  static void synchronise(CUstream stream = kNull) {
    EXPECT_EQ(cu<Cu::cuStreamSynchronize>(stream), CUDA_SUCCESS);
  }
  static CUmemoryPool defaultPool() {
    CUmemoryPool pool = nullptr;
    EXPECT_EQ(cu<Cu::cuDeviceGetDefaultMemPool>(&pool, 0), CUDA_SUCCESS);
    return pool;
  }
  static CUmemoryPool makePool(std::size_t most = 0) {
    CUmemoryPool pool = nullptr;
    CUmemPoolProps props{};
    props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    props.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    props.maxSize = most;
    EXPECT_EQ(cu<Cu::cuMemPoolCreate>(&pool, static_cast<const CUmemPoolProps*>(&props)),
              CUDA_SUCCESS);
    return pool;
  }
  static void keep(CUmemoryPool pool, cuuint64_t bytes) {
    EXPECT_EQ(cu<Cu::cuMemPoolSetAttribute>(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD,
                                            static_cast<void*>(&bytes)),
              CUDA_SUCCESS);
  }
  static std::uint64_t ask(CUmemoryPool pool, CUmemPool_attribute attribute) {
    cuuint64_t value = 77;
    EXPECT_EQ(cu<Cu::cuMemPoolGetAttribute>(pool, attribute, static_cast<void*>(&value)),
              CUDA_SUCCESS);
    return value;
  }
  static std::uint64_t native() { return booked(Charge::kPool); }
  static bool namesStreams() { return !isOldDriver(); }
};

TEST_F(AsyncAllocatorTest, SwappedOutBlocks_BytesComeBack) {
  if (outside(tenancy())) return;
  makeSwappable();
  const CUstream stream = makeStream();
  const CUdeviceptr large = allocate(kLarge, stream), small = allocate(4096, stream);
  EXPECT_EQ(native(), 0u);
  EXPECT_EQ(resident(), kLarge + 2 * kMiB);
  EXPECT_EXACT();
  EXPECT_FALSE(pinnedFor(ledger::PinReason::kPool));
  ASSERT_EQ(cu<Cu::cuMemsetD32Async>(large, 0x1234567u, kLarge / 4, stream), CUDA_SUCCESS);
  ASSERT_EQ(cu<Cu::cuMemsetD32Async>(small, 0x7654321u, std::size_t{1024}, stream), CUDA_SUCCESS);
  synchronise(stream);
  allow(0);
  EXPECT_TRUE(becomesResident(0));
  allow(kEverything);
  std::vector<std::uint32_t> words(kLarge / 4);
  ASSERT_EQ(cu<Cu::cuMemcpyDtoH_v2>(static_cast<void*>(words.data()), large, kLarge), CUDA_SUCCESS);
  EXPECT_EQ(words, std::vector<std::uint32_t>(kLarge / 4, 0x1234567u));
  words.resize(1024);
  ASSERT_EQ(cu<Cu::cuMemcpyDtoH_v2>(static_cast<void*>(words.data()), small, std::size_t{4096}),
            CUDA_SUCCESS);
  EXPECT_EQ(words, std::vector<std::uint32_t>(1024, 0x7654321u));
  free(large, stream);
  free(small, stream);
  synchronise(stream);
  EXPECT_EQ(resident(), 0u);
  EXPECT_EXACT();
  EXPECT_EQ(takenUnderWork(), 0u);
}

// By the card's order: the stream that freed it comes to the free before what it does then; another
// stream does not.
TEST_F(AsyncAllocatorTest, FreedInStream_NotReusedByOtherStream) {
  if (outside(tenancy())) return;
  makeSwappable();
  for (const std::size_t bytes : {kLarge, std::size_t{5000}}) {
    Endless work;
    EXPECT_EQ(work.start(), CUDA_SUCCESS);
    const CUstream other = makeStream();
    const CUdeviceptr block = allocate(bytes, work.stream());
    free(block, work.stream());
    const CUdeviceptr elsewhere = allocate(bytes, other);
    EXPECT_NE(elsewhere, block) << "work of the first stream may be using it still";
    // Where streams have no number nobody is known to be the one that freed it.
    const CUdeviceptr again = allocate(bytes, work.stream());
    EXPECT_EQ(again == block, namesStreams());
    free(again, work.stream());
    work.end();
    synchronise(work.stream());
    free(elsewhere, other);
    synchronise(other);
    EXPECT_EQ(resident(), 0u);
  }
  EXPECT_EQ(takenUnderWork(), 0u);
}

TEST_F(AsyncAllocatorTest, FreeBehindWork_MemoryStaysUntilWorkEnds) {
  if (outside(tenancy())) return;
  makeSwappable();
  Endless work;
  EXPECT_EQ(work.start(), CUDA_SUCCESS);
  const CUstream other = makeStream();
  const CUdeviceptr block = allocate(kLarge, work.stream());
  ASSERT_EQ(cu<Cu::cuMemsetD8Async>(block, static_cast<unsigned char>(1), kLarge, work.stream()),
            CUDA_SUCCESS);
  free(block, work.stream());
  synchronise(other);
  EXPECT_EQ(cu<Cu::cuMemPoolTrimTo>(defaultPool(), std::size_t{0}), CUDA_SUCCESS);
  EXPECT_EQ(resident(), kLarge);
  work.end();
  synchronise(work.stream());
  EXPECT_EQ(resident(), 0u);
  EXPECT_EQ(cu<Cu::cuCtxSynchronize>(), CUDA_SUCCESS) << "nothing of it failed";
  EXPECT_EQ(takenUnderWork(), 0u);
}

// What was freed may be asked for under another number of bytes: the block tells the latter.
TEST_F(AsyncAllocatorTest, BlockReused_NewBufferIdAndSize) {
  if (outside(tenancy())) return;
  makeSwappable();
  keep(defaultPool(), ~cuuint64_t{0});
  std::set<std::uint64_t> numbers;
  for (const std::size_t bytes : {kLarge, kLarge - 1000, std::size_t{5000}, std::size_t{4999}}) {
    const CUdeviceptr block = allocate(bytes);
    std::size_t size = 0;
    CUdeviceptr base = 0;
    ASSERT_EQ(cu<Cu::cuMemGetAddressRange_v2>(&base, &size, block + bytes - 1), CUDA_SUCCESS);
    EXPECT_EQ(base, block);
    EXPECT_EQ(size, bytes);
    std::uint64_t value = 0;
    ASSERT_EQ(cu<Cu::cuPointerGetAttribute>(static_cast<void*>(&value),
                                            CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, block),
              CUDA_SUCCESS);
    EXPECT_EQ(value, reinterpret_cast<std::uint64_t>(defaultPool()));
    ASSERT_EQ(cu<Cu::cuPointerGetAttribute>(static_cast<void*>(&value),
                                            CU_POINTER_ATTRIBUTE_BUFFER_ID, block),
              CUDA_SUCCESS);
    numbers.insert(value);
    ASSERT_EQ(cu<Cu::cuPointerGetAttribute>(static_cast<void*>(&value),
                                            CU_POINTER_ATTRIBUTE_CONTEXT, block),
              CUDA_SUCCESS);
    EXPECT_EQ(value, 0u) << "it is the pool's";
    free(block);
    synchronise();
  }
  EXPECT_EQ(numbers.size(), 4u);
  EXPECT_EQ(resident(), kLarge) << "one block was used twice";
}

TEST_F(AsyncAllocatorTest, PoolAttributes_I4SumsOfBlocksAndTrim) {
  if (outside(tenancy())) return;
  makeSwappable();
  const CUmemoryPool pool = defaultPool();
  keep(pool, kLarge);
  const CUdeviceptr one = allocate(kLarge - 1), other = allocate(3 * kMiB), small = allocate(700);
  EXPECT_EQ(ask(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT), kLarge + 3 * kMiB + 1024);
  EXPECT_EQ(ask(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), kLarge + 6 * kMiB);
  free(one);
  free(other);
  free(small);
  synchronise();
  EXPECT_EQ(ask(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT), 0u);
  EXPECT_EQ(ask(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH), kLarge + 3 * kMiB + 1024);
  const std::uint64_t kept = ask(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT);
  EXPECT_LE(kept, kLarge);
  EXPECT_GT(kept, 0u) << "as much as the threshold says";
  EXPECT_EQ(resident(), kept);
  EXPECT_EXACT();
  EXPECT_EQ(ask(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH), kLarge + 6 * kMiB);
  cuuint64_t zero = 0;
  for (const auto high : {CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH, CU_MEMPOOL_ATTR_USED_MEM_HIGH}) {
    EXPECT_EQ(cu<Cu::cuMemPoolSetAttribute>(pool, high, static_cast<void*>(&zero)), CUDA_SUCCESS);
  }
  EXPECT_EQ(ask(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH), 0u);
  EXPECT_EQ(ask(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH), kept);
  EXPECT_EQ(cu<Cu::cuMemPoolTrimTo>(pool, std::size_t{kept}), CUDA_SUCCESS);
  EXPECT_EQ(resident(), kept);
  EXPECT_EQ(cu<Cu::cuMemPoolTrimTo>(pool, std::size_t{0}), CUDA_SUCCESS);
  EXPECT_EQ(resident(), 0u);
  EXPECT_EQ(ask(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), 0u);
  EXPECT_EXACT();
}

TEST_F(AsyncAllocatorTest, UnusedPoolMemory_S5TakenBackForOthers) {
  Tenancy small = tenancy();
  small.ceiling = 100 * kMiB;
  small.context_outside = true;
  if (outside(small)) return;
  makeSwappable();
  keep(defaultPool(), ~cuuint64_t{0});
  free(allocate(80 * kMiB));
  synchronise();
  EXPECT_EQ(resident(), 80 * kMiB);
  CUdeviceptr plain = 0;
  EXPECT_EQ(cu<Cu::cuMemAlloc_v2>(&plain, std::size_t{60 * kMiB}), CUDA_SUCCESS);
  EXPECT_EQ(resident(), 60 * kMiB);
  EXPECT_EQ(cu<Cu::cuMemAllocAsync>(&plain, std::size_t{60 * kMiB}, kNull),
            CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(charged(), resident());
}

// What is refused for now comes when the stream has come to its frees.
TEST_F(AsyncAllocatorTest, ShareFull_S5AllocationWaitsForPendingFree) {
  Tenancy small = tenancy();
  small.ceiling = 100 * kMiB;
  small.context_outside = true;
  if (outside(small)) return;
  makeSwappable();
  const CUstream stream = makeStream();
  const CUdeviceptr block = allocate(80 * kMiB, stream);
  for (int i = 0; i < 4; ++i) {
    ASSERT_EQ(cu<Cu::cuMemsetD8Async>(block, static_cast<unsigned char>(i), std::size_t{80 * kMiB},
                                      stream),
              CUDA_SUCCESS);
  }
  free(block, stream);
  EXPECT_NE(allocate(50 * kMiB, makeStream()), 0u);
  EXPECT_EQ(control().refusals, 0u);
  EXPECT_EQ(charged(), resident());
}

TEST_F(AsyncAllocatorTest, FreesAcrossApis_S5OnlyLegalOnesSucceed) {
  if (outside(tenancy())) return;
  makeSwappable();
  for (const std::size_t bytes : {kLarge, std::size_t{5000}}) {
    const CUdeviceptr pooled = allocate(bytes);
    CUdeviceptr plain = 0;
    ASSERT_EQ(cu<Cu::cuMemAlloc_v2>(&plain, bytes), CUDA_SUCCESS);
    EXPECT_NE(cu<Cu::cuMemFreeAsync>(pooled + 512, kNull), CUDA_SUCCESS) << "inside";
    EXPECT_EQ(cu<Cu::cuMemFree_v2>(pooled), CUDA_SUCCESS);
    EXPECT_NE(cu<Cu::cuMemFree_v2>(pooled), CUDA_SUCCESS);
    EXPECT_EQ(cu<Cu::cuMemFreeAsync>(plain, kNull), CUDA_SUCCESS);
    EXPECT_NE(cu<Cu::cuMemFreeAsync>(plain, kNull), CUDA_SUCCESS) << "twice";
    EXPECT_NE(cu<Cu::cuMemFree_v2>(plain), CUDA_SUCCESS);
    synchronise();
    EXPECT_EQ(resident(), 0u);
    EXPECT_EQ(ask(defaultPool(), CU_MEMPOOL_ATTR_USED_MEM_CURRENT), 0u);
    EXPECT_EXACT();
  }
  CUdeviceptr none = 0;
  EXPECT_EQ(cu<Cu::cuMemAllocAsync>(&none, std::size_t{0}, kNull), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cu<Cu::cuMemAllocAsync>(static_cast<CUdeviceptr*>(nullptr), kLarge, kNull),
            CUDA_ERROR_INVALID_VALUE);
}

// A later stream may have its handle, and does not come after it.
TEST_F(AsyncAllocatorTest, StreamDestroyed_FreedBlocksReleased) {
  if (outside(tenancy())) return;
  makeSwappable();
  std::vector<CUdeviceptr> blocks;
  for (int i = 0; i < 20; ++i) {
    const CUstream stream = makeStream();
    const CUdeviceptr block = allocate(kLarge, stream);
    ASSERT_EQ(cu<Cu::cuMemsetD8Async>(block, static_cast<unsigned char>(i), kLarge, stream),
              CUDA_SUCCESS);
    free(block, stream);
    EXPECT_EQ(cu<Cu::cuStreamDestroy_v2>(stream), CUDA_SUCCESS);
  }
  ASSERT_EQ(cu<Cu::cuCtxSynchronize>(), CUDA_SUCCESS);
  EXPECT_EQ(resident(), 0u);
  EXPECT_EXACT();
  EXPECT_EQ(takenUnderWork(), 0u);
}

// The stream is gone, and what it waits for is not.
TEST_F(AsyncAllocatorTest, StreamDestroyedBehindWork_FreeKeepsOrder) {
  if (outside(tenancy())) return;
  makeSwappable();
  Endless work;
  EXPECT_EQ(work.start(), CUDA_SUCCESS);
  CUevent done = nullptr;
  const CUstream stream = makeStream();
  const CUdeviceptr block = allocate(kLarge, stream);
  ASSERT_EQ(cu<Cu::cuEventCreate>(&done, 2u), CUDA_SUCCESS);
  ASSERT_EQ(cu<Cu::cuEventRecord>(done, work.stream()), CUDA_SUCCESS);
  ASSERT_EQ(cu<Cu::cuStreamWaitEvent>(stream, done, 0u), CUDA_SUCCESS);
  free(block, stream);
  EXPECT_EQ(cu<Cu::cuStreamDestroy_v2>(stream), CUDA_SUCCESS);
  EXPECT_EQ(cu<Cu::cuEventDestroy_v2>(done), CUDA_SUCCESS);
  EXPECT_EQ(cu<Cu::cuMemPoolTrimTo>(defaultPool(), std::size_t{0}), CUDA_SUCCESS);
  EXPECT_EQ(resident(), kLarge);
  work.end();
  ASSERT_EQ(cu<Cu::cuCtxSynchronize>(), CUDA_SUCCESS);
  EXPECT_EQ(resident(), 0u);
  EXPECT_EQ(takenUnderWork(), 0u);
}

TEST_F(AsyncAllocatorTest, PoolDestroyed_LastsAsLongAsItsBlocks) {
  if (outside(tenancy())) return;
  makeSwappable();
  const std::uint64_t before = charged();
  for (int i = 0; i < 600; ++i) {  // more than the book holds at once
    const CUmemoryPool pool = makePool();
    CUdeviceptr block = 0;
    keep(pool, ~cuuint64_t{0});
    ASSERT_EQ(cu<Cu::cuMemAllocFromPoolAsync>(&block, std::size_t{2 * kMiB}, pool, kNull),
              CUDA_SUCCESS);
    ASSERT_EQ(cu<Cu::cuMemPoolDestroy>(pool), CUDA_SUCCESS);
    EXPECT_EQ(charged(), before + 2 * kMiB);
    free(block);
    synchronise();
    ASSERT_EQ(charged(), before);
  }
  const CUmemoryPool pool = makePool();
  CUdeviceptr block = 0;
  keep(pool, ~cuuint64_t{0});
  ASSERT_EQ(cu<Cu::cuMemAllocFromPoolAsync>(&block, kLarge, pool, kNull), CUDA_SUCCESS);
  free(block);
  synchronise();
  EXPECT_EQ(resident(), kLarge);
  ASSERT_EQ(cu<Cu::cuMemPoolDestroy>(pool), CUDA_SUCCESS);
  EXPECT_EQ(charged(), before) << "what it kept unused goes with it";
  EXPECT_EXACT();
}

// What is not modelled stays native, and says why.
TEST_F(AsyncAllocatorTest, PoolWithMaxSize_MemoryStaysNative) {
  if (outside(tenancy())) return;
  makeSwappable();
  CUdeviceptr block = 0;
  ASSERT_EQ(cu<Cu::cuMemAllocFromPoolAsync>(&block, std::size_t{kMiB}, makePool(64 * kMiB), kNull),
            CUDA_SUCCESS);
  EXPECT_EQ(resident(), 0u);
  EXPECT_GE(native(), kMiB);
  allocate(kLarge);
  EXPECT_TRUE(pinnedFor(ledger::PinReason::kPool));
  EXPECT_EQ(cu<Cu::cuMemFreeAsync>(block, kNull), CUDA_SUCCESS);
  synchronise();
  EXPECT_EQ(native(), 0u);
  EXPECT_EXACT();
}

// In a capture an allocation is a node of a graph, and what is not the graph's is not freed by it.
TEST_F(AsyncAllocatorTest, StreamCapture_AllocationIsDriversNode) {
  if (outside(tenancy())) return;
  makeSwappable();
  const CUstream stream = makeStream();
  const CUdeviceptr kept = allocate(kLarge, stream);
  ASSERT_EQ(cu<Cu::cuStreamBeginCapture_v2>(stream, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_SUCCESS);
  CUdeviceptr node = 0;
  EXPECT_EQ(cu<Cu::cuMemAllocAsync>(&node, kLarge, stream), CUDA_SUCCESS);
  EXPECT_EQ(resident(), kLarge) << "nothing was taken for it";
  EXPECT_EQ(cu<Cu::cuMemFreeAsync>(node, stream), CUDA_SUCCESS);
  CUgraph graph = nullptr;
  EXPECT_EQ(cu<Cu::cuStreamEndCapture>(stream, &graph), CUDA_SUCCESS);
  // Beside a capture a stream that is none of it goes on.
  const CUstream other = makeStream();
  ASSERT_EQ(cu<Cu::cuStreamBeginCapture_v2>(stream, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
  const CUdeviceptr beside = allocate(kLarge, other);
  free(beside, other);
  EXPECT_EQ(cu<Cu::cuStreamEndCapture>(stream, &graph), CUDA_SUCCESS) << "and does not hurt it";
  free(kept, stream);
  ASSERT_EQ(cu<Cu::cuCtxSynchronize>(), CUDA_SUCCESS);
  EXPECT_EQ(resident(), 0u);
  EXPECT_EXACT();
}

TEST_F(AsyncAllocatorTest, ContextEnds_PendingFreesReleased) {
  if (outside(tenancy())) return;
  makeSwappable();
  CUcontext context = nullptr, primary = nullptr;
  ASSERT_EQ(cu<Cu::cuCtxGetCurrent>(&primary), CUDA_SUCCESS);
  const CUdeviceptr kept = allocate(kLarge);
  ASSERT_EQ(cu<Cu::cuCtxCreate_v2>(&context, 0u, 0), CUDA_SUCCESS);
  free(allocate(kLarge, makeStream()), makeStream());
  free(allocate(5000));
  ASSERT_EQ(cu<Cu::cuCtxDestroy_v2>(context), CUDA_SUCCESS);
  EXPECT_EQ(resident(), kLarge) << "of the pool, whose device has a context still";
  EXPECT_EXACT();
  ASSERT_EQ(cu<Cu::cuCtxSetCurrent>(primary), CUDA_SUCCESS);
  EXPECT_EQ(cu<Cu::cuMemsetD8_v2>(kept, static_cast<unsigned char>(1), kLarge), CUDA_SUCCESS);
  free(kept);
  free(allocate(kLarge));
  ASSERT_EQ(cu<Cu::cuDevicePrimaryCtxReset_v2>(0), CUDA_SUCCESS);
  EXPECT_EQ(resident(), 0u);
  EXPECT_EQ(charged(), 0u);
}

TEST_F(AsyncAllocatorTest, ThreadsWithOwnStreams_S2NothingCharged) {
  Tenancy free_of_rules = tenancy();
  free_of_rules.environment["SIMGPU_FAULTS"] = "";
  if (outside(free_of_rules)) return;
  makeSwappable();
  const std::uint64_t before = charged();
  CUcontext context = nullptr;
  ASSERT_EQ(cu<Cu::cuCtxGetCurrent>(&context), CUDA_SUCCESS);
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      EXPECT_EQ(cu<Cu::cuCtxSetCurrent>(context), CUDA_SUCCESS);
      const CUstream stream = t == 0 ? kNull : makeStream();
      std::mt19937 random(t);
      std::vector<CUdeviceptr> own;
      for (unsigned i = 0; i < 300; ++i) {
        if (own.size() < 8 && random() % 2 == 0) {
          const std::size_t bytes =
              random() % 2 == 0 ? 1 + random() % 90'000 : (2 + random() % 4) * kMiB;
          own.push_back(allocate(bytes, stream));
          EXPECT_EQ(
              cu<Cu::cuMemsetD8Async>(own.back(), static_cast<unsigned char>(i), bytes, stream),
              CUDA_SUCCESS);
        } else if (!own.empty()) {
          std::swap(own[random() % own.size()], own.back());
          free(own.back(), stream);
          own.pop_back();
        }
        if (random() % 50 == 0) synchronise(stream);
      }
      for (const CUdeviceptr block : own) free(block, stream);
    });
  }
  for (auto& thread : threads) thread.join();
  ASSERT_EQ(cu<Cu::cuCtxSynchronize>(), CUDA_SUCCESS);
  EXPECT_TRUE(eventually([&] {
    EXPECT_EQ(cu<Cu::cuCtxSynchronize>(), CUDA_SUCCESS);
    return resident() == 0 && charged() == before;
  })) << resident();
  EXPECT_EQ(ask(defaultPool(), CU_MEMPOOL_ATTR_USED_MEM_CURRENT), 0u);
  EXPECT_EXACT();
}

}  // namespace
}  // namespace divvy::interposer
