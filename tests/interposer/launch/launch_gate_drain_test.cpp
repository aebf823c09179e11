// The drain proof, and what is let through because work in flight waits for it.
#include <dlfcn.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <thread>
#include <vector>

#include "gate_fixture.h"

namespace divvy::interposer {

using GateDrainTest = GateTest;
using ledger::GateState;

// While it lives no detached thread can be made, as ours is; the simulated card's are not.
class NoMoreThreads {
 public:
  NoMoreThreads() { refused = true; }
  ~NoMoreThreads() { refused = false; }
  NoMoreThreads(const NoMoreThreads&) = delete;
  NoMoreThreads& operator=(const NoMoreThreads&) = delete;

  static inline std::atomic<bool> refused{false};
};

namespace {

TEST_F(GateDrainTest, HoldWithKernelInFlight_DrainedWhenKernelEnds) {
  if (outside()) return;
  makeReady();
  Endless kernel;
  grant(GateState::kRun);
  ASSERT_EQ(kernel.start(), CUDA_SUCCESS);
  EXPECT_TRUE(eventually(inFlight));
  terms().overlap_us = 0;  // what is estimated does not count
  const std::uint64_t seq = grant(GateState::kHold);
  EXPECT_TRUE(eventually([=] { return line()->seen_seq >= seq; }));
  EXPECT_TRUE(staysUndrained(seq));
  const std::uint32_t bell = arbiter().bellValue();
  kernel.end();
  EXPECT_TRUE(eventually([=] { return line()->drained_seq == seq; }));
  EXPECT_NE(arbiter().bellValue(), bell);
  EXPECT_TRUE(eventually([] { return !inFlight(); }));
}

// A neighbour came while its kernel ran: it was unknown until the next launch, which never came.
TEST_F(GateDrainTest, KernelBeforeGateClosed_HoldUndrainedUntilEnd) {
  if (outside()) return;
  if (isOldDriver()) GTEST_SKIP() << "SKIPPED: this driver has no cuCtxRecordEvent";
  makeReady();
  for (int round = 0; round < 3; ++round) {
    Endless kernel;
    ASSERT_EQ(kernel.start(), CUDA_SUCCESS);
    const std::uint64_t seq = grant(GateState::kHold);
    EXPECT_TRUE(eventually([=] { return inFlight() && line()->seen_seq >= seq; }));
    EXPECT_TRUE(staysUndrained(seq));
    kernel.end();
    EXPECT_TRUE(eventually([=] { return line()->drained_seq == seq; }));
    EXPECT_TRUE(eventually([] { return !inFlight(); }));
    grant(GateState::kOpen);
  }
  EXPECT_EQ(control().metered, 0u);
}

// The copy was let in before the hold and is still in the driver: it may yet start something.
TEST_F(GateDrainTest, ThreadInsideDriver_HoldUndrained) {
  if (outside()) return;
  makeReady();
  Endless kernel;
  ASSERT_EQ(kernel.start(), CUDA_SUCCESS) << "before the grant: nobody meters it";
  CUdeviceptr source = 0;
  ASSERT_EQ(cu<Cu::cuMemAlloc_v2>(&source, std::size_t{4096}), CUDA_SUCCESS);
  grant(GateState::kRun);
  static char target[4096];
  Launcher copy([&] {
    cu<Cu::cuCtxSetCurrent>(kernel.context());
    CUstream blocking = nullptr;
    cu<Cu::cuStreamCreate>(&blocking, 0u);
    CUevent behind = nullptr;
    cu<Cu::cuEventCreate>(&behind, 2u);
    cu<Cu::cuEventRecord>(behind, kernel.stream());
    cu<Cu::cuStreamWaitEvent>(blocking, behind, 0u);
    // The legacy stream waits for the blocking one, which waits for the kernel.
    return cu<Cu::cuMemcpyDtoH_v2>(static_cast<void*>(target), source, sizeof target);
  });
  ASSERT_TRUE(eventually([] { return control().metered == 1; }));
  terms().overlap_us = 60'000'000;  // every estimate is soon enough
  const std::uint64_t seq = grant(GateState::kHold);
  EXPECT_TRUE(staysUndrained(seq));
  EXPECT_FALSE(copy.done());
  kernel.end();
  EXPECT_TRUE(copy.finishes());
  EXPECT_TRUE(eventually([=] { return line()->drained_seq == seq || !inFlight(); }));
}

// The kernel waits for what the waiting thread is about to launch.
TEST_F(GateDrainTest, WorkInFlightWaitsForHeldLaunch_Escapes) {
  if (outside()) return;
  makeReady();
  Endless kernel;
  CUstream other = nullptr;
  ASSERT_EQ(cu<Cu::cuStreamCreate>(&other, 1u), CUDA_SUCCESS);
  terms().escape_ms = 50;
  grant(GateState::kRun);
  ASSERT_EQ(kernel.start(), CUDA_SUCCESS);
  const std::uint64_t seq = grant(GateState::kHold);
  Launcher saviour([&] {
    cu<Cu::cuCtxSetCurrent>(kernel.context());
    return cu<Cu::cuMemsetD32Async>(kernel.flag(), 1u, std::size_t{1}, other);
  });
  EXPECT_TRUE(saviour.finishes());
  EXPECT_EQ(control().escapes, 1u);
  EXPECT_EQ(line()->escapes, 1u);
  EXPECT_EQ(faults(29), 1u);
  EXPECT_EQ(cu<Cu::cuStreamSynchronize>(kernel.stream()), CUDA_SUCCESS);
  EXPECT_TRUE(eventually([=] { return line()->drained_seq == seq || !inFlight(); }));
}

// Launched at once they would be 60 ms; no launch goes ahead of the card by more than the bound,
// or by one kernel where one alone is longer.
TEST_F(GateDrainTest, ManyLaunches_QueueBoundedByInflightLimit) {
  if (outside()) return;
  makeReady();
  constexpr std::uint64_t kKernel = 1'000'000;
  constexpr std::uint64_t kBound = 2'000'000;
  grant(GateState::kRun);
  for (int i = 0; i < 20; ++i) ASSERT_EQ(spin(kKernel), CUDA_SUCCESS);  // learns how long they are
  ASSERT_EQ(cu<Cu::cuCtxSynchronize>(), CUDA_SUCCESS);
  CUevent last = nullptr;
  std::vector<CUevent> ends;
  for (int i = 0; i < 40; ++i) {
    ASSERT_EQ(spin(kKernel), CUDA_SUCCESS);
    ASSERT_EQ(cu<Cu::cuEventCreate>(&last, 2u), CUDA_SUCCESS);
    ASSERT_EQ(cu<Cu::cuEventRecord>(last, CUstream{}), CUDA_SUCCESS);
    ends.push_back(last);
    std::uint64_t running = 0;
    for (const CUevent end : ends) running += cu<Cu::cuEventQuery>(end) != CUDA_SUCCESS ? 1 : 0;
    EXPECT_LE(running, kBound / kKernel + 2) << "at launch " << i;
  }
  EXPECT_EQ(control().escapes, 0u);
}

// No thread can be made: whoever waits settles, shows and proves instead.
TEST_F(GateDrainTest, ThreadCreationFails_WaiterProvesDrain) {
  if (outside()) return;
  makeReady();
  const NoMoreThreads full;
  ASSERT_EQ(spin(1), CUDA_SUCCESS);
  Endless kernel;
  CUcontext const context = kernel.context();
  std::atomic<bool> go{false};
  Launcher launcher([&] {
    while (!go) std::this_thread::yield();
    cu<Cu::cuCtxSetCurrent>(context);
    return spin(1000);
  });
  grant(GateState::kRun);
  ASSERT_EQ(kernel.start(), CUDA_SUCCESS);
  EXPECT_EQ(control().helper, 2u);
  EXPECT_EQ(faults(26), 1u);
  terms().overlap_us = 0;
  const std::uint64_t seq = grant(GateState::kHold);
  go = true;
  ASSERT_TRUE(eventually([] { return line()->waiting == 1; }));
  EXPECT_TRUE(staysUndrained(seq));
  kernel.end();
  EXPECT_TRUE(eventually([=] { return line()->drained_seq == seq; }));
  grant(GateState::kRun);
  EXPECT_TRUE(launcher.finishes());
}

TEST_F(GateDrainTest, ThreadCreationFails_LaunchSeesAgentReturn) {
  if (outside({.machine = "null"})) return;
  makeReady();
  const NoMoreThreads full;
  std::atomic<bool> go{false};
  Launcher launcher([&] {
    while (!go) std::this_thread::yield();
    return launch();
  });
  grant(GateState::kRun);
  ASSERT_EQ(launch(), CUDA_SUCCESS);
  ASSERT_EQ(control().helper, 2u);
  terms().lease_ms = 50;
  grant(GateState::kHold);
  go = true;
  EXPECT_TRUE(launcher.finishes());
  EXPECT_EQ(control().ungated, 1u);
  const std::uint64_t metered = control().metered;
  EXPECT_EQ(launch(), CUDA_SUCCESS);
  EXPECT_EQ(control().metered, metered) << "nobody arbitrates";
  grant(GateState::kRun);
  EXPECT_EQ(launch(), CUDA_SUCCESS);
  EXPECT_EQ(control().metered, metered + 1);
  EXPECT_EQ(control().ungated, 0u);
}

// Who waits has shown that its work has drained: that it has ended wakes no arbiter that reads
// when.
TEST_F(GateDrainTest, DrainedWorkEnds_ArbiterReadingTurnNotWoken) {
  if (outside()) return;
  makeReady();
  constexpr std::uint64_t kLength = 200'000'000;
  CUcontext context = nullptr;
  ASSERT_EQ(cu<Cu::cuCtxGetCurrent>(&context), CUDA_SUCCESS);
  terms().overlap_us = 1'000'000;
  for (const bool reads : {false, true}) {
    terms().reads_turned = reads;
    grant(GateState::kRun);
    // The first one teaches how long it is.
    for (int i = 0; i < 2; ++i) ASSERT_EQ(spin(kLength), CUDA_SUCCESS);
    ASSERT_TRUE(eventually(inFlight));
    const std::uint64_t began = line()->turned;
    const std::uint64_t seq = grant(GateState::kHold);
    Launcher launcher([context] {
      cu<Cu::cuCtxSetCurrent>(context);
      return spin(1000);
    });
    ASSERT_TRUE(eventually([=] { return line()->drained_seq == seq && line()->waiting == 1; }));
    ASSERT_TRUE(inFlight());
    const std::uint32_t bell = arbiter().bellValue();
    const timespec longest{2, 0};
    const long woken = ::syscall(SYS_futex, arbiter().bell(), FUTEX_WAIT, bell, &longest, 0, 0);
    const int why = errno;
    EXPECT_EQ(woken, reads ? -1 : 0);
    EXPECT_TRUE(!reads || why == ETIMEDOUT) << why;
    EXPECT_FALSE(inFlight());
    EXPECT_NE(arbiter().bellValue(), bell);
    EXPECT_GT(began, 0u);
    EXPECT_GT(line()->turned, began);
    grant(GateState::kRun);
    EXPECT_TRUE(launcher.finishes());
    EXPECT_TRUE(eventually([] { return !inFlight(); }));
  }
  terms().reads_turned = false;
}

}  // namespace
}  // namespace divvy::interposer

// Found before the C library's by everything that is loaded.
extern "C" __attribute__((visibility("default"))) int pthread_create(
    pthread_t* thread, const pthread_attr_t* attributes, void* (*body)(void*), void* argument) {
  using Create = int(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  static auto* const next = reinterpret_cast<Create*>(::dlsym(RTLD_NEXT, "pthread_create"));
  int detached = PTHREAD_CREATE_JOINABLE;
  if (attributes != nullptr) pthread_attr_getdetachstate(attributes, &detached);
  if (divvy::interposer::NoMoreThreads::refused && detached == PTHREAD_CREATE_DETACHED) {
    return EAGAIN;
  }
  return next(thread, attributes, body, argument);
}
