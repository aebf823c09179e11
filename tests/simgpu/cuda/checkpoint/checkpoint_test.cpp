// Processes that others take off the card and bring back: cuCheckpointProcess*.
#include <sys/mman.h>

#include <climits>

#include "exec_driver.h"
#include "vmm_driver.h"

namespace divvy::simgpu {
namespace {

// Starts from 0, and is the same for all processes of a test.
class SharedCounter {
 public:
  SharedCounter() {
    void* at = mmap(nullptr, sizeof(std::atomic<std::uint64_t>), PROT_READ | PROT_WRITE,
                    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) std::abort();
    value_ = new (at) std::atomic<std::uint64_t>(0);
  }
  ~SharedCounter() { munmap(value_, sizeof *value_); }
  SharedCounter(const SharedCounter&) = delete;
  SharedCounter& operator=(const SharedCounter&) = delete;

  std::atomic<std::uint64_t>& operator*() const { return *value_; }

 private:
  std::atomic<std::uint64_t>* value_;
};

CUresult lock(int pid, unsigned timeout_ms = 0) {
  CUcheckpointLockArgs args{};
  args.timeoutMs = timeout_ms;
  return cu<Cu::cuCheckpointProcessLock>(pid, &args);
}
CUresult checkpoint(int pid) {
  return cu<Cu::cuCheckpointProcessCheckpoint>(pid,
                                               static_cast<CUcheckpointCheckpointArgs*>(nullptr));
}
CUresult restore(int pid) {
  return cu<Cu::cuCheckpointProcessRestore>(pid, static_cast<CUcheckpointRestoreArgs*>(nullptr));
}
CUresult unlock(int pid) {
  return cu<Cu::cuCheckpointProcessUnlock>(pid, static_cast<CUcheckpointUnlockArgs*>(nullptr));
}
int stateOf(int pid) {
  CUprocessState state = CU_PROCESS_STATE_RUNNING;
  const CUresult known = cu<Cu::cuCheckpointProcessGetState>(pid, &state);
  return known == CUDA_SUCCESS ? static_cast<int>(state) : -static_cast<int>(known);
}

class Checkpoint : public DriverTest {
 protected:
  std::string profile() const override { return "swap"; }
  static constexpr std::uint64_t kContext = 8 * kMiB;

  // A hundred times as fast: the link of this card is slow.
  Environment fast(Environment extra = {}) const {
    extra.emplace("SIMGPU_TIME_SCALE", "100");
    return environment(extra);
  }
  // A process that has made itself ready and waits for resume().
  std::unique_ptr<DriverProcess> target(const std::function<void()>& body) const {
    auto process = std::make_unique<DriverProcess>(fast(), [body] {
      makeReady();
      body();
    });
    process->hear();
    return process;
  }
  // One with `bytes` of memory that only waits.
  std::unique_ptr<DriverProcess> holder(std::uint64_t bytes) const {
    return target([bytes] {
      allocate(bytes);
      DriverProcess::meet();
    });
  }
  // Runs the body in a process that has called cuInit.
  void asCaller(const std::function<void()>& body, const Environment& extra = {}) const {
    DriverProcess process(fast(extra), [&] {
      EXPECT_EQ(cu<Cu::cuInit>(0U), CUDA_SUCCESS);
      body();
    });
    process.expectSuccess();
  }
  static ProcessView viewOf(int pid, int card = 0) {
    const auto view = readCard(std::getenv("SIMGPU_DIR"), card);
    if (view) {
      for (const ProcessView& process : view->processes) {
        if (process.pid == pid) return process;
      }
    }
    return {};
  }
};

TEST_F(Checkpoint, LockedProcess_LeavesAndReturnsWithMemory) {
  const auto process = target([] {
    const CUdeviceptr plain = allocate(64 * kMiB);
    EXPECT_EQ(cu<Cu::cuMemsetD8_v2>(plain, static_cast<unsigned char>(0x21), size_t{64 * kMiB}),
              CUDA_SUCCESS);
    const CUdeviceptr mapped = mapNew(kUnit, create(kUnit));
    EXPECT_EQ(fill(mapped, kUnit, 0x22), CUDA_SUCCESS);
    DriverProcess::meet();
    EXPECT_EQ(valueOf(plain, 64 * kMiB), 0x21);
    EXPECT_EQ(valueOf(mapped, kUnit), 0x22);
    EXPECT_EQ(launch(builtin("fill"), CUstream{nullptr}, plain, std::uint64_t{1}, 0x23232323U),
              CUDA_SUCCESS);
    EXPECT_EQ(valueOf(plain, 4), 0x23);
    EXPECT_EQ(booked(Charge::kPlain), 64 * kMiB);
  });
  asCaller([pid = process->pid()] {
    const std::uint64_t held = viewOf(pid).bytes;
    EXPECT_EQ(held, kContext + 64 * kMiB + kUnit);
    EXPECT_EQ(stateOf(pid), CU_PROCESS_STATE_RUNNING);
    ASSERT_EQ(lock(pid), CUDA_SUCCESS);
    EXPECT_EQ(stateOf(pid), CU_PROCESS_STATE_LOCKED);
    EXPECT_EQ(viewOf(pid).bytes, held) << "still there";
    ASSERT_EQ(checkpoint(pid), CUDA_SUCCESS);
    EXPECT_EQ(stateOf(pid), CU_PROCESS_STATE_CHECKPOINTED);
    EXPECT_EQ(viewOf(pid).bytes, 0U);
    EXPECT_EQ(viewOf(pid).contexts, 0) << "NVML does not list it";
    EXPECT_EQ(viewOf(pid).saved, held);
    EXPECT_EQ(readCard(std::getenv("SIMGPU_DIR"), 0)->used, 0U);
    makeReady();
    const CUdeviceptr others = allocate(500 * kMiB);
    EXPECT_EQ(cu<Cu::cuMemFree_v2>(others), CUDA_SUCCESS);
    int thread = 0;
    EXPECT_EQ(cu<Cu::cuCheckpointProcessGetRestoreThreadId>(pid, &thread), CUDA_SUCCESS);
    EXPECT_EQ(thread, pid);
    ASSERT_EQ(restore(pid), CUDA_SUCCESS);
    EXPECT_EQ(stateOf(pid), CU_PROCESS_STATE_LOCKED);
    EXPECT_EQ(viewOf(pid).bytes, held);
    EXPECT_EQ(viewOf(pid).contexts, 1);
    EXPECT_EQ(viewOf(pid).saved, 0U);
    ASSERT_EQ(unlock(pid), CUDA_SUCCESS);
    EXPECT_EQ(stateOf(pid), CU_PROCESS_STATE_RUNNING);
  });
  process->resume();
  process->expectSuccess();
}

TEST_F(Checkpoint, BetweenLockAndUnlock_NoCallEnds) {
  const SharedCounter calls;
  const SharedCounter stop;
  const auto process = target([&] {
    const OtherThread busy([&] {
      const CUfunction touch = builtin("touch");
      while ((*stop).load() == 0) {
        const CUdeviceptr p = allocate(kMiB);
        EXPECT_EQ(launch(touch, CUstream{nullptr}, p, kMiB, std::uint64_t{1000}), CUDA_SUCCESS);
        EXPECT_EQ(cu<Cu::cuMemFree_v2>(p), CUDA_SUCCESS);
        ++*calls;
      }
    });
    DriverProcess::meet();
  });
  asCaller([&, pid = process->pid()] {
    for (int round = 0; round < 20; ++round) {
      const std::uint64_t before = (*calls).load();
      EXPECT_TRUE(eventually([&] { return (*calls).load() > before + 1; })) << "it runs";
      ASSERT_EQ(lock(pid), CUDA_SUCCESS);
      const std::uint64_t locked = (*calls).load();
      ASSERT_EQ(checkpoint(pid), CUDA_SUCCESS);
      EXPECT_EQ(viewOf(pid).bytes, 0U);
      ASSERT_EQ(restore(pid), CUDA_SUCCESS);
      // One may have ended before the lock and been counted after it.
      EXPECT_LE((*calls).load(), locked + 1);
      ASSERT_EQ(unlock(pid), CUDA_SUCCESS);
    }
  });
  *stop = 1;
  process->resume();
  process->expectSuccess();
}

TEST_F(Checkpoint, LockWithPendingWork_WaitsOrTimesOut) {
  const SharedCounter go;
  const auto process = target([&] {
    auto* flag = pinned<std::uint32_t>();
    {
      Gate gate(nullptr);
      const CUdeviceptr p = allocate(4);
      EXPECT_EQ(cu<Cu::cuMemsetD32Async>(p, 7U, size_t{1}, CUstream{nullptr}), CUDA_SUCCESS);
      void* to = flag;
      EXPECT_EQ(cu<Cu::cuMemcpyDtoHAsync_v2>(to, p, size_t{4}, CUstream{nullptr}), CUDA_SUCCESS);
      DriverProcess::meet();
      gate.open();
    }
    // No call of ours: the lock alone must bring the effects about.
    EXPECT_TRUE(eventually([&] { return (*go).load() != 0; }));
    EXPECT_EQ(*flag, 7U);
    EXPECT_EQ(cu<Cu::cuCtxSynchronize>(), CUDA_SUCCESS);
  });
  const int pid = process->pid();
  asCaller([pid] {
    EXPECT_EQ(lock(pid, 50), CUDA_ERROR_NOT_READY);
    EXPECT_EQ(stateOf(pid), CU_PROCESS_STATE_RUNNING);
    EXPECT_EQ(checkpoint(pid), CUDA_ERROR_ILLEGAL_STATE);
  });
  process->resume();
  asCaller([&] {
    EXPECT_EQ(lock(pid), CUDA_SUCCESS);
    *go = 1;
    EXPECT_EQ(unlock(pid), CUDA_SUCCESS);
  });
  process->expectSuccess();
}

TEST_F(Checkpoint, CallInOtherState_IsIllegalState) {
  const auto process = holder(kMiB);
  asCaller([pid = process->pid()] {
    constexpr auto kIllegal = CUDA_ERROR_ILLEGAL_STATE;
    EXPECT_EQ(checkpoint(pid), kIllegal);
    EXPECT_EQ(restore(pid), kIllegal);
    EXPECT_EQ(unlock(pid), kIllegal);
    ASSERT_EQ(lock(pid), CUDA_SUCCESS);
    EXPECT_EQ(lock(pid), kIllegal);
    EXPECT_EQ(restore(pid), kIllegal);
    ASSERT_EQ(checkpoint(pid), CUDA_SUCCESS);
    EXPECT_EQ(lock(pid), kIllegal);
    EXPECT_EQ(checkpoint(pid), kIllegal);
    EXPECT_EQ(unlock(pid), kIllegal);
    ASSERT_EQ(restore(pid), CUDA_SUCCESS);
    ASSERT_EQ(unlock(pid), CUDA_SUCCESS);
    EXPECT_EQ(unlock(pid), kIllegal);
  });
  process->resume();
  process->expectSuccess();
}

TEST_F(Checkpoint, UnknownPidOrOlderDriver_IsRefused) {
  const auto process = holder(kMiB);
  const int pid = process->pid();
  asCaller([pid] {
    for (const int wrong : {0, -1, 1, INT_MAX}) EXPECT_EQ(lock(wrong), CUDA_ERROR_INVALID_VALUE);
    CUcheckpointLockArgs args{};
    args.reserved1[6] = 1;
    EXPECT_EQ(cu<Cu::cuCheckpointProcessLock>(pid, &args), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(cu<Cu::cuCheckpointProcessGetState>(pid, static_cast<CUprocessState*>(nullptr)),
              CUDA_ERROR_INVALID_VALUE);
    ASSERT_EQ(lock(pid), CUDA_SUCCESS);
    CUcheckpointCheckpointArgs storage{};
    CUcheckpointCustomStorageInfo* info = nullptr;
    storage.customStorageInfo_out = &info;
    EXPECT_EQ(cu<Cu::cuCheckpointProcessCheckpoint>(pid, &storage), CUDA_ERROR_NOT_SUPPORTED);
    ASSERT_EQ(checkpoint(pid), CUDA_SUCCESS);
    CUcheckpointRestoreArgs elsewhere{};
    elsewhere.gpuPairsCount = 1;
    EXPECT_EQ(cu<Cu::cuCheckpointProcessRestore>(pid, &elsewhere), CUDA_ERROR_NOT_SUPPORTED);
    ASSERT_EQ(restore(pid), CUDA_SUCCESS);
    ASSERT_EQ(unlock(pid), CUDA_SUCCESS);
  });
  asCaller([pid] { EXPECT_EQ(lock(pid), CUDA_ERROR_NOT_SUPPORTED); },
           {{"SIMGPU_DRIVER_VERSION", "12060"}});
  run([pid] { EXPECT_EQ(lock(pid), CUDA_ERROR_NOT_INITIALIZED); }, fast());
  process->resume();
  process->expectSuccess();
}

TEST_F(Checkpoint, ManagedOrSharedMemory_RefusedAndLocked) {
  const auto process = target([] {
    CUdeviceptr managed = 0;
    EXPECT_EQ(cu<Cu::cuMemAllocManaged>(&managed, size_t{kMiB}, unsigned{CU_MEM_ATTACH_GLOBAL}),
              CUDA_SUCCESS);
    DriverProcess::meet();
    EXPECT_EQ(cu<Cu::cuMemFree_v2>(managed), CUDA_SUCCESS);
    const CUdeviceptr shared = allocate(kMiB);
    CUipcMemHandle handle{};
    EXPECT_EQ(cu<Cu::cuIpcGetMemHandle>(&handle, shared), CUDA_SUCCESS);
    DriverProcess::meet();
    EXPECT_EQ(cu<Cu::cuMemFree_v2>(shared), CUDA_SUCCESS);
    DriverProcess::meet();
  });
  const int pid = process->pid();
  for (const CUresult expected :
       {CUDA_ERROR_NOT_SUPPORTED, CUDA_ERROR_NOT_SUPPORTED, CUDA_SUCCESS}) {
    asCaller([pid, expected] {
      ASSERT_EQ(lock(pid), CUDA_SUCCESS);
      EXPECT_EQ(checkpoint(pid), expected);
      if (expected == CUDA_SUCCESS) {
        EXPECT_EQ(restore(pid), CUDA_SUCCESS);
      }
      EXPECT_EQ(stateOf(pid), CU_PROCESS_STATE_LOCKED);
      EXPECT_EQ(unlock(pid), CUDA_SUCCESS);
    });
    process->resume();
    if (expected != CUDA_SUCCESS) process->hear();
  }
  process->expectSuccess();
}

TEST_F(Checkpoint, RestoreWithoutRoom_FailsForGood) {
  const auto process = holder(300 * kMiB);
  const int pid = process->pid();
  asCaller([pid] {
    ASSERT_EQ(lock(pid), CUDA_SUCCESS);
    ASSERT_EQ(checkpoint(pid), CUDA_SUCCESS);
    makeReady();
    const CUdeviceptr others = allocate(400 * kMiB);
    EXPECT_EQ(restore(pid), CUDA_ERROR_OUT_OF_MEMORY);
    EXPECT_EQ(stateOf(pid), CU_PROCESS_STATE_CHECKPOINTED);
    EXPECT_EQ(viewOf(pid).saved, kContext + 300 * kMiB);
    EXPECT_EQ(cu<Cu::cuMemFree_v2>(others), CUDA_SUCCESS);
    EXPECT_EQ(restore(pid), CUDA_ERROR_OPERATING_SYSTEM);
    EXPECT_EQ(unlock(pid), CUDA_ERROR_ILLEGAL_STATE);
  });
  process->killNow();
  asCaller([pid] { EXPECT_EQ(restore(pid), CUDA_ERROR_INVALID_VALUE); });
  EXPECT_EQ(readCard(dir(), 0)->used, 0U);
}

TEST_F(Checkpoint, CheckpointFails_CardFreedByDeath) {
  const auto process = holder(100 * kMiB);
  asCaller(
      [pid = process->pid()] {
        ASSERT_EQ(lock(pid), CUDA_SUCCESS);
        EXPECT_EQ(checkpoint(pid), CUDA_ERROR_OPERATING_SYSTEM);
        EXPECT_EQ(stateOf(pid), CU_PROCESS_STATE_FAILED);
        EXPECT_EQ(viewOf(pid).bytes, kContext + 100 * kMiB);
        EXPECT_EQ(unlock(pid), CUDA_ERROR_ILLEGAL_STATE);
        EXPECT_EQ(restore(pid), CUDA_ERROR_ILLEGAL_STATE);
      },
      {{"SIMGPU_FAULTS", "checkpoint=fail"}});
  process->killNow();
  EXPECT_EQ(readCard(dir(), 0)->used, 0U);
}

TEST_F(Checkpoint, SlowCheckpoint_TakesCopyTimeAndDelay) {
  const auto process = holder(100 * kMiB);
  asCaller(
      [pid = process->pid()] {
        ASSERT_EQ(lock(pid), CUDA_SUCCESS);
        const auto before = std::chrono::steady_clock::now();
        EXPECT_EQ(checkpoint(pid), CUDA_SUCCESS);
        EXPECT_GE(std::chrono::steady_clock::now() - before, std::chrono::milliseconds(31))
            << "108 MiB at 1 GB/s, a hundred times as fast, and 30 ms";
        EXPECT_EQ(restore(pid), CUDA_SUCCESS);
        EXPECT_EQ(unlock(pid), CUDA_SUCCESS);
      },
      {{"SIMGPU_FAULTS", "checkpoint=slow:30"}});
  process->resume();
  process->expectSuccess();
}

TEST_F(Checkpoint, KilledWhileAway_LeavesNothing) {
  const auto process = holder(300 * kMiB);
  const int pid = process->pid();
  asCaller([pid] {
    ASSERT_EQ(lock(pid), CUDA_SUCCESS);
    ASSERT_EQ(checkpoint(pid), CUDA_SUCCESS);
  });
  process->killNow();
  EXPECT_TRUE(readCard(dir(), 0)->processes.empty());
  EXPECT_EQ(readCard(dir(), 0)->used, 0U);
}

class CheckpointOfSeveralCards : public Checkpoint {
 protected:
  std::string profile() const override { return "swapx2"; }
};

TEST_F(CheckpointOfSeveralCards, CallerSeesOneCard_AllCardsAreLeft) {
  const auto process = target([] {
    CUcontext second = nullptr;
    EXPECT_EQ(cu<Cu::cuDevicePrimaryCtxRetain>(&second, 1), CUDA_SUCCESS);
    DriverProcess::meet();
  });
  asCaller(
      [pid = process->pid()] {
        ASSERT_EQ(lock(pid), CUDA_SUCCESS);
        ASSERT_EQ(checkpoint(pid), CUDA_SUCCESS);
        for (const int card : {0, 1}) EXPECT_EQ(viewOf(pid, card).saved, kContext) << card;
        ASSERT_EQ(restore(pid), CUDA_SUCCESS);
        for (const int card : {0, 1}) EXPECT_EQ(viewOf(pid, card).bytes, kContext) << card;
        ASSERT_EQ(unlock(pid), CUDA_SUCCESS);
      },
      {{"CUDA_VISIBLE_DEVICES", "1"}});
  process->resume();
  process->expectSuccess();
}

}  // namespace
}  // namespace divvy::simgpu
