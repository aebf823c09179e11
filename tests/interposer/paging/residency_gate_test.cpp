// C2: nobody is inside a driver's call that can touch memory while it leaves, whatever he is in the
// middle of; and nobody who must not wait does.
#include <dlfcn.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "swap_fixture.h"

namespace divvy::interposer {
namespace {

using ledger::GateState;
using ledger::SwapRefusal;

class ResidencyGateTest : public SwapTest {
 protected:
  static CUstream stream() {
    CUstream made = nullptr;
    EXPECT_EQ(cu<Cu::cuStreamCreate>(&made, 1u), CUDA_SUCCESS);
    return made;
  }
  static CUcontext context() {
    CUcontext current = nullptr;
    EXPECT_EQ(cu<Cu::cuCtxGetCurrent>(&current), CUDA_SUCCESS);
    return current;
  }
};

TEST_F(ResidencyGateTest, KernelRuns_SwapOutWaits) {
  if (outside(swappable())) return;
  makeSwappable();
  const CUdeviceptr block = filled(4 * kMiB, 1);
  Endless kernel;
  ASSERT_EQ(kernel.start(), CUDA_SUCCESS);
  allow(0);
  EXPECT_TRUE(staysResident(4 * kMiB));
  kernel.end();
  EXPECT_TRUE(becomesResident(0));
  EXPECT_EQ(takenUnderWork(), 0u);
  allow(kEverything);
  EXPECT_TRUE(holds(block, 4 * kMiB, 1));
}

// What runs may wait for what a thread is to launch that the drain keeps out.
TEST_F(ResidencyGateTest, DrainExceedsEscape_GivenUpAndRetried) {
  if (outside(swappable())) return;
  terms().escape_ms = 50;
  makeSwappable(GateState::kRun);
  const CUdeviceptr block = filled(4 * kMiB, 2);
  ASSERT_EQ(spin(1), CUDA_SUCCESS);
  Endless kernel;
  ASSERT_EQ(kernel.start(), CUDA_SUCCESS);
  allow(0);
  EXPECT_TRUE(staysResident(4 * kMiB));
  const CUcontext current = context();
  const CUstream other = stream();
  Launcher launcher([=] {
    cu<Cu::cuCtxSetCurrent>(current);
    return spin(1000, other);
  });
  EXPECT_TRUE(launcher.finishes());
  EXPECT_EQ(resident(), 4 * kMiB);
  kernel.end();
  EXPECT_TRUE(eventually([] { return shown()->aborts >= 1; }));
  EXPECT_TRUE(becomesResident(0));
  EXPECT_EQ(takenUnderWork(), 0u);
  allow(kEverything);
  EXPECT_TRUE(holds(block, 4 * kMiB, 2));
}

// The pause after a drain in vain was ten times as long as the drain: who could have left a moment
// later kept the card for 20 s.
TEST_F(ResidencyGateTest, DrainGivenUp_RetriedWhenWorkEnds) {
  if (outside(swappable())) return;
  terms().escape_ms = 50;
  makeSwappable(GateState::kRun);
  const CUdeviceptr block = filled(4 * kMiB, 2);
  ASSERT_EQ(spin(1), CUDA_SUCCESS);
  Endless kernel;
  ASSERT_EQ(kernel.start(), CUDA_SUCCESS);
  allow(0);
  EXPECT_TRUE(staysResident(4 * kMiB));
  const CUcontext current = context();
  const CUstream other = stream();
  Launcher launcher([=] {
    cu<Cu::cuCtxSetCurrent>(current);
    return spin(1000, other);
  });
  EXPECT_TRUE(launcher.finishes()) << "the drain was given up";
  EXPECT_FALSE(eventually([] { return resident() == 0; }, std::chrono::milliseconds(1500)));
  kernel.end();
  EXPECT_TRUE(eventually([] { return resident() == 0; }, std::chrono::seconds(15))) << said();
  EXPECT_GE(shown()->aborts, 1u);
  EXPECT_EQ(takenUnderWork(), 0u);
  allow(kEverything);
  EXPECT_TRUE(holds(block, 4 * kMiB, 2));
}

TEST_F(ResidencyGateTest, LaunchWaitsForGrant_SwapOutProceeds) {
  if (outside(swappable())) return;
  makeSwappable(GateState::kRun);
  const CUdeviceptr block = filled(4 * kMiB, 3);
  ASSERT_EQ(spin(1), CUDA_SUCCESS);
  ASSERT_EQ(cu<Cu::cuCtxSynchronize>(), CUDA_SUCCESS);
  grant(GateState::kHold);
  const CUcontext current = context();
  Launcher launcher([=] {
    cu<Cu::cuCtxSetCurrent>(current);
    return spin(1000);
  });
  EXPECT_TRUE(eventually([] { return line() && line()->waiting == 1; }));
  allow(0);
  EXPECT_TRUE(becomesResident(0));
  grant(GateState::kRun);
  EXPECT_TRUE(staysResident(0));
  EXPECT_FALSE(launcher.done()) << "a grant is no memory";
  allow(kEverything);
  EXPECT_TRUE(launcher.finishes());
  EXPECT_TRUE(holds(block, 4 * kMiB, 3));
}

TEST_F(ResidencyGateTest, OpenCapture_SwapOutWaitsForItsEnd) {
  if (outside(swappable())) return;
  makeSwappable();
  const CUdeviceptr block = filled(4 * kMiB, 4);
  const CUstream captured = stream();
  ASSERT_EQ(cu<Cu::cuStreamBeginCapture_v2>(captured, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
  allow(0);
  EXPECT_TRUE(eventually([] { return shows(ledger::kSwapCapturing); }));
  EXPECT_TRUE(refuses(SwapRefusal::kCapturing));
  EXPECT_TRUE(staysResident(4 * kMiB));
  EXPECT_EQ(cu<Cu::cuMemsetD32Async>(block, 7u, std::size_t{kMiB}, captured), CUDA_SUCCESS);
  CUgraph graph = nullptr;
  ASSERT_EQ(cu<Cu::cuStreamEndCapture>(captured, &graph), CUDA_SUCCESS);
  EXPECT_TRUE(becomesResident(0));
  EXPECT_TRUE(eventually([] { return !shows(ledger::kSwapCapturing); }));
  allow(kEverything);
  CUgraphExec exec = nullptr;
  ASSERT_EQ(cu<Cu::cuGraphInstantiateWithFlags>(&exec, graph, 0ull), CUDA_SUCCESS);
  allow(0);
  ASSERT_TRUE(becomesResident(0));
  const CUcontext current = context();
  Launcher launcher([=] {
    cu<Cu::cuCtxSetCurrent>(current);
    return cu<Cu::cuGraphLaunch>(exec, captured);
  });
  EXPECT_TRUE(eventually([] { return shows(ledger::kSwapWanted); })) << "the graph is work";
  allow(kEverything);
  EXPECT_TRUE(launcher.finishes());
  std::uint32_t word = 0;
  EXPECT_EQ(cu<Cu::cuStreamSynchronize>(captured), CUDA_SUCCESS);
  EXPECT_EQ(cu<Cu::cuMemcpyDtoH_v2>(static_cast<void*>(&word), block, sizeof word), CUDA_SUCCESS);
  EXPECT_EQ(word, 7u);
}

TEST_F(ResidencyGateTest, CaptureBeginsWhileSwappedOut_Waits) {
  if (outside(swappable())) return;
  makeSwappable();
  filled(4 * kMiB, 5);
  allow(0);
  ASSERT_TRUE(becomesResident(0));
  const CUstream captured = stream();
  const CUcontext current = context();
  Launcher capturer([=] {
    cu<Cu::cuCtxSetCurrent>(current);
    return cu<Cu::cuStreamBeginCapture_v2>(captured, CU_STREAM_CAPTURE_MODE_RELAXED);
  });
  EXPECT_TRUE(eventually([] { return shows(ledger::kSwapWanted); }));
  EXPECT_EQ(control().open_captures, 0u);
  allow(kEverything);
  EXPECT_TRUE(capturer.finishes());
  EXPECT_EQ(control().open_captures, 1u);
  EXPECT_EQ(resident(), 4 * kMiB);
}

// The driver forbids such calls too; while memory is there ours go as far as its.
TEST_F(ResidencyGateTest, HostFunctionDuringDrain_CallNotPermitted) {
  if (outside(swappable())) return;
  makeSwappable();
  static const CUdeviceptr block = filled(4 * kMiB, 6);
  const CUstream waiting = stream();
  static std::atomic<bool> go{false}, done{false};
  static std::atomic<CUresult> answer{CUDA_SUCCESS};
  const CUhostFn function = [](void*) {
    while (!go) std::this_thread::yield();
    answer = cu<Cu::cuMemsetD32Async>(block, 1u, std::size_t{1}, CUstream{});
    done = true;
  };
  ASSERT_EQ(cu<Cu::cuLaunchHostFunc>(waiting, function, static_cast<void*>(nullptr)), CUDA_SUCCESS);
  allow(0);
  EXPECT_TRUE(eventually([] { return shown()->seen_seq > 0; }));
  EXPECT_TRUE(staysResident(4 * kMiB)) << "the drain waits for the function";
  go = true;
  EXPECT_TRUE(eventually([] { return done.load(); }));
  EXPECT_EQ(answer, CUDA_ERROR_NOT_PERMITTED);
  EXPECT_TRUE(becomesResident(0));
  allow(kEverything);
  EXPECT_TRUE(holds(block, 4 * kMiB, 6));
}

// Any entry point, called with enough zeros for its parameters.
CUresult callWithZeros(const char* symbol) {
  using Zero = std::uint64_t;
  auto* const function = reinterpret_cast<CUresult (*)(Zero, Zero, Zero, Zero, Zero, Zero, Zero,
                                                       Zero, Zero, Zero, Zero, Zero)>(
      ::dlsym(::dlopen("libcuda.so.1", RTLD_NOW), symbol));
  return function == nullptr ? CUDA_ERROR_UNKNOWN : function(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
}

// Work, and what takes addresses that the driver then looks at.
bool touchesMemory(const abi::Entry& entry) {
  using abi::Class;
  const std::string base = abi::kCuFamilies[entry.family].base;
  if (base == "cuLaunchHostFunc") return false;
  for (const Class work : {Class::kLaunch, Class::kCopy, Class::kSet, Class::kManaged}) {
    if (entry.cls == work && entry.wrapped) return true;
  }
  for (const char* prefix :
       {"cuGraphLaunch", "cuGraphUpload", "cuGraphInstantiate", "cuGraphExecUpdate",
        "cuGraphAddMemcpyNode", "cuGraphAddMemsetNode", "cuGraphMemcpyNodeSetParams",
        "cuGraphMemsetNodeSetParams", "cuGraphExecMemcpyNodeSetParams",
        "cuGraphExecMemsetNodeSetParams", "cuGraphNodeSetParams", "cuGraphExecNodeSetParams",
        "cuGraphAddBatchMemOpNode", "cuGraphBatchMemOpNodeSetParams",
        "cuGraphExecBatchMemOpNodeSetParams", "cuGraphExecChildGraphNodeSetParams",
        "cuTexObjectCreate", "cuMemRangeGetAttribute"}) {
    if (base.rfind(prefix, 0) == 0) return true;
  }
  return base == "cuGraphAddNode" || base == "cuTexRefSetAddress" || base == "cuTexRefSetAddress2D";
}

TEST_F(ResidencyGateTest, EveryCallTouchingMemory_C2WaitsForMemory) {
  if (outside(swappable())) return;
  makeSwappable();
  filled(2 * kMiB, 8);
  const CUcontext current = context();
  unsigned checked = 0;
  for (const abi::Entry& entry : abi::kCuEntries) {
    if (!touchesMemory(entry) || (isOldDriver() && entry.since > 11040)) continue;
    allow(0);
    ASSERT_TRUE(becomesResident(0)) << entry.symbol;
    std::atomic<bool> returned{false};
    Launcher caller([&] {
      cu<Cu::cuCtxSetCurrent>(current);
      callWithZeros(entry.symbol);
      returned = true;
      return CUDA_SUCCESS;
    });
    ASSERT_TRUE(eventually([] { return shows(ledger::kSwapWanted); })) << entry.symbol;
    ASSERT_FALSE(returned) << entry.symbol;
    allow(kEverything);
    ASSERT_TRUE(caller.finishes()) << entry.symbol;
    ++checked;
  }
  EXPECT_GT(checked, isOldDriver() ? 110u : 150u);
}

// Many threads that launch while the gate opens and closes: every kernel finds the memory there.
class Adders {
 public:
  Adders(CUdeviceptr block, CUcontext context) : block_(block) {
    CUmodule module = nullptr;
    EXPECT_EQ(cu<Cu::cuModuleLoadData>(
                  &module, static_cast<const void*>("simgpu-builtin 1\nkernel more = add\n")),
              CUDA_SUCCESS);
    EXPECT_EQ(cu<Cu::cuModuleGetFunction>(&kernel_, module, "more"), CUDA_SUCCESS);
    for (unsigned i = 0; i < kThreads; ++i) {
      threads_.emplace_back([this, i, context] {
        cu<Cu::cuCtxSetCurrent>(context);
        run(i);
      });
    }
  }
  // Ends them; true if each of the words is as much more as there were launches.
  bool end() {
    over_ = true;
    for (std::thread& thread : threads_) thread.join();
    EXPECT_EQ(cu<Cu::cuCtxSynchronize>(), CUDA_SUCCESS);
    bool right = true;
    for (unsigned i = 0; i < kThreads; ++i) {
      std::vector<std::uint32_t> words(kWords);
      EXPECT_EQ(cu<Cu::cuMemcpyDtoH_v2>(static_cast<void*>(words.data()), block_ + i * kMiB,
                                        std::size_t{4 * kWords}),
                CUDA_SUCCESS);
      for (const std::uint32_t word : words) right = right && word == launches_[i];
    }
    return right;
  }
  std::uint64_t launches() const {
    return launches_[0] + launches_[1] + launches_[2] + launches_[3];
  }

 private:
  static constexpr unsigned kThreads = 4;
  static constexpr std::uint64_t kWords = 256;

  void run(unsigned i) {
    CUstream stream = nullptr;
    EXPECT_EQ(cu<Cu::cuStreamCreate>(&stream, 1u), CUDA_SUCCESS);
    CUdeviceptr data = block_ + i * kMiB;
    std::uint64_t count = kWords;
    std::uint32_t value = 1;
    void* parameters[] = {&data, &count, &value};
    while (!over_) {
      ASSERT_EQ(
          cu<Cu::cuLaunchKernel>(kernel_, 1u, 1u, 1u, 1u, 1u, 1u, 0u, stream,
                                 static_cast<void**>(parameters), static_cast<void**>(nullptr)),
          CUDA_SUCCESS);
      if (++launches_[i] % 64 == 0) {
        ASSERT_EQ(cu<Cu::cuStreamSynchronize>(stream), CUDA_SUCCESS);
      }
    }
  }

  CUdeviceptr block_;
  CUfunction kernel_ = nullptr;
  std::atomic<bool> over_{false};
  std::atomic<std::uint64_t> launches_[kThreads] = {};
  std::vector<std::thread> threads_;
};

class ResidencyGateStateTest : public ResidencyGateTest,
                               public testing::WithParamInterface<GateState> {};

TEST_P(ResidencyGateStateTest, SwapsDuringLaunches_NoKernelLost) {
  if (outside(swappable())) return;
  makeSwappable(GetParam());
  CUdeviceptr block = 0;
  ASSERT_EQ(cu<Cu::cuMemAlloc_v2>(&block, std::size_t{4 * kMiB}), CUDA_SUCCESS);
  ASSERT_EQ(cu<Cu::cuMemsetD32_v2>(block, 0u, std::size_t{kMiB}), CUDA_SUCCESS);
  Adders adders(block, context());
  for (int round = 0; round < 100 && !HasFailure(); ++round) {
    allow(0);
    EXPECT_TRUE(becomesResident(0)) << "round " << round;
    const std::uint64_t before = adders.launches();
    allow(kEverything);
    EXPECT_TRUE(eventually([&] { return adders.launches() > before + 4; })) << "round " << round;
  }
  EXPECT_TRUE(adders.end());
  EXPECT_EQ(takenUnderWork(), 0u);
}

INSTANTIATE_TEST_SUITE_P(Grants, ResidencyGateStateTest,
                         testing::Values(GateState::kOpen, GateState::kRun), [](const auto& named) {
                           return named.param == GateState::kRun ? "Run" : "Open";
                         });

}  // namespace
}  // namespace divvy::interposer
