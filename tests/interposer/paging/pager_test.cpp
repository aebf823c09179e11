// P2.1: memory leaves the device when it is not allowed there any more, comes back when it is, and
// nobody can tell by its contents.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <random>
#include <thread>
#include <utility>

#include "simgpu/interval_reader.h"
#include "swap_fixture.h"

namespace divvy::interposer {
namespace {

using ledger::GateState;
using ledger::SwapRefusal;
using PagerTest = SwapTest;

CUcontext currentContext() {
  CUcontext context = nullptr;
  EXPECT_EQ(cu<Cu::cuCtxGetCurrent>(&context), CUDA_SUCCESS);
  return context;
}

TEST_F(PagerTest, SwappedOutAndIn_SameBytes) {
  if (outside(swappable())) return;
  makeSwappable();
  const CUdeviceptr one = filled(7 * kMiB, 1), other = filled(2 * kMiB, 2);
  ASSERT_EQ(resident(), 10 * kMiB);
  allow(0);
  EXPECT_TRUE(becomesResident(0));
  EXPECT_TRUE(eventually([] { return shown()->device[0].mapped == 0; }));
  EXPECT_TRUE(shows(ledger::kSwapClosed));
  EXPECT_FALSE(shows(ledger::kSwapReady));
  EXPECT_EQ(shown()->device[0].swappable, 10 * kMiB);
  EXPECT_EQ(shown()->host_bytes, 10 * kMiB);
  EXPECT_EQ(shown()->chunks_out, 5u);
  EXPECT_EQ(charged(), booked() + 10 * kMiB) << "the share knows nothing of it";
  allow(kEverything);
  EXPECT_TRUE(holds(one, 7 * kMiB, 1));
  EXPECT_TRUE(holds(other, 2 * kMiB, 2));
  EXPECT_EQ(resident(), 10 * kMiB);
  EXPECT_TRUE(eventually([] { return shows(ledger::kSwapReady); }));
  EXPECT_EQ(shown()->chunks_in, 5u);
  EXPECT_EQ(shown()->device[0].out_bytes, 10 * kMiB);
  EXPECT_EQ(shown()->device[0].in_bytes, 10 * kMiB);
  EXPECT_EQ(takenUnderWork(), 0u);
}

// By the card's own log: an interval is a time without a gap.
unsigned mostCopiesWithoutAGap(simgpu::CardEngine engine) {
  const auto log = simgpu::readIntervals(std::getenv("SIMGPU_DIR"), 0);
  unsigned most = 0;
  for (const auto& interval : log ? log->intervals : std::vector<simgpu::Interval>()) {
    if (interval.engine == engine) most = std::max(most, unsigned{interval.ops});
  }
  return most;
}

// Each chunk takes the link 8 ms: time enough to queue another one, but where the thread that does
// it is kept from running.
// A figure that was shown between the charge of a block and its being told to be swappable made an
// order in which the block had room twice: nothing left.
TEST_F(PagerTest, StaleReportedPinned_OrderFollowsLedger) {
  if (outside(swappable())) return;
  makeSwappable();
  const CUdeviceptr block = filled(4 * kMiB, 3);
  showPinned(pinned() + 4 * kMiB);
  allow(0);
  EXPECT_TRUE(becomesResident(0)) << said();
  EXPECT_TRUE(eventually([] { return shown()->device[0].pinned == pinned(); })) << "it is mended";
  allow(kEverything);
  EXPECT_TRUE(holds(block, 4 * kMiB, 3));
}

TEST_F(PagerTest, CopyRunning_NextCopyQueued) {
  Tenancy tenancy = swappable();
  tenancy.machine = "swap";
  tenancy.swap_chunk = 8 * kMiB;
  if (outside(tenancy)) return;
  makeSwappable();
  const CUdeviceptr block = filled(96 * kMiB, 21);
  bool queued = false;
  std::uint64_t rounds = 0;
  for (; !queued && rounds < 20; ++rounds) {
    allow(0);
    ASSERT_TRUE(becomesResident(0));
    allow(kEverything);
    ASSERT_TRUE(holds(block, 96 * kMiB, 21));
    queued = mostCopiesWithoutAGap(simgpu::CardEngine::kCopyOut) >= 2 &&
             mostCopiesWithoutAGap(simgpu::CardEngine::kCopyIn) >= 2;
  }
  EXPECT_TRUE(queued);
  const ledger::SwapDevice figures = shown()->device[0];
  EXPECT_EQ(figures.out_bytes, rounds * 96 * kMiB);
  EXPECT_EQ(figures.in_bytes, rounds * 96 * kMiB);
  // Not the sum over the copies, of which several are under way; the card's link has 1 GB/s.
  EXPECT_GE(figures.out_ns, rounds * 96'000'000u);
  EXPECT_GE(figures.in_ns, rounds * 96'000'000u);
}

// When a card copied to the host within the last round, by its log.
std::pair<std::uint64_t, std::uint64_t> copyingOut(int card, std::uint64_t since) {
  std::pair<std::uint64_t, std::uint64_t> span{UINT64_MAX, 0};
  const auto log = simgpu::readIntervals(std::getenv("SIMGPU_DIR"), card);
  for (const auto& interval : log ? log->intervals : std::vector<simgpu::Interval>()) {
    if (interval.engine != simgpu::CardEngine::kCopyOut || interval.start_ns < since) continue;
    span.first = std::min(span.first, interval.start_ns);
    span.second = std::max(span.second, interval.end_ns);
  }
  return span;
}

TEST_F(PagerTest, TwoDevices_SwappedOutConcurrently) {
  Tenancy tenancy = swappable();
  tenancy.machine = "swapx2";
  tenancy.devices = {0, 1};
  tenancy.swap_chunk = 8 * kMiB;
  if (outside(tenancy)) return;
  makeSwappable();
  const CUdeviceptr one = filled(96 * kMiB, 30);
  CUcontext first = currentContext(), second = nullptr;
  ASSERT_EQ(cu<Cu::cuDevicePrimaryCtxRetain>(&second, 1), CUDA_SUCCESS);
  ASSERT_EQ(cu<Cu::cuCtxSetCurrent>(second), CUDA_SUCCESS);
  const CUdeviceptr other = filled(96 * kMiB, 31);
  bool together = false;
  // A busy machine may wake the second one late.
  for (int round = 0; round < 5 && !together; ++round) {
    std::uint64_t since = 0;
    for (const int card : {0, 1}) since = std::max(since, copyingOut(card, 0).second);
    allow(0);
    ASSERT_TRUE(becomesResident(0));
    ASSERT_TRUE(eventually([] { return booked(Charge::kVmm, 1) == 0; }));
    const auto a = copyingOut(0, since), b = copyingOut(1, since);
    together = std::max(a.first, b.first) < std::min(a.second, b.second);
    allow(kEverything);
    EXPECT_TRUE(holds(other, 96 * kMiB, 31));
    ASSERT_EQ(cu<Cu::cuCtxSetCurrent>(first), CUDA_SUCCESS);
    EXPECT_TRUE(holds(one, 96 * kMiB, 30));
    ASSERT_EQ(cu<Cu::cuCtxSetCurrent>(second), CUDA_SUCCESS);
  }
  EXPECT_TRUE(together);
  EXPECT_EQ(takenUnderWork(), 0u);
}

// The first ones to leave a card took as much longer as making their host memory took.
TEST_F(PagerTest, MayLeaveOrdered_HostMemoryMadeAhead) {
  if (outside(swappable())) return;
  makeSwappable();
  const CUdeviceptr block = filled(7 * kMiB, 11), other = filled(2 * kMiB, 12);
  EXPECT_EQ(shown()->host_bytes, 0u) << "nobody lacks what it has";
  allow(kEverything, 7 * kMiB, ledger::kMayLeave);
  EXPECT_TRUE(eventually([] { return shown()->host_bytes >= 6 * kMiB; })) << said();
  EXPECT_LE(shown()->host_bytes, 7 * kMiB) << "more than it may keep";
  allow(kEverything, kGiB, ledger::kMayLeave);
  EXPECT_TRUE(eventually([] { return shown()->host_bytes == 10 * kMiB; })) << said();
  EXPECT_EQ(resident(), 10 * kMiB);
  EXPECT_TRUE(shows(ledger::kSwapReady)) << "it works meanwhile";
  allow(0, kGiB, ledger::kMayLeave);
  EXPECT_TRUE(becomesResident(0));
  EXPECT_EQ(shown()->host_bytes, 10 * kMiB) << "what was made ahead is what it leaves to";
  allow(kEverything);
  EXPECT_TRUE(holds(block, 7 * kMiB, 11));
  EXPECT_TRUE(holds(other, 2 * kMiB, 12));
  // Seconds after the last time that anybody lacked any.
  EXPECT_TRUE(eventually([] { return shown()->host_bytes == 0; }, std::chrono::seconds(60)))
      << "the node's memory, which holds nothing";
  EXPECT_TRUE(holds(block, 7 * kMiB, 11));
}

TEST_F(PagerTest, PartlyAllowed_NoMoreThanNeededLeaves) {
  if (outside(swappable())) return;
  makeSwappable();
  const CUdeviceptr block = filled(10 * kMiB, 3);
  allow(5 * kMiB);
  EXPECT_TRUE(becomesResident(4 * kMiB));
  EXPECT_TRUE(staysResident(4 * kMiB));
  allow(8 * kMiB);
  EXPECT_TRUE(becomesResident(8 * kMiB));
  EXPECT_TRUE(shows(ledger::kSwapClosed)) << "a part is of no use";
  allow(10 * kMiB);
  EXPECT_TRUE(holds(block, 10 * kMiB, 3));
}

// Before CUDA 12.4 no driver says how large a kernel's parameters are.
TEST_F(PagerTest, KernelParametersUnknown_LaunchesCounted) {
  if (outside(swappable())) return;
  makeSwappable();
  filled(2 * kMiB, 3);
  EXPECT_EQ(control().unknown_arguments, 0u) << "copies say it themselves";
  const std::uint64_t missing = control().missing_calls;
  for (int i = 0; i < 5; ++i) EXPECT_EQ(spin(1000), CUDA_SUCCESS);
  EXPECT_EQ(control().unknown_arguments, isOldDriver() ? 5u : 0u);
  EXPECT_EQ(control().missing_calls, missing) << "what the driver lacks is not called";
}

TEST_F(PagerTest, CallTouchesSwappedOutMemory_Waits) {
  if (outside(swappable())) return;
  makeSwappable();
  const CUdeviceptr block = filled(4 * kMiB, 4);
  allow(0);
  ASSERT_TRUE(becomesResident(0));
  const CUcontext context = currentContext();
  Launcher reader([=] {
    cu<Cu::cuCtxSetCurrent>(context);
    return holds(block, 4 * kMiB, 4) ? CUDA_SUCCESS : CUDA_ERROR_UNKNOWN;
  });
  EXPECT_TRUE(eventually([] { return shows(ledger::kSwapWanted); }));
  EXPECT_TRUE(staysResident(0));
  EXPECT_FALSE(reader.done());
  allow(kEverything);
  EXPECT_TRUE(reader.finishes());
  EXPECT_TRUE(eventually([] { return !shows(ledger::kSwapWanted); }));
}

TEST_F(PagerTest, NoRoomOnDevice_BlockMadeAndWriteWaits) {
  if (outside(swappable())) return;
  makeSwappable();
  const CUdeviceptr first = filled(2 * kMiB, 5);
  allow(2 * kMiB);
  CUdeviceptr second = 0;
  ASSERT_EQ(cu<Cu::cuMemAlloc_v2>(&second, std::size_t{4 * kMiB}), CUDA_SUCCESS);
  EXPECT_EQ(resident(), 2 * kMiB);
  const CUcontext context = currentContext();
  Launcher writer([=] {
    cu<Cu::cuCtxSetCurrent>(context);
    const auto words = pattern(4 * kMiB, 6);
    return cu<Cu::cuMemcpyHtoD_v2>(second, static_cast<const void*>(words.data()),
                                   std::size_t{4 * kMiB});
  });
  EXPECT_TRUE(eventually([] { return shows(ledger::kSwapWanted); }));
  EXPECT_TRUE(staysResident(2 * kMiB));
  allow(6 * kMiB);
  EXPECT_TRUE(writer.finishes());
  EXPECT_TRUE(holds(second, 4 * kMiB, 6));
  EXPECT_TRUE(holds(first, 2 * kMiB, 5));
}

TEST_F(PagerTest, FreedWhileSwappedOut_ChargeRefunded) {
  if (outside(swappable())) return;
  makeSwappable();
  const std::uint64_t before = charged();
  const CUdeviceptr one = filled(4 * kMiB, 7), other = filled(6 * kMiB, 8);
  allow(0);
  ASSERT_TRUE(becomesResident(0));
  ASSERT_TRUE(eventually([] { return shown()->device[0].mapped == 0; })) << "in nobody's hands";
  EXPECT_EQ(cu<Cu::cuMemFree_v2>(one), CUDA_SUCCESS);
  EXPECT_EQ(charged(), before + 6 * kMiB);
  EXPECT_EQ(shown()->device[0].swappable, 6 * kMiB);
  allow(kEverything);
  EXPECT_TRUE(holds(other, 6 * kMiB, 8));
  EXPECT_EQ(resident(), 6 * kMiB);
  EXPECT_EQ(cu<Cu::cuMemFree_v2>(other), CUDA_SUCCESS);
  EXPECT_EXACT();
}

TEST_F(PagerTest, HostMemoryBound_RestStaysAndRefusalShown) {
  if (outside(swappable())) return;
  makeSwappable();
  const CUdeviceptr block = filled(6 * kMiB, 9);
  allow(0, 3 * kMiB);
  EXPECT_TRUE(eventually([] { return refuses(SwapRefusal::kNoHostMemory); }));
  EXPECT_TRUE(becomesResident(4 * kMiB)) << "one chunk finds a place";
  EXPECT_TRUE(staysResident(4 * kMiB));
  EXPECT_EQ(shown()->host_bytes, 2 * kMiB);
  allow(kEverything, 3 * kMiB);
  EXPECT_TRUE(holds(block, 6 * kMiB, 9));
}

// Then the driver takes a detour through pinned memory of its own, and nobody else notices.
TEST_F(PagerTest, HostMemoryNotPinnable_CopiedUnpinned) {
  Tenancy tenancy = swappable();
  tenancy.environment["SIMGPU_FAULTS"] += ",missing=cuMemHostRegister_v2";
  if (outside(tenancy)) return;
  makeSwappable();
  const CUdeviceptr block = filled(12 * kMiB, 40);
  for (int round = 0; round < 3; ++round) {
    allow(0);
    ASSERT_TRUE(becomesResident(0));
    EXPECT_EQ(shown()->refusal, 0u);
    allow(kEverything);
    EXPECT_TRUE(holds(block, 12 * kMiB, 40));
  }
}

TEST_F(PagerTest, ContextDestroyedWhileSwappedOut_OthersComeBack) {
  if (outside(swappable())) return;
  makeSwappable();
  const CUcontext primary = currentContext();
  const CUdeviceptr kept = filled(4 * kMiB, 10);
  CUcontext context = nullptr;
  ASSERT_EQ(cu<Cu::cuCtxCreate_v2>(&context, 0u, 0), CUDA_SUCCESS);
  filled(4 * kMiB, 11);
  allow(0);
  ASSERT_TRUE(becomesResident(0));
  ASSERT_TRUE(eventually([] { return shown()->device[0].mapped == 0; })) << "in nobody's hands";
  EXPECT_EQ(cu<Cu::cuCtxDestroy_v2>(context), CUDA_SUCCESS);
  ASSERT_EQ(cu<Cu::cuCtxSetCurrent>(primary), CUDA_SUCCESS);
  EXPECT_EQ(shown()->device[0].swappable, 4 * kMiB);
  allow(kEverything);
  EXPECT_TRUE(holds(kept, 4 * kMiB, 10));
  EXPECT_EXACT();
}

TEST_F(PagerTest, ForkedChild_ReadFailsWithoutWait) {
  if (outside(swappable())) return;
  makeSwappable();
  const CUdeviceptr block = filled(4 * kMiB, 12);
  allow(0);
  ASSERT_TRUE(becomesResident(0));
  const pid_t child = ::fork();
  if (child == 0) {
    // No context came along: whatever the driver answers, nobody waits.
    ::alarm(20);
    std::uint32_t word = 0;
    const bool refused =
        cu<Cu::cuMemcpyDtoH_v2>(static_cast<void*>(&word), block, sizeof word) != CUDA_SUCCESS;
    ::_exit(refused ? 0 : 1);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  allow(kEverything);
  EXPECT_TRUE(holds(block, 4 * kMiB, 12));
}

// The handler is registered before memory is first asked for, so it runs after our own.
TEST_F(PagerTest, ExitWhileSwappedOut_HandlerDeinitialized) {
  if (outside(swappable())) return;
  ::alarm(30);  // instead of a hang, a death that the parent reports
  static CUdeviceptr block = 0;
  std::atexit([] {
    std::uint32_t word = 0;
    const CUresult result = cu<Cu::cuMemcpyDtoH_v2>(static_cast<void*>(&word), block, sizeof word);
    if (result != CUDA_ERROR_DEINITIALIZED) std::_Exit(3);
  });
  makeSwappable();
  block = filled(4 * kMiB, 13);
  allow(0);
  ASSERT_TRUE(becomesResident(0));
  std::thread([context = currentContext()] {
    cu<Cu::cuCtxSetCurrent>(context);
    std::uint32_t word = 0;
    cu<Cu::cuMemcpyDtoH_v2>(static_cast<void*>(&word), block, sizeof word);
  }).detach();
  EXPECT_TRUE(eventually([] { return shows(ledger::kSwapWanted); }));
}

// b.9: a swapped-out process does not wait for an agent that is gone, and gives way to one that is
// back.
TEST_F(PagerTest, AgentSilentForLease_WaiterSwapsInItself) {
  if (outside(swappable())) return;
  terms().lease_ms = 300;
  makeSwappable();
  const CUdeviceptr block = filled(4 * kMiB, 14);
  allow(0);
  ASSERT_TRUE(becomesResident(0));
  EXPECT_TRUE(staysResident(0)) << "nobody waits";
  EXPECT_TRUE(holds(block, 4 * kMiB, 14));
  EXPECT_TRUE(shows(ledger::kSwapSelfHelp));
  EXPECT_EQ(shown()->self_helped, 4 * kMiB);
  grant(GateState::kOpen);  // it is back
  EXPECT_TRUE(becomesResident(0));
  EXPECT_TRUE(eventually([] { return shown()->device[0].mapped == 0; }));
}

// Whoever reads and writes while memory comes and goes finds what was written last.
TEST_F(PagerTest, HundredsOfSwapsDuringWork_BytesCorrect) {
  if (outside(swappable())) return;
  makeSwappable();
  constexpr std::uint64_t kBytes = 6 * kMiB;
  CUdeviceptr blocks[2] = {filled(kBytes, 20), filled(kBytes, 20)};
  const CUcontext context = currentContext();
  std::atomic<bool> over{false};
  std::atomic<std::uint64_t> turns{0};
  std::thread worker([&] {
    cu<Cu::cuCtxSetCurrent>(context);
    auto expected = pattern(kBytes, 20);
    std::mt19937 random(1);
    for (unsigned turn = 0; !over; ++turn) {
      const std::size_t words = 1 + random() % 4096, at = random() % (expected.size() - words);
      const auto from = blocks[turn % 2], to = blocks[(turn + 1) % 2];
      ASSERT_EQ(cu<Cu::cuMemsetD32_v2>(from + at * 4, turn, words), CUDA_SUCCESS);
      std::fill_n(expected.begin() + static_cast<std::ptrdiff_t>(at), words, turn);
      ASSERT_EQ(cu<Cu::cuMemcpyDtoD_v2>(to, from, std::size_t{kBytes}), CUDA_SUCCESS);
      if (turn % 16 != 0) continue;
      std::vector<std::uint32_t> found(expected.size());
      ASSERT_EQ(cu<Cu::cuMemcpyDtoH_v2>(static_cast<void*>(found.data()), to, std::size_t{kBytes}),
                CUDA_SUCCESS);
      ASSERT_EQ(found, expected);
      ++turns;
    }
  });
  std::mt19937 random(2);
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  const int rounds = 50;
#else
  const int rounds = 300;  // the twin test has many more
#endif
  for (int round = 0; round < rounds && !HasFailure(); ++round) {
    const std::uint64_t allowed = random() % (kBytes / kMiB) * 2 * kMiB;
    allow(allowed);
    ASSERT_TRUE(eventually([=] { return resident() <= allowed; })) << "round " << round;
    allow(kEverything);
    ASSERT_TRUE(eventually([=] { return resident() == 2 * kBytes; })) << "round " << round;
  }
  over = true;
  allow(kEverything);
  worker.join();
  EXPECT_GT(turns, 0u);
  EXPECT_EQ(takenUnderWork(), 0u);
  EXPECT_EQ(faults(31), 0u);
}

}  // namespace
}  // namespace divvy::interposer
