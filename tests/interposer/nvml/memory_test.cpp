// How much memory a tenant sees, against a node whose every answer is known.
#include <gtest/gtest.h>

#include "interposer/nvml_hooks.h"
#include "ledger/account.h"
#include "nvml_fake_driver.h"

namespace divvy::interposer::test {
namespace {

nvmlMemory_t memoryOf(nvmlDevice_t device) {
  nvmlMemory_t memory{};
  EXPECT_EQ(hook_nvmlDeviceGetMemoryInfo(device, &memory), NVML_SUCCESS);
  EXPECT_EQ(memory.total, memory.used + memory.free);
  nvmlMemory_v2_t wide{};
  wide.version = nvmlMemory_v2;
  EXPECT_EQ(hook_nvmlDeviceGetMemoryInfo_v2(device, &wide), NVML_SUCCESS);
  EXPECT_EQ(wide.total, wide.used + wide.free + wide.reserved);
  EXPECT_EQ(wide.total, memory.total);
  EXPECT_EQ(wide.free, memory.free);
  EXPECT_EQ(wide.used + wide.reserved, memory.used);
  EXPECT_EQ(wide.version, nvmlMemory_v2);
  return memory;
}

// One card of one tenant with a share of 4 GiB.
class NvmlMemoryTest : public testing::Test {
 protected:
  void run(const std::function<void(TenantDir&, FakeDevice&)>& body) {
    inFreshProcess([&] {
      addCards(2);
      FakeDevice& card = *fakeNode().cards()[0];
      ledger::DeviceSpec share = shareOf(card, gib(4));
      share.headroom = headroom_;
      TenantDir tenant({share});
      body(tenant, card);
    });
  }
  Bytes headroom_{};
};

TEST_F(NvmlMemoryTest, MemoryInfo_I6TotalIsShareAndUsedIsTenants) {
  run([](TenantDir& tenant, FakeDevice& card) {
    nvmlMemory_t memory = memoryOf(card.handle());
    EXPECT_EQ(memory.total, gib(4).count);
    EXPECT_EQ(memory.used, 0u) << "a neighbour's 20 GiB are not the tenant's";
    const Holder one(tenant, 0, gib(1));
    {
      const Holder two(tenant, 0, mib(512));
      memory = memoryOf(card.handle());
      EXPECT_EQ(memory.used, mib(1536).count);
      EXPECT_EQ(memory.free, mib(2560).count);
    }
    card.memory = {gib(80).count, 0, gib(80).count};
    memory = memoryOf(card.handle());
    EXPECT_EQ(memory.total, gib(4).count) << "a full card changes nothing";
    EXPECT_EQ(memory.free, mib(2560).count);
  });
}

// HAMi #1181, HAMi-core #200: 17592186044134 MiB used.
TEST_F(NvmlMemoryTest, ShareBelowUse_I6S12FreeIsZero) {
  run([](TenantDir& tenant, FakeDevice& card) {
    const Holder holder(tenant, 0, gib(3));
    ASSERT_TRUE(tenant.agent().setMemory(0, gib(2), gib(2)).has_value());
    const nvmlMemory_t memory = memoryOf(card.handle());
    EXPECT_EQ(memory.total, gib(2).count);
    EXPECT_EQ(memory.used, gib(2).count);
    EXPECT_EQ(memory.free, 0u);
  });
}

TEST_F(NvmlMemoryTest, ShareChanges_I6HandleStaysValid) {
  run([](TenantDir& tenant, FakeDevice& card) {
    nvmlDevice_t before = nullptr;
    ASSERT_EQ(hook_nvmlDeviceGetHandleByIndex_v2(0, &before), NVML_SUCCESS);
    EXPECT_EQ(memoryOf(before).total, gib(4).count);
    ASSERT_TRUE(tenant.agent().setMemory(0, gib(6), gib(6)).has_value());
    EXPECT_EQ(memoryOf(before).total, gib(6).count);
    nvmlDevice_t after = nullptr;
    ASSERT_EQ(hook_nvmlDeviceGetHandleByIndex_v2(0, &after), NVML_SUCCESS);
    EXPECT_EQ(before, after);
    EXPECT_EQ(before, card.handle());
  });
}

TEST_F(NvmlMemoryTest, Headroom_I6CountedAsReserved) {
  headroom_ = mib(256);
  run([](TenantDir& tenant, FakeDevice& card) {
    const Holder holder(tenant, 0, gib(1));
    nvmlMemory_v2_t memory{};
    memory.version = nvmlMemory_v2;
    ASSERT_EQ(hook_nvmlDeviceGetMemoryInfo_v2(card.handle(), &memory), NVML_SUCCESS);
    EXPECT_EQ(memory.total, gib(4).count);
    EXPECT_EQ(memory.used, gib(1).count);
    EXPECT_EQ(memory.reserved, mib(256).count);
    EXPECT_EQ(memory.free, (gib(3) - mib(256)).count);
  });
}

TEST_F(NvmlMemoryTest, LimitInEnvironment_I9OnlyLowers) {
  ::setenv("DIVVY_MEMORY_LIMIT", "1Gi", 1);
  run([](TenantDir&, FakeDevice& card) { EXPECT_EQ(memoryOf(card.handle()).total, gib(1).count); });
  ::setenv("DIVVY_MEMORY_LIMIT", "100Gi", 1);
  run([](TenantDir&, FakeDevice& card) { EXPECT_EQ(memoryOf(card.handle()).total, gib(4).count); });
  ::setenv("DIVVY_MEMORY_LIMIT", "lots", 1);
  run([](TenantDir&, FakeDevice& card) { EXPECT_EQ(memoryOf(card.handle()).total, gib(4).count); });
  ::unsetenv("DIVVY_MEMORY_LIMIT");
}

TEST_F(NvmlMemoryTest, UnknownStructVersion_I6ErrorAndFaultCounted) {
  run([](TenantDir& tenant, FakeDevice& card) {
    nvmlMemory_v2_t memory{};
    memory.version = 3u << 24 | sizeof memory;
    EXPECT_EQ(hook_nvmlDeviceGetMemoryInfo_v2(card.handle(), &memory),
              NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
    const auto report = tenant.agent().readReport();
    ASSERT_TRUE(report.has_value());
    ASSERT_EQ(report->faults.size(), 1u);
    EXPECT_EQ(report->faults[0].site, static_cast<unsigned>(abi::Nv::nvmlDeviceGetMemoryInfo_v2));
    EXPECT_EQ(report->faults[0].detail, memory.version);
  });
}

TEST_F(NvmlMemoryTest, DriverFails_S6ErrorReturnedAndNothingWritten) {
  run([](TenantDir&, FakeDevice& card) {
    nvmlMemory_t memory{1, 2, 3};
    EXPECT_EQ(hook_nvmlDeviceGetMemoryInfo(nullptr, &memory), NVML_ERROR_INVALID_ARGUMENT);
    EXPECT_EQ(hook_nvmlDeviceGetMemoryInfo(card.handle(), nullptr), NVML_ERROR_INVALID_ARGUMENT);
    card.state = NVML_ERROR_GPU_IS_LOST;
    EXPECT_EQ(hook_nvmlDeviceGetMemoryInfo(card.handle(), &memory), NVML_ERROR_GPU_IS_LOST);
    fakeNode().initialised = false;
    EXPECT_EQ(hook_nvmlDeviceGetMemoryInfo(card.handle(), &memory), NVML_ERROR_UNINITIALIZED);
    EXPECT_EQ(memory.total, 1u);
    EXPECT_EQ(memory.free, 2u);
    EXPECT_EQ(memory.used, 3u);
  });
}

TEST_F(NvmlMemoryTest, ForeignCard_S6InvalidArgument) {
  run([](TenantDir&, FakeDevice&) {
    nvmlMemory_t memory{};
    EXPECT_EQ(hook_nvmlDeviceGetMemoryInfo(fakeNode().cards()[1]->handle(), &memory),
              NVML_ERROR_INVALID_ARGUMENT);
    EXPECT_EQ(memory.total, 0u);
  });
}

TEST_F(NvmlMemoryTest, Queries_TakeNoSlot) {
  run([](TenantDir& tenant, FakeDevice& card) {
    memoryOf(card.handle());
    const auto report = tenant.agent().readReport();
    ASSERT_TRUE(report.has_value());
    EXPECT_TRUE(report->slots.empty());
  });
}

TEST_F(NvmlMemoryTest, Queries_ErrnoUnchanged) {
  run([](TenantDir&, FakeDevice& card) {
    errno = 4242;
    memoryOf(card.handle());
    unsigned count = 0;
    hook_nvmlDeviceGetComputeRunningProcesses_v3(card.handle(), &count, nullptr);
    hook_nvmlDeviceGetAccountingPids(card.handle(), &count, nullptr);
    EXPECT_EQ(errno, 4242);
  });
}

}  // namespace
}  // namespace divvy::interposer::test
