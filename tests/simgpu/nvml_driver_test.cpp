// NVML over the simulated cards, as its documentation says.
#include <sched.h>

#include <cerrno>
#include <cstring>

#include "nvml_calls.h"

namespace divvy::simgpu {
namespace {

class Nvml : public DriverTest {
 protected:
  std::string profile() const override { return "h100x2"; }

  static nvmlDevice_t device(unsigned index) {
    nvmlDevice_t handle = nullptr;
    EXPECT_EQ(nv<Nv::nvmlDeviceGetHandleByIndex_v2>(index, &handle), NVML_SUCCESS);
    return handle;
  }
  // A process with a context and `bytes` of memory on card 0, until the test lets it go.
  std::unique_ptr<DriverProcess> holder(std::uint64_t bytes, const Environment& extra = {}) const {
    auto process = std::make_unique<DriverProcess>(environment(extra), [bytes] {
      makeReady();
      CUdeviceptr p = 0;
      EXPECT_EQ(cu<Cu::cuMemAlloc_v2>(&p, bytes), CUDA_SUCCESS);
      DriverProcess::meet();
    });
    process->hear();
    return process;
  }
};

constexpr std::uint64_t kContext = 520 * kMiB;
constexpr std::uint64_t kTotal = 81559 * kMiB;
constexpr std::uint64_t kReserved = 551 * kMiB;

TEST_F(Nvml, BeforeInit_UninitializedAndInitNests) {
  run([] {
    unsigned count = 0;
    EXPECT_EQ(nv<Nv::nvmlDeviceGetCount_v2>(&count), NVML_ERROR_UNINITIALIZED);
    EXPECT_EQ(nv<Nv::nvmlShutdown>(), NVML_ERROR_UNINITIALIZED);
    EXPECT_EQ(nv<Nv::nvmlInit_v2>(), NVML_SUCCESS);
    EXPECT_EQ(nv<Nv::nvmlInit_v2>(), NVML_SUCCESS);
    EXPECT_EQ(nv<Nv::nvmlShutdown>(), NVML_SUCCESS);
    EXPECT_EQ(nv<Nv::nvmlDeviceGetCount_v2>(&count), NVML_SUCCESS);
    EXPECT_EQ(count, 2U);
    EXPECT_EQ(nv<Nv::nvmlShutdown>(), NVML_SUCCESS);
    EXPECT_EQ(nv<Nv::nvmlDeviceGetCount_v2>(&count), NVML_ERROR_UNINITIALIZED);
  });
}

TEST_F(Nvml, CudaVisibleDevices_IsIgnored) {
  run(
      [] {
        ASSERT_EQ(nv<Nv::nvmlInit_v2>(), NVML_SUCCESS);
        unsigned count = 0;
        EXPECT_EQ(nv<Nv::nvmlDeviceGetCount_v2>(&count), NVML_SUCCESS);
        EXPECT_EQ(count, 2U);
      },
      {{"CUDA_VISIBLE_DEVICES", "1"}});
}

TEST_F(Nvml, EachIdentity_FindsDeviceAsCudaDoes) {
  run(
      [] {
        ASSERT_EQ(nv<Nv::nvmlInit_v2>(), NVML_SUCCESS);
        ASSERT_EQ(cu<Cu::cuInit>(0U), CUDA_SUCCESS);
        CUuuid uuid{};
        ASSERT_EQ(cu<Cu::cuDeviceGetUuid_v2>(&uuid, 0), CUDA_SUCCESS);
        char text[96] = {};
        ASSERT_EQ(nv<Nv::nvmlDeviceGetUUID>(device(1), static_cast<char*>(text), 96U),
                  NVML_SUCCESS);
        unsigned first = 0;
        ASSERT_EQ(sscanf(text, "GPU-%2x", &first), 1);
        EXPECT_EQ(static_cast<unsigned char>(uuid.bytes[0]), first) << "CUDA device 0 is card 1";
        nvmlDevice_t found = nullptr;
        EXPECT_EQ(nv<Nv::nvmlDeviceGetHandleByUUID>(static_cast<const char*>(text), &found),
                  NVML_SUCCESS);
        EXPECT_EQ(found, device(1));
        nvmlPciInfo_t pci{};
        EXPECT_EQ(nv<Nv::nvmlDeviceGetPciInfo_v3>(device(1), &pci), NVML_SUCCESS);
        EXPECT_EQ(
            nv<Nv::nvmlDeviceGetHandleByPciBusId_v2>(static_cast<const char*>(pci.busId), &found),
            NVML_SUCCESS);
        EXPECT_EQ(found, device(1));
        char bus[32] = {};
        EXPECT_EQ(cu<Cu::cuDeviceGetPCIBusId>(static_cast<char*>(bus), 32, 0), CUDA_SUCCESS);
        EXPECT_EQ(std::string(pci.busIdLegacy), bus);
        EXPECT_EQ(nv<Nv::nvmlDeviceGetHandleByUUID>("GPU-nothing", &found), NVML_ERROR_NOT_FOUND);
        EXPECT_EQ(nv<Nv::nvmlDeviceGetHandleByIndex_v2>(2U, &found), NVML_ERROR_INVALID_ARGUMENT);
        EXPECT_EQ(nv<Nv::nvmlDeviceGetUUID>(device(1), static_cast<char*>(text), 5U),
                  NVML_ERROR_INSUFFICIENT_SIZE);
        EXPECT_EQ(nv<Nv::nvmlDeviceGetUUID>(reinterpret_cast<nvmlDevice_t>(text),
                                            static_cast<char*>(text), 96U),
                  NVML_ERROR_INVALID_ARGUMENT);
      },
      {{"CUDA_VISIBLE_DEVICES", "1"}});
}

TEST_F(Nvml, MemoryVersions_Agree) {
  const auto other = holder(3 * kGiB);
  run([] {
    ASSERT_EQ(nv<Nv::nvmlInit_v2>(), NVML_SUCCESS);
    nvmlMemory_t v1{};
    ASSERT_EQ(nv<Nv::nvmlDeviceGetMemoryInfo>(device(0), &v1), NVML_SUCCESS);
    EXPECT_EQ(v1.total, kTotal);
    EXPECT_EQ(v1.used, kReserved + kContext + 3 * kGiB) << "with what the driver reserves";
    EXPECT_EQ(v1.total, v1.used + v1.free);
    nvmlMemory_v2_t v2{};
    EXPECT_EQ(nv<Nv::nvmlDeviceGetMemoryInfo_v2>(device(0), &v2),
              NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
    v2.version = nvmlMemory_v2;
    ASSERT_EQ(nv<Nv::nvmlDeviceGetMemoryInfo_v2>(device(0), &v2), NVML_SUCCESS);
    EXPECT_EQ(v2.reserved, kReserved);
    EXPECT_EQ(v2.used, kContext + 3 * kGiB);
    EXPECT_EQ(v2.free, v1.free);
    ASSERT_EQ(nv<Nv::nvmlDeviceGetMemoryInfo>(device(1), &v1), NVML_SUCCESS);
    EXPECT_EQ(v1.used, kReserved) << "the other card is empty";
  });
}

TEST_F(Nvml, RunningProcesses_ThoseWithContext) {
  const auto other = holder(kGiB);
  run([&other] {
    ASSERT_EQ(nv<Nv::nvmlInit_v2>(), NVML_SUCCESS);
    ASSERT_EQ(cu<Cu::cuInit>(0U), CUDA_SUCCESS) << "cuInit alone makes no compute process";
    unsigned count = 0;
    nvmlProcessInfo_v2_t* none = nullptr;
    EXPECT_EQ(nv<Nv::nvmlDeviceGetComputeRunningProcesses_v3>(device(0), &count, none),
              NVML_ERROR_INSUFFICIENT_SIZE);
    EXPECT_EQ(count, 1U) << "the needed size is returned";
    nvmlProcessInfo_v2_t infos[4] = {};
    count = 4;
    ASSERT_EQ(nv<Nv::nvmlDeviceGetComputeRunningProcesses_v3>(device(0), &count, infos + 0),
              NVML_SUCCESS);
    ASSERT_EQ(count, 1U);
    EXPECT_EQ(infos[0].pid, static_cast<unsigned>(other->pid()));
    EXPECT_EQ(infos[0].usedGpuMemory, kContext + kGiB);
    EXPECT_EQ(infos[0].gpuInstanceId, 0xffffffffU);
    nvmlProcessInfo_v1_t old[4] = {};
    count = 4;
    ASSERT_EQ(nv<Nv::nvmlDeviceGetComputeRunningProcesses>(device(0), &count, old + 0),
              NVML_SUCCESS);
    EXPECT_EQ(old[0].pid, static_cast<unsigned>(other->pid()));
    EXPECT_EQ(old[1].pid, 0U) << "records of 16 bytes";
    count = 4;
    EXPECT_EQ(nv<Nv::nvmlDeviceGetGraphicsRunningProcesses_v3>(device(0), &count, infos + 0),
              NVML_SUCCESS);
    EXPECT_EQ(count, 0U);
  });
}

// Those on card 0, as whoever asks sees them.
std::vector<nvmlProcessInfo_v2_t> listHere() {
  std::vector<nvmlProcessInfo_v2_t> infos(4);
  nvmlDevice_t card = nullptr;
  unsigned count = 4;
  const bool listed =
      nv<Nv::nvmlInit_v2>() == NVML_SUCCESS &&
      nv<Nv::nvmlDeviceGetHandleByIndex_v2>(0U, &card) == NVML_SUCCESS &&
      nv<Nv::nvmlDeviceGetComputeRunningProcesses_v3>(card, &count, infos.data()) == NVML_SUCCESS;
  infos.resize(listed ? count : 0);
  return infos;
}

// The first process of a container: has a context, says whom it sees (its number if it is alone),
// and ends with `end`.
[[noreturn]] void beFirst(int say, int end) {
  CUcontext context = nullptr;
  int only = 0;
  if (cu<Cu::cuInit>(0U) == CUDA_SUCCESS &&
      cu<Cu::cuCtxCreate_v2>(&context, 0U, CUdevice{0}) == CUDA_SUCCESS) {
    const std::vector<nvmlProcessInfo_v2_t> infos = listHere();
    only = infos.size() == 1 ? static_cast<int>(infos[0].pid) : -static_cast<int>(infos.size());
  }
  char byte = 0;
  const bool told = write(say, &only, sizeof only) == sizeof only;
  _exit(told && read(end, &byte, 1) >= 0 ? 0 : 1);
}

TEST_F(Nvml, ContainersProcesses_PidsAsAskerSees) {
  const auto other = holder(kGiB);
  run([&other] {
    if (unshare(CLONE_NEWUSER | CLONE_NEWPID) != 0) {
      std::fprintf(stderr, "skipped: no PID namespace can be made here: %s\n", strerror(errno));
      return;
    }
    int said[2], end[2], inside = 0;
    ASSERT_EQ(pipe(said) | pipe(end), 0);
    const int first = fork();
    if (first == 0) {
      close(end[1]);
      beFirst(said[1], end[0]);
    }
    ASSERT_EQ(read(said[0], &inside, sizeof inside), static_cast<ssize_t>(sizeof inside));
    EXPECT_EQ(inside, 1) << "its own number there, and nobody of other containers";
    const std::vector<nvmlProcessInfo_v2_t> outside = listHere();
    ASSERT_EQ(outside.size(), 2U);
    EXPECT_EQ(outside[0].pid, static_cast<unsigned>(other->pid()));
    EXPECT_EQ(outside[1].pid, static_cast<unsigned>(first));
    close(end[1]);
    EXPECT_EQ(waitpid(first, nullptr, 0), first);
  });
}

TEST_F(Nvml, IdleCard_ProcessUtilizationNotFound) {
  const auto other = holder(kGiB);
  run([] {
    ASSERT_EQ(nv<Nv::nvmlInit_v2>(), NVML_SUCCESS);
    unsigned count = 8;
    nvmlProcessUtilizationSample_t samples[8];
    EXPECT_EQ(nv<Nv::nvmlDeviceGetProcessUtilization>(device(0), samples + 0, &count, 0ULL),
              NVML_ERROR_NOT_FOUND);
    nvmlUtilization_t rates{99, 99};
    EXPECT_EQ(nv<Nv::nvmlDeviceGetUtilizationRates>(device(0), &rates), NVML_SUCCESS);
    EXPECT_EQ(rates.gpu, 0U);
  });
}

TEST_F(Nvml, Xid_ReachesOtherProcessesEventSet) {
  run([this] {
    ASSERT_EQ(nv<Nv::nvmlInit_v2>(), NVML_SUCCESS);
    nvmlEventSet_t set = nullptr;
    ASSERT_EQ(nv<Nv::nvmlEventSetCreate>(&set), NVML_SUCCESS);
    ASSERT_EQ(nv<Nv::nvmlDeviceRegisterEvents>(device(0), nvmlEventTypeXidCriticalError, set),
              NVML_SUCCESS);
    nvmlEventData_t event{};
    EXPECT_EQ(nv<Nv::nvmlEventSetWait_v2>(set, &event, 0U), NVML_ERROR_TIMEOUT);
    DriverProcess victim(environment({{"SIMGPU_FAULTS", "xid=31"}}), [] {
      makeReady();
      CUdeviceptr p = 0;
      EXPECT_EQ(cu<Cu::cuMemAlloc_v2>(&p, size_t{1}), CUDA_ERROR_ILLEGAL_ADDRESS);
      EXPECT_EQ(cu<Cu::cuMemAlloc_v2>(&p, size_t{1}), CUDA_ERROR_ILLEGAL_ADDRESS) << "sticky";
    });
    ASSERT_EQ(nv<Nv::nvmlEventSetWait_v2>(set, &event, 10000U), NVML_SUCCESS);
    EXPECT_EQ(event.eventType, nvmlEventTypeXidCriticalError);
    EXPECT_EQ(event.eventData, 31U);
    EXPECT_EQ(event.device, device(0));
    EXPECT_EQ(nv<Nv::nvmlEventSetFree>(set), NVML_SUCCESS);
    victim.expectSuccess();
  });
}

TEST_F(Nvml, EccErrors_CountedForLaterProcesses) {
  run(
      [] {
        ASSERT_EQ(nv<Nv::nvmlInit_v2>(), NVML_SUCCESS);
        makeReady();
        CUdeviceptr p = 0;
        EXPECT_EQ(cu<Cu::cuMemAlloc_v2>(&p, size_t{1}), CUDA_ERROR_ECC_UNCORRECTABLE);
        unsigned long long count = 0;
        EXPECT_EQ(nv<Nv::nvmlDeviceGetTotalEccErrors>(device(0), NVML_MEMORY_ERROR_TYPE_UNCORRECTED,
                                                      NVML_VOLATILE_ECC, &count),
                  NVML_SUCCESS);
        EXPECT_EQ(count, 3U);
      },
      {{"SIMGPU_FAULTS", "ecc=3"}});
  run([] {
    ASSERT_EQ(nv<Nv::nvmlInit_v2>(), NVML_SUCCESS);
    unsigned long long count = 0;
    unsigned corrected = 9, uncorrected = 9, pending = 9, failed = 9;
    EXPECT_EQ(nv<Nv::nvmlDeviceGetTotalEccErrors>(device(0), NVML_MEMORY_ERROR_TYPE_UNCORRECTED,
                                                  NVML_VOLATILE_ECC, &count),
              NVML_SUCCESS);
    EXPECT_EQ(count, 3U) << "who comes later is told, too";
    EXPECT_EQ(
        nv<Nv::nvmlDeviceGetRemappedRows>(device(0), &corrected, &uncorrected, &pending, &failed),
        NVML_SUCCESS);
    EXPECT_EQ(pending, 1U);
    EXPECT_EQ(failed, 0U);
    nvmlEnableState_t retires = NVML_FEATURE_DISABLED;
    EXPECT_EQ(nv<Nv::nvmlDeviceGetRetiredPagesPendingStatus>(device(0), &retires),
              NVML_ERROR_NOT_SUPPORTED)
        << "it remaps rows";
  });
}

TEST_F(Nvml, Xid79_CardLostForAll) {
  const auto survivor = holder(kMiB);
  run(
      [] {
        makeReady();
        CUdeviceptr p = 0;
        EXPECT_EQ(cu<Cu::cuMemAlloc_v2>(&p, size_t{1}), CUDA_ERROR_UNKNOWN);
      },
      {{"SIMGPU_FAULTS", "xid=79"}});
  run([] {
    ASSERT_EQ(nv<Nv::nvmlInit_v2>(), NVML_SUCCESS);
    nvmlDevice_t handle = nullptr;
    EXPECT_EQ(nv<Nv::nvmlDeviceGetHandleByIndex_v2>(0U, &handle), NVML_ERROR_GPU_IS_LOST);
    EXPECT_EQ(nv<Nv::nvmlDeviceGetHandleByIndex_v2>(1U, &handle), NVML_SUCCESS);
  });
}

TEST_F(Nvml, Accounting_RemembersDeadProcess) {
  run([this] {
    ASSERT_EQ(nv<Nv::nvmlInit_v2>(), NVML_SUCCESS);
    EXPECT_EQ(nv<Nv::nvmlDeviceSetAccountingMode>(device(0), NVML_FEATURE_ENABLED), NVML_SUCCESS);
    auto process = holder(kGiB);
    const auto pid = static_cast<unsigned>(process->pid());
    nvmlAccountingStats_t stats{};
    ASSERT_EQ(nv<Nv::nvmlDeviceGetAccountingStats>(device(0), pid, &stats), NVML_SUCCESS);
    EXPECT_EQ(stats.isRunning, 1U);
    process->killNow();
    ASSERT_EQ(nv<Nv::nvmlDeviceGetAccountingStats>(device(0), pid, &stats), NVML_SUCCESS);
    EXPECT_EQ(stats.isRunning, 0U);
    EXPECT_EQ(stats.maxMemoryUsage, kContext + kGiB);
    EXPECT_EQ(nv<Nv::nvmlDeviceGetAccountingStats>(device(0), 1U, &stats), NVML_ERROR_NOT_FOUND);
  });
}

TEST_F(Nvml, Errors_HaveTexts) {
  run([] {
    static void* const library =
        dlopen(driverPath("simgpu", "libnvidia-ml.so.1").c_str(), RTLD_NOW);
    auto* text = reinterpret_cast<const char* (*)(nvmlReturn_t)>(dlsym(library, "nvmlErrorString"));
    ASSERT_NE(text, nullptr);
    EXPECT_STREQ(text(NVML_ERROR_NOT_FOUND), "Not Found");
    EXPECT_STREQ(text(static_cast<nvmlReturn_t>(12345)), "Unknown Error");
  });
}

}  // namespace
}  // namespace divvy::simgpu
