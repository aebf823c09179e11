// A partitioned card, as both libraries show it. Source: NVIDIA's MIG user guide and the NVML
// reference: a process has one instance at most, cards tell of their instances, and utilisation is
// not told of either.
#include <cstring>
#include <fstream>

#include "nvml_calls.h"

namespace divvy::simgpu {
namespace {

std::string uuidOf(nvmlDevice_t device) {
  char text[96] = "";
  EXPECT_EQ(nv<Nv::nvmlDeviceGetUUID>(device, text, 96u), NVML_SUCCESS);
  return text;
}

std::uint64_t usedOf(nvmlDevice_t device) {
  nvmlMemory_v2_t memory{};
  memory.version = nvmlMemory_v2;
  EXPECT_EQ(nv<Nv::nvmlDeviceGetMemoryInfo_v2>(device, &memory), NVML_SUCCESS);
  return memory.used;
}

class Mig : public DriverTest {
 protected:
  std::string profile() const override { return "h100-mig"; }

  static nvmlDevice_t card() {
    nvmlDevice_t card = nullptr;
    EXPECT_EQ(nv<Nv::nvmlDeviceGetHandleByIndex_v2>(0u, &card), NVML_SUCCESS);
    return card;
  }
  static nvmlDevice_t part(unsigned at) {
    nvmlDevice_t part = nullptr;
    EXPECT_EQ(nv<Nv::nvmlDeviceGetMigDeviceHandleByIndex>(card(), at, &part), NVML_SUCCESS);
    return part;
  }
  std::string uuidOfPart(unsigned at) {
    std::string uuid;
    const std::string told = dir() + "/uuid";
    run([&] {
      ASSERT_EQ(nv<Nv::nvmlInit_v2>(), NVML_SUCCESS);
      std::ofstream(told) << uuidOf(part(at));
    });
    std::ifstream(told) >> uuid;
    return uuid;
  }
};

TEST_F(Mig, PartitionedCard_TellsItsInstances) {
  run([] {
    ASSERT_EQ(nv<Nv::nvmlInit_v2>(), NVML_SUCCESS);
    unsigned count = 0, now = 0, then = 0, is = 9;
    EXPECT_EQ(nv<Nv::nvmlDeviceGetCount_v2>(&count), NVML_SUCCESS);
    EXPECT_EQ(count, 1u);
    EXPECT_EQ(nv<Nv::nvmlDeviceGetMigMode>(card(), &now, &then), NVML_SUCCESS);
    EXPECT_EQ(now, unsigned{NVML_DEVICE_MIG_ENABLE});
    EXPECT_EQ(nv<Nv::nvmlDeviceIsMigDeviceHandle>(card(), &is), NVML_SUCCESS);
    EXPECT_EQ(is, 0u);
    unsigned slices = 0;
    for (unsigned at = 0; at < 4; ++at) {
      EXPECT_EQ(uuidOf(part(at)).substr(0, 4), "MIG-");
      EXPECT_EQ(nv<Nv::nvmlDeviceIsMigDeviceHandle>(part(at), &is), NVML_SUCCESS);
      EXPECT_EQ(is, 1u);
      nvmlDevice_t whole = nullptr, again = nullptr;
      EXPECT_EQ(nv<Nv::nvmlDeviceGetDeviceHandleFromMigDeviceHandle>(part(at), &whole),
                NVML_SUCCESS);
      EXPECT_EQ(whole, card());
      EXPECT_EQ(nv<Nv::nvmlDeviceGetHandleByUUID>(uuidOf(part(at)).c_str(), &again), NVML_SUCCESS);
      EXPECT_EQ(again, part(at));
      nvmlDeviceAttributes_t attributes{};
      EXPECT_EQ(nv<Nv::nvmlDeviceGetAttributes_v2>(part(at), &attributes), NVML_SUCCESS);
      slices += attributes.gpuInstanceSliceCount;
    }
    EXPECT_EQ(slices, 7u);
    nvmlDevice_t none = nullptr;
    EXPECT_EQ(nv<Nv::nvmlDeviceGetMigDeviceHandleByIndex>(card(), 4u, &none), NVML_ERROR_NOT_FOUND);
    nvmlUtilization_t rates{};
    EXPECT_EQ(nv<Nv::nvmlDeviceGetUtilizationRates>(card(), &rates), NVML_ERROR_NOT_SUPPORTED);
    EXPECT_EQ(nv<Nv::nvmlDeviceGetUtilizationRates>(part(0), &rates), NVML_ERROR_NOT_SUPPORTED);
  });
}

TEST_F(Mig, NamedInstance_OnlyThatOneIsUsed) {
  const std::string named = uuidOfPart(1);
  run(
      [&] {
        makeReady();
        int count = 0;
        ASSERT_EQ(cu<Cu::cuDeviceGetCount>(&count), CUDA_SUCCESS);
        EXPECT_EQ(count, 1);
        std::size_t bytes = 0;
        EXPECT_EQ(cu<Cu::cuDeviceTotalMem_v2>(&bytes, 0), CUDA_SUCCESS);
        EXPECT_EQ(bytes, (20096u - 16u) * kMiB);
        CUuuid of_card{}, own{};
        EXPECT_EQ(cu<Cu::cuDeviceGetUuid>(&of_card, 0), CUDA_SUCCESS);
        EXPECT_EQ(cu<Cu::cuDeviceGetUuid_v2>(&own, 0), CUDA_SUCCESS);
        EXPECT_NE(std::memcmp(of_card.bytes, own.bytes, sizeof own.bytes), 0);
        CUdeviceptr p = 0;
        EXPECT_EQ(cu<Cu::cuMemAlloc_v2>(&p, 1024 * kMiB), CUDA_SUCCESS);

        ASSERT_EQ(nv<Nv::nvmlInit_v2>(), NVML_SUCCESS);
        EXPECT_GE(usedOf(part(1)), 1024 * kMiB);
        EXPECT_EQ(usedOf(part(0)), 0u);
        EXPECT_EQ(usedOf(card()), usedOf(part(1)));
        for (const auto& [device, found] : {std::pair{card(), 1u}, {part(1), 1u}, {part(2), 0u}}) {
          nvmlProcessInfo_t infos[4];
          unsigned length = 4;
          ASSERT_EQ(nv<Nv::nvmlDeviceGetComputeRunningProcesses_v3>(device, &length, infos),
                    NVML_SUCCESS);
          ASSERT_EQ(length, found);
          if (found != 0) {
            unsigned id = 0;
            EXPECT_EQ(nv<Nv::nvmlDeviceGetGpuInstanceId>(part(1), &id), NVML_SUCCESS);
            EXPECT_EQ(infos[0].gpuInstanceId, id);
          }
        }
      },
      {{"CUDA_VISIBLE_DEVICES", named + "," + uuidOfPart(2)}});
}

TEST_F(Mig, NoInstanceNamed_FirstIsUsed) {
  run([] {
    makeReady();
    std::size_t bytes = 0;
    EXPECT_EQ(cu<Cu::cuDeviceTotalMem_v2>(&bytes, 0), CUDA_SUCCESS);
    EXPECT_EQ(bytes, (40448u - 16u) * kMiB);
  });
}

}  // namespace
}  // namespace divvy::simgpu
