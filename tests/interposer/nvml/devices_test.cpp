// Which devices a tenant sees, against a node whose every answer is known.
#include <gtest/gtest.h>

#include "interposer/nvml_hooks.h"
#include "nvml_fake_driver.h"

namespace divvy::interposer::test {
namespace {

constexpr Bytes kShare = gib(4);

// A node of four cards, of which the tenant has numbers 3 and 1, named in that order.
class NvmlDevicesTest : public testing::Test {
 protected:
  void run(const std::function<void()>& body) {
    inFreshProcess([&] {
      addCards(4);
      TenantDir tenant({shareOf(card(3), kShare), shareOf(card(1), kShare)});
      body();
    });
  }
  static FakeDevice& card(unsigned i) { return *fakeNode().cards()[i]; }
};

TEST_F(NvmlDevicesTest, TenantsCards_S13NumberedInPciOrder) {
  run([] {
    unsigned count = 0;
    EXPECT_EQ(hook_nvmlDeviceGetCount_v2(&count), NVML_SUCCESS);
    EXPECT_EQ(count, 2u);
    count = 0;
    EXPECT_EQ(hook_nvmlDeviceGetCount(&count), NVML_SUCCESS);
    EXPECT_EQ(count, 2u);
    nvmlDevice_t device = nullptr;
    EXPECT_EQ(hook_nvmlDeviceGetHandleByIndex_v2(0, &device), NVML_SUCCESS);
    EXPECT_EQ(device, card(1).handle());
    EXPECT_EQ(hook_nvmlDeviceGetHandleByIndex(1, &device), NVML_SUCCESS);
    EXPECT_EQ(device, card(3).handle());
    unsigned index = 9;
    EXPECT_EQ(hook_nvmlDeviceGetIndex(card(3).handle(), &index), NVML_SUCCESS);
    EXPECT_EQ(index, 1u);
  });
}

TEST_F(NvmlDevicesTest, VisibleDevicesSet_S13CountUnchanged) {
  ::setenv("CUDA_VISIBLE_DEVICES", "1", 1);
  run([] {
    unsigned count = 0;
    EXPECT_EQ(hook_nvmlDeviceGetCount_v2(&count), NVML_SUCCESS);
    EXPECT_EQ(count, 2u);
  });
  ::unsetenv("CUDA_VISIBLE_DEVICES");
}

TEST_F(NvmlDevicesTest, IndexBeyondShare_S6InvalidAndNothingWritten) {
  run([] {
    auto* const untouched = reinterpret_cast<nvmlDevice_t>(1);
    nvmlDevice_t device = untouched;
    for (const unsigned index : {2u, 3u, 4u, 1u << 20, UINT32_MAX}) {
      EXPECT_EQ(hook_nvmlDeviceGetHandleByIndex_v2(index, &device), NVML_ERROR_INVALID_ARGUMENT);
    }
    EXPECT_EQ(device, untouched);
    EXPECT_EQ(hook_nvmlDeviceGetHandleByIndex_v2(0, nullptr), NVML_ERROR_INVALID_ARGUMENT);
    EXPECT_EQ(hook_nvmlDeviceGetCount_v2(nullptr), NVML_ERROR_INVALID_ARGUMENT);
  });
}

TEST_F(NvmlDevicesTest, ForeignCard_S13NotFoundUnderAnyName) {
  run([] {
    nvmlDevice_t device = nullptr;
    nvmlUUID_t binary{nvmlUUID_v1, 0, {}};
    for (const unsigned i : {0u, 2u}) {
      ::strncpy(binary.value.str, card(i).uuid.c_str(), sizeof binary.value.str - 1);
      EXPECT_EQ(hook_nvmlDeviceGetHandleByUUID(card(i).uuid.c_str(), &device),
                NVML_ERROR_NOT_FOUND);
      EXPECT_EQ(hook_nvmlDeviceGetHandleByUUIDV(&binary, &device), NVML_ERROR_NOT_FOUND);
      EXPECT_EQ(hook_nvmlDeviceGetHandleByPciBusId(card(i).pci.c_str(), &device),
                NVML_ERROR_NOT_FOUND);
      EXPECT_EQ(hook_nvmlDeviceGetHandleByPciBusId_v2(card(i).pci.c_str(), &device),
                NVML_ERROR_NOT_FOUND);
      EXPECT_EQ(hook_nvmlDeviceGetHandleBySerial(card(i).serial.c_str(), &device),
                NVML_ERROR_NOT_FOUND);
    }
    EXPECT_EQ(device, nullptr);
    EXPECT_EQ(hook_nvmlDeviceGetHandleByUUID("GPU-nonsense", &device), NVML_ERROR_NOT_FOUND);
    EXPECT_EQ(hook_nvmlDeviceGetHandleByUUID(nullptr, &device), NVML_ERROR_INVALID_ARGUMENT);
  });
}

TEST_F(NvmlDevicesTest, OwnCard_S13FoundUnderEveryName) {
  run([] {
    nvmlUUID_t binary{nvmlUUID_v1, 0, {}};
    for (const unsigned i : {1u, 3u}) {
      nvmlDevice_t device = nullptr;
      EXPECT_EQ(hook_nvmlDeviceGetHandleByUUID(card(i).uuid.c_str(), &device), NVML_SUCCESS);
      EXPECT_EQ(device, card(i).handle());
      device = nullptr;
      ::strncpy(binary.value.str, card(i).uuid.c_str(), sizeof binary.value.str - 1);
      EXPECT_EQ(hook_nvmlDeviceGetHandleByUUIDV(&binary, &device), NVML_SUCCESS);
      EXPECT_EQ(device, card(i).handle());
      device = nullptr;
      EXPECT_EQ(hook_nvmlDeviceGetHandleByPciBusId_v2(card(i).pci.c_str(), &device), NVML_SUCCESS);
      EXPECT_EQ(device, card(i).handle());
      device = nullptr;
      EXPECT_EQ(hook_nvmlDeviceGetHandleBySerial(card(i).serial.c_str(), &device), NVML_SUCCESS);
      EXPECT_EQ(device, card(i).handle());
    }
  });
}

TEST_F(NvmlDevicesTest, NearestGpus_OnlyTenantsOwn) {
  run([] {
    unsigned count = 0;
    EXPECT_EQ(hook_nvmlDeviceGetTopologyNearestGpus(card(1).handle(), NVML_TOPOLOGY_SYSTEM, &count,
                                                    nullptr),
              NVML_SUCCESS);
    ASSERT_EQ(count, 1u);
    nvmlDevice_t near[4] = {};
    count = 4;
    EXPECT_EQ(
        hook_nvmlDeviceGetTopologyNearestGpus(card(1).handle(), NVML_TOPOLOGY_SYSTEM, &count, near),
        NVML_SUCCESS);
    EXPECT_EQ(count, 1u);
    EXPECT_EQ(near[0], card(3).handle());
    EXPECT_EQ(near[1], nullptr);
  });
}

TEST_F(NvmlDevicesTest, BeforeInit_DriversErrorReturned) {
  run([] {
    fakeNode().initialised = false;
    unsigned number = 0;
    nvmlDevice_t device = nullptr;
    EXPECT_EQ(hook_nvmlDeviceGetCount_v2(&number), NVML_ERROR_UNINITIALIZED);
    EXPECT_EQ(hook_nvmlDeviceGetHandleByIndex_v2(0, &device), NVML_ERROR_UNINITIALIZED);
    EXPECT_EQ(hook_nvmlDeviceGetHandleByIndex_v2(7, &device), NVML_ERROR_UNINITIALIZED);
    EXPECT_EQ(hook_nvmlDeviceGetHandleByUUID(card(0).uuid.c_str(), &device),
              NVML_ERROR_UNINITIALIZED);
    EXPECT_EQ(hook_nvmlDeviceGetIndex(card(1).handle(), &number), NVML_ERROR_UNINITIALIZED);
  });
}

TEST_F(NvmlDevicesTest, LostCard_KeepsItsNumber) {
  run([] {
    card(1).state = NVML_ERROR_GPU_IS_LOST;
    unsigned count = 0;
    EXPECT_EQ(hook_nvmlDeviceGetCount_v2(&count), NVML_SUCCESS);
    EXPECT_EQ(count, 2u);
    nvmlDevice_t device = nullptr;
    EXPECT_EQ(hook_nvmlDeviceGetHandleByIndex_v2(0, &device), NVML_ERROR_GPU_IS_LOST);
    EXPECT_EQ(hook_nvmlDeviceGetHandleByIndex_v2(1, &device), NVML_SUCCESS);
    EXPECT_EQ(device, card(3).handle());
    card(1).state = NVML_SUCCESS;
    EXPECT_EQ(hook_nvmlDeviceGetHandleByIndex_v2(0, &device), NVML_SUCCESS) << "it came back";
  });
}

TEST_F(NvmlDevicesTest, Handles_LookedUpOnceUntilShutdown) {
  run([] {
    nvmlDevice_t device = nullptr;
    for (int i = 0; i < 100; ++i) hook_nvmlDeviceGetHandleByIndex_v2(i % 2, &device);
    EXPECT_EQ(fakeNode().lookups.load(), 2u);
    EXPECT_EQ(hook_nvmlShutdown(), NVML_SUCCESS);
    hook_nvmlDeviceGetHandleByIndex_v2(0, &device);
    EXPECT_EQ(fakeNode().lookups.load(), 3u);
  });
}

TEST(NvmlDevices, NoTenant_B4AllDevicesSeen) {
  inFreshProcess([] {
    ::unsetenv("DIVVY_TENANT_DIR");
    addCards(3);
    unsigned count = 0;
    nvmlDevice_t device = nullptr;
    EXPECT_EQ(hook_nvmlDeviceGetCount_v2(&count), NVML_SUCCESS);
    EXPECT_EQ(count, 3u);
    EXPECT_EQ(hook_nvmlDeviceGetHandleByIndex_v2(2, &device), NVML_SUCCESS);
    EXPECT_EQ(device, fakeNode().cards()[2]->handle());
    nvmlMemory_t memory{};
    EXPECT_EQ(hook_nvmlDeviceGetMemoryInfo(device, &memory), NVML_SUCCESS);
    EXPECT_EQ(memory.total, gib(80).count);
  });
}

TEST(NvmlDevices, UnusablePages_S8NoDevices) {
  inFreshProcess([] {
    addCards(2);
    TenantDir tenant({shareOf(*fakeNode().cards()[0], kShare)});
    std::filesystem::resize_file(tenant.path() + "/control", 100);
    unsigned count = 9;
    EXPECT_EQ(hook_nvmlDeviceGetCount_v2(&count), NVML_SUCCESS);
    EXPECT_EQ(count, 0u);
    nvmlDevice_t device = nullptr;
    EXPECT_EQ(hook_nvmlDeviceGetHandleByIndex_v2(0, &device), NVML_ERROR_INVALID_ARGUMENT);
    EXPECT_EQ(hook_nvmlDeviceGetHandleByUUID(fakeNode().cards()[0]->uuid.c_str(), &device),
              NVML_ERROR_NOT_FOUND);
  });
}

// Two cards cut into instances; the tenant has the second and third of the first card.
class NvmlInstancesTest : public testing::Test {
 protected:
  void run(const std::function<void(FakeDevice& card, FakeDevice* instances[4])>& body) {
    inFreshProcess([&] {
      addCards(2);
      FakeDevice& card = *fakeNode().cards()[0];
      FakeDevice* all[4];
      for (unsigned i = 0; i < 4; ++i) {
        const std::string uuid = "MIG-" + std::to_string(i) + "1111111-0000-5000-8000-000000000000";
        all[i] = &addInstance(i < 3 ? card : *fakeNode().cards()[1], uuid, 7 + i);
        all[i]->memory = {gib(10).count, gib(9).count, gib(1).count};
      }
      TenantDir tenant({shareOf(*all[1], gib(3)), shareOf(*all[2], gib(5))});
      body(card, all);
    });
  }
};

TEST_F(NvmlInstancesTest, TwoInstances_S13OneCard) {
  run([](FakeDevice& card, FakeDevice* all[4]) {
    unsigned number = 0;
    EXPECT_EQ(hook_nvmlDeviceGetCount_v2(&number), NVML_SUCCESS);
    EXPECT_EQ(number, 1u);
    nvmlDevice_t device = nullptr;
    ASSERT_EQ(hook_nvmlDeviceGetHandleByIndex_v2(0, &device), NVML_SUCCESS);
    EXPECT_EQ(device, card.handle());
    for (unsigned i = 0; i < 2; ++i) {
      nvmlDevice_t instance = nullptr;
      EXPECT_EQ(hook_nvmlDeviceGetMigDeviceHandleByIndex(device, i, &instance), NVML_SUCCESS);
      EXPECT_EQ(instance, all[i + 1]->handle());
      EXPECT_EQ(hook_nvmlDeviceGetIndex(instance, &number), NVML_SUCCESS);
      EXPECT_EQ(number, i);
    }
    EXPECT_EQ(hook_nvmlDeviceGetMigDeviceHandleByIndex(device, 2, &device), NVML_ERROR_NOT_FOUND);
  });
}

TEST_F(NvmlInstancesTest, ForeignInstance_S13NotFound) {
  run([](FakeDevice&, FakeDevice* all[4]) {
    nvmlDevice_t device = nullptr;
    EXPECT_EQ(hook_nvmlDeviceGetHandleByUUID(all[0]->uuid.c_str(), &device), NVML_ERROR_NOT_FOUND);
    EXPECT_EQ(hook_nvmlDeviceGetHandleByUUID(all[3]->uuid.c_str(), &device), NVML_ERROR_NOT_FOUND);
    EXPECT_EQ(hook_nvmlDeviceGetHandleByUUID(all[2]->uuid.c_str(), &device), NVML_SUCCESS);
    EXPECT_EQ(device, all[2]->handle());
  });
}

TEST_F(NvmlInstancesTest, MemoryInfo_I6InstanceSharesAndCardSum) {
  run([](FakeDevice& card, FakeDevice* all[4]) {
    nvmlMemory_t memory{};
    EXPECT_EQ(hook_nvmlDeviceGetMemoryInfo(all[1]->handle(), &memory), NVML_SUCCESS);
    EXPECT_EQ(memory.total, gib(3).count);
    EXPECT_EQ(hook_nvmlDeviceGetMemoryInfo(card.handle(), &memory), NVML_SUCCESS);
    EXPECT_EQ(memory.total, gib(8).count);
    nvmlDeviceAttributes_t attributes{};
    EXPECT_EQ(hook_nvmlDeviceGetAttributes_v2(all[2]->handle(), &attributes), NVML_SUCCESS);
    EXPECT_EQ(attributes.memorySizeMB, 5u << 10);
    EXPECT_EQ(attributes.multiprocessorCount, 14u);
  });
}

}  // namespace
}  // namespace divvy::interposer::test
