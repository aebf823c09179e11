// Which chunks are on the card and which are used where they are, with the host, follows from when
// they were used last. Where they are is told by the card: its kernels take longer for what lies at
// the host, by its own clock.
#include <functional>

#include "swap_fixture.h"

namespace divvy::interposer {
namespace {

constexpr std::uint64_t kChunk = 2 * kMiB;

class AccessRecencyTest : public SwapTest {
 protected:
  static void allowWithHost(std::uint64_t bytes, std::uint64_t host_bytes = kGiB) {
    allow(bytes, host_bytes, ledger::kMayHostMap);
  }
  static bool runsWithHost(std::uint64_t bytes) {
    return becomesResident(bytes) &&
           eventually([] { return shows(ledger::kSwapReady | ledger::kSwapHostMapped); });
  }

  static CUfunction builtin(const char* name) {
    static CUmodule module = nullptr;
    if (module == nullptr) {
      EXPECT_EQ(
          cu<Cu::cuModuleLoadData>(&module, static_cast<const void*>("simgpu-builtin 1\nall\n")),
          CUDA_SUCCESS);
    }
    CUfunction function = nullptr;
    EXPECT_EQ(cu<Cu::cuModuleGetFunction>(&function, module, name), CUDA_SUCCESS) << name;
    return function;
  }

  // One that reads the range. `ns` 0: for as long as that takes.
  static CUresult touch(CUdeviceptr at, std::uint64_t bytes, std::uint64_t ns = 0) {
    static const CUfunction kernel = builtin("touch");
    void* parameters[] = {&at, &bytes, &ns};
    return cu<Cu::cuLaunchKernel>(kernel, 1u, 1u, 1u, 1u, 1u, 1u, 0u, CUstream{},
                                  static_cast<void**>(parameters), static_cast<void**>(nullptr));
  }

  // How many of its chunks lie at the host. They have been used then.
  static unsigned atHost(CUdeviceptr block, std::uint64_t bytes) {
    unsigned found = 0;
    for (std::uint64_t at = 0; at < bytes; at += kChunk) {
      if (timeOf(block + at) > 4 * usual_) ++found;
    }
    return found;
  }
  // To be called while all is on the card.
  static void measureUsual(CUdeviceptr block) { usual_ = timeOf(block); }

  // Until it says so, with a bound.
  static bool whileUsing(const std::function<void()>& use, const std::function<bool()>& until) {
    return eventually([&] {
      use();
      return until();
    });
  }
  // For so long that what is not used is cold, and a while longer.
  static void useUntilColdIsKnown(const std::function<void()>& use) {
    const std::uint64_t before = control().use_turns;
    EXPECT_TRUE(whileUsing(
        [&] {
          use();
          EXPECT_EQ(cu<Cu::cuCtxSynchronize>(), CUDA_SUCCESS);
        },
        [&] { return control().use_turns >= before + 3; }));
  }

 private:
  // Of reading a chunk, ms of the card's clock: the least of several. One counts too much if this
  // thread was late, and the spin ended before what follows was queued. A short one needs no other.
  static float timeOf(CUdeviceptr at) {
    static CUevent before = nullptr, after = nullptr;
    if (before == nullptr) {
      EXPECT_EQ(cu<Cu::cuEventCreate>(&before, 0u), CUDA_SUCCESS);
      EXPECT_EQ(cu<Cu::cuEventCreate>(&after, 0u), CUDA_SUCCESS);
    }
    float least = 1e9;
    for (int i = 0; i < 5 && (usual_ == 0 || least > 4 * usual_); ++i) {
      float took = 0;
      // What follows is queued by then.
      EXPECT_EQ(spin(10'000'000), CUDA_SUCCESS);
      EXPECT_EQ(cu<Cu::cuEventRecord>(before, CUstream{}), CUDA_SUCCESS);
      EXPECT_EQ(touch(at, kChunk), CUDA_SUCCESS);
      EXPECT_EQ(cu<Cu::cuEventRecord>(after, CUstream{}), CUDA_SUCCESS);
      EXPECT_EQ(cu<Cu::cuEventSynchronize>(after), CUDA_SUCCESS);
      EXPECT_EQ(cu<Cu::cuEventElapsedTime>(&took, before, after), CUDA_SUCCESS);
      least = took < least ? took : least;
    }
    return least;
  }
  static inline float usual_ = 0;
};

// ---- what counts as a use
// ------------------------------------------------------------------------

// Some call that names a block of a chunk.
struct Use {
  const char* name;
  bool counts;
  CUresult (*call)(CUdeviceptr block);
};

class RecencyCallTest : public AccessRecencyTest, public testing::WithParamInterface<Use> {
 public:
  static CUresult nothing(CUdeviceptr) { return CUDA_SUCCESS; }
  static CUresult named(CUdeviceptr block) { return touch(block + 4096, 64); }
  static CUresult asNumber(CUdeviceptr block) { return touch(block, 64, block ^ 1u << 21); }
  static CUresult byBuffer(CUdeviceptr block) {
    struct {
      CUdeviceptr data;
      std::uint64_t bytes = 64, ns = 1000;
    } arguments{block};
    std::size_t bytes = sizeof arguments;
    void* extra[] = {reinterpret_cast<void*>(1), &arguments, reinterpret_cast<void*>(2), &bytes,
                     nullptr};
    return cu<Cu::cuLaunchKernel>(builtin("touch"), 1u, 1u, 1u, 1u, 1u, 1u, 0u, CUstream{},
                                  static_cast<void**>(nullptr), static_cast<void**>(extra));
  }
  static CUresult extended(CUdeviceptr block) {
    std::uint64_t bytes = 64, ns = 1000;
    void* parameters[] = {&block, &bytes, &ns};
    CUlaunchConfig config = {};
    config.gridDimX = config.gridDimY = config.gridDimZ = 1;
    config.blockDimX = config.blockDimY = config.blockDimZ = 1;
    return cu<Cu::cuLaunchKernelEx>(static_cast<const CUlaunchConfig*>(&config), builtin("touch"),
                                    static_cast<void**>(parameters), static_cast<void**>(nullptr));
  }
  static CUresult cooperative(CUdeviceptr block) {
    std::uint64_t bytes = 64, ns = 1000;
    void* parameters[] = {&block, &bytes, &ns};
    return cu<Cu::cuLaunchCooperativeKernel>(builtin("touch"), 1u, 1u, 1u, 1u, 1u, 1u, 0u,
                                             CUstream{}, static_cast<void**>(parameters));
  }
  static CUresult copied(CUdeviceptr block) {
    char bytes[64];
    return cu<Cu::cuMemcpyDtoH_v2>(static_cast<void*>(bytes), block + 128, sizeof bytes);
  }
  static CUresult filledAnew(CUdeviceptr block) {
    return cu<Cu::cuMemsetD8Async>(block, static_cast<unsigned char>(1), std::size_t{64},
                                   CUstream{});
  }
  static CUresult box(CUdeviceptr block) {
    char bytes[64];
    CUDA_MEMCPY2D shape = {};
    shape.srcMemoryType = CU_MEMORYTYPE_DEVICE;
    shape.srcDevice = block;
    shape.srcPitch = 512;
    shape.dstMemoryType = CU_MEMORYTYPE_HOST;
    shape.dstHost = bytes;
    shape.WidthInBytes = 16;
    shape.Height = 4;
    return cu<Cu::cuMemcpy2D_v2>(static_cast<const CUDA_MEMCPY2D*>(&shape));
  }
  static CUgraphExec graphThatNames(CUdeviceptr block) {
    std::uint64_t bytes = 64, ns = 1000;
    void* parameters[] = {&block, &bytes, &ns};
    CUstream stream = nullptr;
    CUgraph graph = nullptr;
    CUgraphExec exec = nullptr;
    EXPECT_EQ(cu<Cu::cuStreamCreate>(&stream, 1u), CUDA_SUCCESS);
    EXPECT_EQ(cu<Cu::cuStreamBeginCapture_v2>(stream, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
    EXPECT_EQ(cu<Cu::cuLaunchKernel>(builtin("touch"), 1u, 1u, 1u, 1u, 1u, 1u, 0u, stream,
                                     static_cast<void**>(parameters), static_cast<void**>(nullptr)),
              CUDA_SUCCESS);
    EXPECT_EQ(cu<Cu::cuStreamEndCapture>(stream, &graph), CUDA_SUCCESS);
    EXPECT_EQ(cu<Cu::cuGraphInstantiateWithFlags>(&exec, graph, 0ull), CUDA_SUCCESS);
    EXPECT_EQ(cu<Cu::cuGraphDestroy>(graph), CUDA_SUCCESS);
    return exec;
  }
  static CUresult captured(CUdeviceptr block) {
    return cu<Cu::cuGraphExecDestroy>(graphThatNames(block));
  }
  static CUresult replayed(CUdeviceptr block) {
    const CUgraphExec exec = graphThatNames(block);
    EXPECT_EQ(cu<Cu::cuGraphLaunch>(exec, CUstream{}), CUDA_SUCCESS);
    return cu<Cu::cuGraphExecDestroy>(exec);
  }
};

TEST_P(RecencyCallTest, CallNamesBlock_LongestUnusedLeaveFirst) {
  if (outside(swappable())) return;
  makeSwappable();
  const CUdeviceptr one = filled(kChunk, 1);
  measureUsual(one);
  const CUdeviceptr other = filled(kChunk, 2);
  const CUdeviceptr last = filled(kChunk, 3);
  ASSERT_EQ(GetParam().call(one), CUDA_SUCCESS);
  ASSERT_EQ(cu<Cu::cuCtxSynchronize>(), CUDA_SUCCESS);
  allowWithHost(2 * kChunk);
  ASSERT_TRUE(runsWithHost(2 * kChunk)) << said();
  EXPECT_EQ(atHost(one, kChunk), GetParam().counts ? 0u : 1u);
  EXPECT_EQ(atHost(other, kChunk), GetParam().counts ? 1u : 0u);
  EXPECT_EQ(atHost(last, kChunk), 0u);
  EXPECT_EQ(control().unknown_arguments, 0u);
}

INSTANTIATE_TEST_SUITE_P(Calls, RecencyCallTest,
                         testing::Values(Use{"nothing", false, RecencyCallTest::nothing},
                                         Use{"named", true, RecencyCallTest::named},
                                         Use{"by_buffer", true, RecencyCallTest::byBuffer},
                                         Use{"extended", true, RecencyCallTest::extended},
                                         Use{"cooperative", true, RecencyCallTest::cooperative},
                                         Use{"copied", true, RecencyCallTest::copied},
                                         Use{"filled", true, RecencyCallTest::filledAnew},
                                         Use{"box", true, RecencyCallTest::box},
                                         Use{"captured", false, RecencyCallTest::captured},
                                         Use{"replayed", true, RecencyCallTest::replayed}),
                         [](const auto& named) { return std::string(named.param.name); });

TEST_F(AccessRecencyTest, LongFill_AllChunksCountAsUsed) {
  if (outside(swappable())) return;
  makeSwappable();
  const CUdeviceptr block = filled(4 * kChunk, 1);
  measureUsual(block);
  const CUdeviceptr other = filled(2 * kChunk, 2);
  // From within its second chunk into its fourth.
  EXPECT_EQ(cu<Cu::cuMemsetD8_v2>(block + kChunk + 4096, static_cast<unsigned char>(1),
                                  std::size_t{2 * kChunk}),
            CUDA_SUCCESS);
  allowWithHost(3 * kChunk);
  ASSERT_TRUE(runsWithHost(3 * kChunk)) << said();
  EXPECT_EQ(atHost(block, kChunk), 1u);
  EXPECT_EQ(atHost(block + kChunk, 3 * kChunk), 0u);
  EXPECT_EQ(atHost(other, 2 * kChunk), 2u);
}

// An array has its address where it begins.
TEST_F(AccessRecencyTest, AddressNamed_UsedUpToNextNamedAddress) {
  if (outside(swappable())) return;
  makeSwappable();
  const CUdeviceptr block = filled(6 * kChunk, 1);
  measureUsual(block);
  const CUdeviceptr other = filled(2 * kChunk, 2);
  EXPECT_EQ(touch(block + 5 * kChunk, 64), CUDA_SUCCESS);
  EXPECT_EQ(touch(other, 64), CUDA_SUCCESS);
  EXPECT_EQ(touch(block + 3 * kChunk, 64), CUDA_SUCCESS);
  ASSERT_EQ(cu<Cu::cuCtxSynchronize>(), CUDA_SUCCESS);
  // In this order they go: the first three, that beyond what was named last, the other block.
  allowWithHost(5 * kChunk);
  ASSERT_TRUE(runsWithHost(5 * kChunk)) << said();
  EXPECT_EQ(atHost(block, 3 * kChunk), 3u);
  EXPECT_EQ(atHost(block + 3 * kChunk, 3 * kChunk) + atHost(other, 2 * kChunk), 0u);
}

TEST_F(AccessRecencyTest, ArrayBeforeOtherArray_NotUsedBeyondIt) {
  if (outside(swappable())) return;
  makeSwappable();
  const CUdeviceptr block = filled(6 * kChunk, 1);
  measureUsual(block);
  const CUdeviceptr other = filled(2 * kChunk, 2);
  EXPECT_EQ(touch(block + 5 * kChunk, 64), CUDA_SUCCESS);
  EXPECT_EQ(touch(other, 64), CUDA_SUCCESS);
  EXPECT_EQ(touch(block + 3 * kChunk, 64), CUDA_SUCCESS);
  ASSERT_EQ(cu<Cu::cuCtxSynchronize>(), CUDA_SUCCESS);
  allowWithHost(2 * kChunk);
  ASSERT_TRUE(runsWithHost(2 * kChunk)) << said();
  EXPECT_EQ(atHost(block + 3 * kChunk, 2 * kChunk), 0u) << "the latest and what lies behind it";
  EXPECT_EQ(atHost(block + 5 * kChunk, kChunk), 1u) << "an array of its own, named before";
  EXPECT_EQ(atHost(other, 2 * kChunk), 2u);
}

// ---- changing places
// -----------------------------------------------------------------------------

TEST_F(AccessRecencyTest, WorkingSetFits_OnDeviceAndRestAtHost) {
  if (outside(swappable())) return;
  makeSwappable();
  constexpr std::uint64_t kBytes = 4 * kChunk;
  const CUdeviceptr cold = filled(kBytes, 1);
  measureUsual(cold);
  allowWithHost(kBytes);
  const CUdeviceptr hot = filled(kBytes, 2);
  ASSERT_TRUE(runsWithHost(kBytes)) << said();
  ASSERT_EQ(atHost(hot, kBytes), 4u) << "it came second";
  const std::uint64_t before = shown()->chunks_out;
  EXPECT_TRUE(
      whileUsing([&] { EXPECT_EQ(touch(hot, kBytes), CUDA_SUCCESS); },
                 [&] { return shown()->chunks_out >= before + 8 && !shows(ledger::kSwapMoving); }))
      << said();
  ASSERT_TRUE(runsWithHost(kBytes)) << said();
  EXPECT_EQ(atHost(hot, kBytes), 0u);
  EXPECT_EQ(shown()->chunks_out, before + 8) << "four left the card, four the host";
  EXPECT_TRUE(holds(hot, kBytes, 2));
  EXPECT_TRUE(holds(cold, kBytes, 1)) << "where it is";
  EXPECT_EQ(takenUnderWork(), 0u);
}

TEST_F(AccessRecencyTest, HundredsOfChunks_ChangePlaces) {
  Tenancy tenancy = swappable();
  tenancy.machine = "swap";
  tenancy.swap_chunk = 64 << 10;
  tenancy.environment["SIMGPU_TIME_SCALE"] = "20";
  if (outside(tenancy)) return;
  makeSwappable();
  constexpr std::uint64_t kBytes = 24 * kMiB, kChunks = kBytes / (64 << 10);
  const CUdeviceptr cold = filled(kBytes, 1);
  allowWithHost(kBytes);
  const CUdeviceptr hot = filled(kBytes, 2);
  ASSERT_TRUE(runsWithHost(kBytes)) << said();
  const std::uint64_t before = shown()->chunks_out;
  EXPECT_TRUE(whileUsing(
      [&] {
        for (const std::uint64_t at : {std::uint64_t{0}, kBytes / 2}) {
          EXPECT_EQ(touch(hot + at, kBytes / 2, 1000), CUDA_SUCCESS);
        }
      },
      [&] { return shown()->chunks_out >= before + 2 * kChunks; }))
      << said();
  ASSERT_TRUE(runsWithHost(kBytes)) << said();
  EXPECT_TRUE(holds(hot, kBytes, 2));
  EXPECT_TRUE(holds(cold, kBytes, 1));
}

// All in one block, as some allocators have it: what lies behind an array need not be its part.
TEST_F(AccessRecencyTest, NamedChunk_ReplacesChunkOnlyBehindName) {
  if (outside(swappable())) return;
  makeSwappable();
  const CUdeviceptr block = filled(6 * kChunk, 1);
  measureUsual(block);
  const CUdeviceptr array = block + 5 * kChunk;
  EXPECT_EQ(cu<Cu::cuMemsetD8_v2>(block, static_cast<unsigned char>(1), std::size_t{5 * kChunk}),
            CUDA_SUCCESS);
  allowWithHost(5 * kChunk);
  ASSERT_TRUE(runsWithHost(5 * kChunk)) << said();
  ASSERT_EQ(atHost(block, kChunk), 0u);
  const std::uint64_t before = shown()->chunks_out;
  EXPECT_TRUE(whileUsing(
      [&] {
        EXPECT_EQ(touch(block, 64), CUDA_SUCCESS);
        EXPECT_EQ(touch(array, kChunk), CUDA_SUCCESS);
      },
      [&] { return shown()->chunks_out >= before + 2 && !shows(ledger::kSwapMoving); }))
      << said();
  ASSERT_TRUE(runsWithHost(5 * kChunk)) << said();
  EXPECT_EQ(atHost(array, kChunk), 0u);
  EXPECT_EQ(atHost(block, kChunk), 0u);
  EXPECT_EQ(shown()->chunks_out, before + 2) << "one left the card, one the host";
}

// What is used by turns and does not fit costs what it costs; moving it about would cost more.
TEST_F(AccessRecencyTest, AllUsedAndTooLarge_NothingMoves) {
  if (outside(swappable())) return;
  makeSwappable();
  const CUdeviceptr block = filled(6 * kChunk, 1);
  allowWithHost(4 * kChunk);
  ASSERT_TRUE(runsWithHost(4 * kChunk)) << said();
  const std::uint64_t before = shown()->chunks_out;
  useUntilColdIsKnown([&] {
    for (unsigned i = 0; i < 6; ++i) EXPECT_EQ(touch(block + i * kChunk, kChunk), CUDA_SUCCESS);
  });
  EXPECT_EQ(shown()->chunks_out, before) << said();
  EXPECT_TRUE(holds(block, 6 * kChunk, 1));
}

// It had no place on the card in its last turn, and what had one was not used.
TEST_F(AccessRecencyTest, TenantReturns_RecentlyUsedChunksGetRoom) {
  if (outside(swappable())) return;
  makeSwappable();
  constexpr std::uint64_t kBytes = 2 * kChunk;
  const CUdeviceptr cold = filled(kBytes, 1);
  measureUsual(cold);
  // As much as the host may hold is there: nothing can change places.
  allowWithHost(kBytes, kBytes);
  const CUdeviceptr hot = filled(kBytes, 2);
  ASSERT_TRUE(runsWithHost(kBytes)) << said();
  useUntilColdIsKnown([&] { EXPECT_EQ(touch(hot, kBytes), CUDA_SUCCESS); });
  const std::uint64_t before = shown()->chunks_out;
  allow(0);
  ASSERT_TRUE(becomesResident(0)) << said();
  EXPECT_EQ(shown()->chunks_out, before + 2) << "what is at the host stays there";
  allowWithHost(kBytes);
  ASSERT_TRUE(runsWithHost(kBytes)) << said();
  EXPECT_EQ(shown()->chunks_out, before + 4) << said();
  EXPECT_EQ(atHost(hot, kBytes), 0u);
  EXPECT_TRUE(holds(hot, kBytes, 2));
  EXPECT_TRUE(holds(cold, kBytes, 1));
}

}  // namespace
}  // namespace divvy::interposer
