// Faults on demand, and older drivers.
#include <csignal>

#include "driver_process.h"

namespace divvy::simgpu {
namespace {

class FaultInjectionTest : public DriverTest {};

TEST_F(FaultInjectionTest, OomFault_AllocationFails) {
  runReady(
      [] {
        CUdeviceptr p = 0;
        EXPECT_EQ(cu<Cu::cuMemAlloc_v2>(&p, size_t{1}), CUDA_ERROR_OUT_OF_MEMORY);
      },
      {{"SIMGPU_FAULTS", "oom"}});
  runReady(
      [] {
        CUdeviceptr p = 0;
        EXPECT_EQ(cu<Cu::cuMemAlloc_v2>(&p, size_t{1}), CUDA_SUCCESS);
        EXPECT_EQ(cu<Cu::cuMemAlloc_v2>(&p, size_t{1}), CUDA_SUCCESS);
        EXPECT_EQ(cu<Cu::cuMemAlloc_v2>(&p, size_t{1}), CUDA_ERROR_OUT_OF_MEMORY);
        EXPECT_EQ(cu<Cu::cuMemAlloc_v2>(&p, size_t{1}), CUDA_ERROR_OUT_OF_MEMORY);
      },
      {{"SIMGPU_FAULTS", "oom-after=2"}});
}

TEST_F(FaultInjectionTest, KillAtSecondCall_ProcessIsKilled) {
  DriverProcess victim(environment({{"SIMGPU_FAULTS", "kill-at=cuMemAlloc_v2:2"}}), [] {
    makeReady();
    CUdeviceptr p = 0;
    EXPECT_EQ(cu<Cu::cuMemAlloc_v2>(&p, size_t{1}), CUDA_SUCCESS);
    DriverProcess::tell(1);
    cu<Cu::cuMemAlloc_v2>(&p, size_t{1});
  });
  EXPECT_EQ(victim.hear(), 1U);
  const int status = victim.status();
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), SIGKILL);
}

TEST_F(FaultInjectionTest, FailAt_ReturnsCodeWithoutEffect) {
  runReady(
      [] {
        CUdeviceptr p = 0;
        EXPECT_EQ(cu<Cu::cuMemAlloc_v2>(&p, size_t{512}), CUDA_SUCCESS);
        EXPECT_EQ(cu<Cu::cuMemAlloc_v2>(&p, size_t{512}), CUDA_ERROR_OUT_OF_MEMORY);
        EXPECT_EQ(booked(Charge::kPlain), 512U);
        EXPECT_EQ(cu<Cu::cuMemAlloc_v2>(&p, size_t{512}), CUDA_ERROR_LAUNCH_FAILED);
        EXPECT_EQ(cu<Cu::cuMemAlloc_v2>(&p, size_t{512}), CUDA_SUCCESS) << "none poisons";
        EXPECT_EQ(cu<Cu::cuMemFree_v2>(p), CUDA_ERROR_INVALID_VALUE);
        EXPECT_EQ(cu<Cu::cuMemFree_v2>(p), CUDA_SUCCESS);
      },
      {{"SIMGPU_FAULTS",
        "fail-at=cuMemAlloc_v2:2=2,fail-at=cuMemFree_v2:1=1,fail-at=cuMemAlloc_v2:3=719"}});
}

TEST_F(FaultInjectionTest, MalformedFailAt_IgnoredOthersHold) {
  for (const char* wrong :
       {"fail-at=cuMemAlloc_v2", "fail-at=cuMemAlloc_v2:1",
        "fail-at=cuMemAlloc_v2:1=", "fail-at=cuMemAlloc_v2:1=0", "fail-at=cuMemAlloc_v2:1=1000",
        "fail-at=cuMemAlloc_v2:0=2", "fail-at=:1=2", "fail-at=cuMemAlloc_v2:x=2"}) {
    runReady(
        [] {
          CUdeviceptr p = 0;
          EXPECT_EQ(cu<Cu::cuMemAlloc_v2>(&p, size_t{512}), CUDA_SUCCESS);
          EXPECT_EQ(cu<Cu::cuMemFree_v2>(p), CUDA_ERROR_INVALID_VALUE);
        },
        {{"SIMGPU_FAULTS", std::string(wrong) + ",fail-at=cuMemFree_v2:1=1"}});
  }
}

TEST_F(FaultInjectionTest, LostCard_AnswersUnknown) {
  run(
      [] {
        EXPECT_EQ(cu<Cu::cuInit>(0U), CUDA_SUCCESS);
        int count = 0;
        EXPECT_EQ(cu<Cu::cuDeviceGetCount>(&count), CUDA_ERROR_UNKNOWN);
      },
      {{"SIMGPU_FAULTS", "lost"}});
}

TEST_F(FaultInjectionTest, MissingSymbol_IsNotFound) {
  run(
      [] {
        void* function = nullptr;
        EXPECT_EQ(cu<Cu::cuInit>(0U), CUDA_SUCCESS);
        EXPECT_EQ(cu<Cu::cuGetProcAddress>("cuMemAllocAsync", &function, 12000, cuuint64_t{0}),
                  CUDA_ERROR_NOT_FOUND);
        EXPECT_EQ(cu<Cu::cuGetProcAddress>("cuMemAlloc", &function, 12000, cuuint64_t{0}),
                  CUDA_SUCCESS);
      },
      {{"SIMGPU_FAULTS", "missing=cuMemAllocAsync+cuMemCreate"}});
}

TEST_F(FaultInjectionTest, UnknownFault_IgnoredOthersHold) {
  run(
      [] {
        makeReady();
        CUdeviceptr p = 0;
        EXPECT_EQ(cu<Cu::cuMemAlloc_v2>(&p, size_t{1}), CUDA_ERROR_OUT_OF_MEMORY);
      },
      {{"SIMGPU_FAULTS", "nonsense=1,oom"}});
}

TEST_F(FaultInjectionTest, UnknownProfile_IsNoDevice) {
  run([] { EXPECT_EQ(cu<Cu::cuInit>(0U), CUDA_ERROR_NO_DEVICE); }, {{"SIMGPU_PROFILE", "h1000"}});
}

}  // namespace
}  // namespace divvy::simgpu
