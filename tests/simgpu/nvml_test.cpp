// The simulated management library, seen through dlopen as every program sees it. The books of the
// card are written by the test itself through card.h, so that each figure has a known cause.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "abi/nvml_protos.h"
#include "card/card.h"
#include "card/card_layout.h"
#include "card/profile.h"
#include "scratch_dir.h"

namespace divvy::simgpu {
namespace {

using abi::Nv;

class Nvml : public ::testing::Test {
 protected:
  void open(const char* machine) {
    setenv("SIMGPU_PROFILE", machine, 1);
    setenv("SIMGPU_DIR", dir_.path().c_str(), 1);
    const std::string path =
        std::string(std::getenv("DIVVY_BUILD_DIR")) + "/simgpu/libnvidia-ml.so.1";
    library_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library_, nullptr) << dlerror();
  }
  ~Nvml() override {
    if (library_ != nullptr) dlclose(library_);
  }

  template <Nv id, typename... Args>
  nvmlReturn_t call(const char* name, Args... args) {
    using Function = typename abi::NvFn<id>::type;
    auto* function = reinterpret_cast<Function*>(dlsym(library_, name));
    if (function == nullptr) {
      ADD_FAILURE() << name << " is not exported";
      return NVML_ERROR_FUNCTION_NOT_FOUND;
    }
    return function(args...);
  }

  nvmlDevice_t device(unsigned index) {
    nvmlDevice_t handle = nullptr;
    EXPECT_EQ(
        call<Nv::nvmlDeviceGetHandleByIndex_v2>("nvmlDeviceGetHandleByIndex_v2", index, &handle),
        NVML_SUCCESS);
    return handle;
  }
  void init() { ASSERT_EQ(call<Nv::nvmlInit_v2>("nvmlInit_v2"), NVML_SUCCESS); }

  ScratchDir dir_;
  void* library_ = nullptr;
};

TEST_F(Nvml, CallBeforeInit_IsUninitialized) {
  open("h100");
  unsigned count = 0;
  EXPECT_EQ(call<Nv::nvmlDeviceGetCount_v2>("nvmlDeviceGetCount_v2", &count),
            NVML_ERROR_UNINITIALIZED);
  init();
  EXPECT_EQ(call<Nv::nvmlDeviceGetCount_v2>("nvmlDeviceGetCount_v2", &count), NVML_SUCCESS);
  EXPECT_EQ(call<Nv::nvmlShutdown>("nvmlShutdown"), NVML_SUCCESS);
  EXPECT_EQ(call<Nv::nvmlShutdown>("nvmlShutdown"), NVML_ERROR_UNINITIALIZED);
}

TEST_F(Nvml, UnknownProfile_DriverNotLoaded) {
  open("nosuchcard");
  EXPECT_EQ(call<Nv::nvmlInit_v2>("nvmlInit_v2"), NVML_ERROR_DRIVER_NOT_LOADED);
}

TEST_F(Nvml, IndexUuidAndPci_SameHandle) {
  setenv("CUDA_VISIBLE_DEVICES", "1", 1);
  open("a100x4");
  init();
  unsigned count = 0;
  ASSERT_EQ(call<Nv::nvmlDeviceGetCount_v2>("nvmlDeviceGetCount_v2", &count), NVML_SUCCESS);
  ASSERT_EQ(count, 4u);
  std::set<std::string> uuids;
  for (unsigned i = 0; i < count; ++i) {
    char uuid[NVML_DEVICE_UUID_V2_BUFFER_SIZE] = {};
    nvmlPciInfo_t pci{};
    const nvmlDevice_t handle = device(i);
    ASSERT_EQ(call<Nv::nvmlDeviceGetUUID>("nvmlDeviceGetUUID", handle, uuid, unsigned{sizeof uuid}),
              NVML_SUCCESS);
    ASSERT_EQ(call<Nv::nvmlDeviceGetPciInfo_v3>("nvmlDeviceGetPciInfo_v3", handle, &pci),
              NVML_SUCCESS);
    nvmlDevice_t by_uuid = nullptr;
    nvmlDevice_t by_pci = nullptr;
    const char* uuid_text = uuid;
    const char* bus_text = pci.busId;
    EXPECT_EQ(call<Nv::nvmlDeviceGetHandleByUUID>("nvmlDeviceGetHandleByUUID", uuid_text, &by_uuid),
              NVML_SUCCESS);
    EXPECT_EQ(call<Nv::nvmlDeviceGetHandleByPciBusId_v2>("nvmlDeviceGetHandleByPciBusId_v2",
                                                         bus_text, &by_pci),
              NVML_SUCCESS);
    EXPECT_EQ(by_uuid, handle);
    EXPECT_EQ(by_pci, handle);
    EXPECT_TRUE(uuids.insert(uuid).second) << "two cards with " << uuid;
  }
  nvmlDevice_t none = nullptr;
  EXPECT_EQ(call<Nv::nvmlDeviceGetHandleByIndex_v2>("nvmlDeviceGetHandleByIndex_v2", count, &none),
            NVML_ERROR_INVALID_ARGUMENT);
  unsetenv("CUDA_VISIBLE_DEVICES");
}

TEST_F(Nvml, MemoryAndProcesses_AsCardBooks) {
  open("h100");
  init();
  const nvmlDevice_t handle = device(0);
  nvmlMemory_v2_t before{.version = nvmlMemory_v2, .total = 0, .reserved = 0, .free = 0, .used = 0};
  ASSERT_EQ(call<Nv::nvmlDeviceGetMemoryInfo_v2>("nvmlDeviceGetMemoryInfo_v2", handle, &before),
            NVML_SUCCESS);
  EXPECT_EQ(before.used, 0u);
  EXPECT_EQ(before.total, before.reserved + before.free);

  const auto machine = parseMachine("h100");
  Card card;
  ASSERT_TRUE(card.open(dir_.path(), *machine->cards[0], 0));
  ASSERT_TRUE(card.join());
  ASSERT_TRUE(card.charge(Charge::kPlain, 12345 * 512));
  unsigned count = 0;
  EXPECT_EQ(call<Nv::nvmlDeviceGetComputeRunningProcesses_v3>(
                "nvmlDeviceGetComputeRunningProcesses_v3", handle, &count,
                static_cast<nvmlProcessInfo_t*>(nullptr)),
            NVML_SUCCESS)
      << "a process without a context is not listed";
  card.countContext(1);
  EXPECT_EQ(call<Nv::nvmlDeviceGetComputeRunningProcesses_v3>(
                "nvmlDeviceGetComputeRunningProcesses_v3", handle, &count,
                static_cast<nvmlProcessInfo_t*>(nullptr)),
            NVML_ERROR_INSUFFICIENT_SIZE);
  ASSERT_EQ(count, 1u);
  nvmlProcessInfo_t info{};
  nvmlProcessInfo_t* infos = &info;
  EXPECT_EQ(call<Nv::nvmlDeviceGetComputeRunningProcesses_v3>(
                "nvmlDeviceGetComputeRunningProcesses_v3", handle, &count, infos),
            NVML_SUCCESS);
  EXPECT_EQ(info.pid, static_cast<unsigned>(getpid()));
  EXPECT_EQ(info.usedGpuMemory, 12345u * 512);

  nvmlMemory_v2_t after = before;
  ASSERT_EQ(call<Nv::nvmlDeviceGetMemoryInfo_v2>("nvmlDeviceGetMemoryInfo_v2", handle, &after),
            NVML_SUCCESS);
  EXPECT_EQ(after.used, 12345u * 512);
  nvmlMemory_t old{};
  ASSERT_EQ(call<Nv::nvmlDeviceGetMemoryInfo>("nvmlDeviceGetMemoryInfo", handle, &old),
            NVML_SUCCESS);
  EXPECT_EQ(old.used, after.used + after.reserved);
  EXPECT_EQ(old.total, old.used + old.free);
  card.releaseRecord();
}

// What this process has touched of the card's file, where it has mapped it and touched most.
std::size_t touchedKib() {
  std::ifstream maps("/proc/self/smaps");
  std::size_t touched = 0;
  bool ours = false;
  for (std::string line; std::getline(maps, line);) {
    if (line.find("-") < line.find(" ")) ours = line.find("/card0.v") != std::string::npos;
    if (ours && line.starts_with("Rss:")) touched = std::max(touched, std::stoul(line.substr(4)));
  }
  return touched;
}

// Agents ask all the time: they are not to have a megabyte of each card for it.
TEST_F(Nvml, Queries_TouchFewPages) {
  open("h100");
  init();
  const nvmlDevice_t handle = device(0);
  const auto machine = parseMachine("h100");
  Card card;
  ASSERT_TRUE(card.open(dir_.path(), *machine->cards[0], 0));
  ASSERT_TRUE(card.join());
  unsigned count = 0;
  EXPECT_EQ(call<Nv::nvmlDeviceGetComputeRunningProcesses_v3>(
                "nvmlDeviceGetComputeRunningProcesses_v3", handle, &count,
                static_cast<nvmlProcessInfo_t*>(nullptr)),
            NVML_SUCCESS);
  nvmlUtilization_t busy{};
  EXPECT_EQ(call<Nv::nvmlDeviceGetUtilizationRates>("nvmlDeviceGetUtilizationRates", handle, &busy),
            NVML_SUCCESS);
  EXPECT_GT(touchedKib(), 0u);
  EXPECT_LT(touchedKib(), sizeof(CardFile) / 1024 / 2);
  card.releaseRecord();
}

TEST_F(Nvml, StructureVersion_IsChecked) {
  open("h100");
  init();
  nvmlMemory_v2_t memory{};
  EXPECT_EQ(call<Nv::nvmlDeviceGetMemoryInfo_v2>("nvmlDeviceGetMemoryInfo_v2", device(0), &memory),
            NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
  nvmlProcessesUtilizationInfo_t info{};
  EXPECT_EQ(call<Nv::nvmlDeviceGetProcessesUtilizationInfo>("nvmlDeviceGetProcessesUtilizationInfo",
                                                            device(0), &info),
            NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
}

std::uint64_t monotonicNs() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(now.tv_nsec);
}

TEST_F(Nvml, HalfBusy_UtilizationIs50Percent) {
  open("h100");
  init();
  const nvmlDevice_t handle = device(0);
  unsigned count = 8;
  nvmlProcessUtilizationSample_t samples[8];
  nvmlProcessUtilizationSample_t* out = samples;
  EXPECT_EQ(call<Nv::nvmlDeviceGetProcessUtilization>("nvmlDeviceGetProcessUtilization", handle,
                                                      out, &count, 0ull),
            NVML_ERROR_NOT_FOUND);
  const auto machine = parseMachine("h100");
  Card card;
  ASSERT_TRUE(card.open(dir_.path(), *machine->cards[0], 0));
  ASSERT_TRUE(card.join());
  {
    // Half busy for four seconds up to now.
    const CardLock lock(card);
    const std::uint64_t now = monotonicNs();
    for (std::uint64_t at = now - 4'000'000'000; at < now; at += 10'000'000) {
      addBusyLocked(*card.self(), at, at + 5'000'000, false);
    }
  }
  count = 8;
  ASSERT_EQ(call<Nv::nvmlDeviceGetProcessUtilization>("nvmlDeviceGetProcessUtilization", handle,
                                                      out, &count, 0ull),
            NVML_SUCCESS);
  ASSERT_EQ(count, 1u);
  EXPECT_EQ(samples[0].pid, static_cast<unsigned>(getpid()));
  EXPECT_NEAR(samples[0].smUtil, 50, 2);
  nvmlUtilization_t rates{};
  ASSERT_EQ(
      call<Nv::nvmlDeviceGetUtilizationRates>("nvmlDeviceGetUtilizationRates", handle, &rates),
      NVML_SUCCESS);
  EXPECT_NEAR(rates.gpu, 50, 2);
  card.releaseRecord();
}

TEST_F(Nvml, InjectedXid_ReachesEventSet) {
  open("h100");
  init();
  const auto machine = parseMachine("h100");
  Card card;
  ASSERT_TRUE(card.open(dir_.path(), *machine->cards[0], 0));
  nvmlEventSet_t set = nullptr;
  ASSERT_EQ(call<Nv::nvmlEventSetCreate>("nvmlEventSetCreate", &set), NVML_SUCCESS);
  ASSERT_EQ(call<Nv::nvmlDeviceRegisterEvents>("nvmlDeviceRegisterEvents", device(0),
                                               nvmlEventTypeXidCriticalError, set),
            NVML_SUCCESS);
  nvmlEventData_t data{};
  EXPECT_EQ(call<Nv::nvmlEventSetWait_v2>("nvmlEventSetWait_v2", set, &data, 0u),
            NVML_ERROR_TIMEOUT);
  card.postEvent(nvmlEventTypeXidCriticalError, 79);
  EXPECT_EQ(call<Nv::nvmlEventSetWait_v2>("nvmlEventSetWait_v2", set, &data, 5000u), NVML_SUCCESS);
  EXPECT_EQ(data.eventData, 79u);
  EXPECT_EQ(data.device, device(0));
  EXPECT_EQ(call<Nv::nvmlEventSetFree>("nvmlEventSetFree", set), NVML_SUCCESS);
}

TEST_F(Nvml, LostCard_QueryIsGpuLost) {
  open("h100");
  init();
  const nvmlDevice_t handle = device(0);
  const auto machine = parseMachine("h100");
  Card card;
  ASSERT_TRUE(card.open(dir_.path(), *machine->cards[0], 0));
  card.file().lost.store(1);
  nvmlMemory_t memory{};
  EXPECT_EQ(call<Nv::nvmlDeviceGetMemoryInfo>("nvmlDeviceGetMemoryInfo", handle, &memory),
            NVML_ERROR_GPU_IS_LOST);
}

}  // namespace
}  // namespace divvy::simgpu
