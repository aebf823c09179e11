// cuGetProcAddress, and which devices a process sees.
#include <cstring>
#include <vector>

#include "driver_process.h"

namespace divvy::simgpu {
namespace {

constexpr cuuint64_t kLegacy = CU_GET_PROC_ADDRESS_LEGACY_STREAM;
constexpr cuuint64_t kPerThread = CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;

class ProcAddressTest : public DriverTest {
 protected:
  static void* exported(const char* symbol) { return dlsym(driverHandle(), symbol); }
};

TEST_F(ProcAddressTest, AskedVersion_NewestNotAboveIsChosen) {
  run([] {
    struct Case {
      const char* base;
      int version;
      cuuint64_t flags;
      const char* symbol;
    };
    for (const Case& c :
         {Case{"cuMemAlloc", 12000, 0, "cuMemAlloc_v2"}, Case{"cuMemAlloc", 3010, 0, "cuMemAlloc"},
          Case{"cuMemAlloc", 3020, 0, "cuMemAlloc_v2"},
          Case{"cuMemAllocAsync", 12000, kLegacy, "cuMemAllocAsync"},
          Case{"cuMemAllocAsync", 12000, kPerThread, "cuMemAllocAsync_ptsz"},
          Case{"cuMemAlloc", 12000, kPerThread, "cuMemAlloc_v2"},
          Case{"cuMemcpyHtoD", 12000, kPerThread, "cuMemcpyHtoD_v2_ptds"},
          Case{"cuMemcpyHtoD", 6000, kPerThread, "cuMemcpyHtoD_v2"},
          Case{"cuGetProcAddress", 11030, 0, "cuGetProcAddress"},
          Case{"cuGetProcAddress", 12000, 0, "cuGetProcAddress_v2"},
          Case{"cuCtxCreate", 11030, 0, "cuCtxCreate_v2"},
          Case{"cuCtxCreate", 11040, 0, "cuCtxCreate_v3"}}) {
      void* found = nullptr;
      CUdriverProcAddressQueryResult status{};
      EXPECT_EQ(cu<Cu::cuGetProcAddress_v2>(c.base, &found, c.version, c.flags, &status),
                CUDA_SUCCESS);
      EXPECT_EQ(status, CU_GET_PROC_ADDRESS_SUCCESS) << c.base;
      EXPECT_EQ(found, exported(c.symbol)) << c.base << " at " << c.version;
    }
  });
}

TEST_F(ProcAddressTest, NothingFound_StatusSaysWhy) {
  run([] {
    void* found = &found;
    CUdriverProcAddressQueryResult status{};
    EXPECT_EQ(cu<Cu::cuGetProcAddress_v2>("cuMemAllocAsync", &found, 11010, cuuint64_t{0}, &status),
              CUDA_SUCCESS);
    EXPECT_EQ(found, nullptr);
    EXPECT_EQ(status, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
    for (const char* name : {"cuNoSuchCall", "cuMemAlloc_v2"}) {
      EXPECT_EQ(cu<Cu::cuGetProcAddress_v2>(name, &found, 12000, cuuint64_t{0}, &status),
                CUDA_SUCCESS);
      EXPECT_EQ(found, nullptr) << name;
      EXPECT_EQ(status, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
      EXPECT_EQ(cu<Cu::cuGetProcAddress>(name, &found, 12000, cuuint64_t{0}), CUDA_ERROR_NOT_FOUND)
          << "the first version has no status to say it with";
    }
    EXPECT_EQ(cu<Cu::cuGetProcAddress_v2>("cuMemAlloc", &found, 12000, cuuint64_t{0},
                                          static_cast<CUdriverProcAddressQueryResult*>(nullptr)),
              CUDA_SUCCESS);
    EXPECT_EQ(cu<Cu::cuGetProcAddress_v2>("cuMemAlloc", &found, 12000, cuuint64_t{8}, &status),
              CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(cu<Cu::cuGetProcAddress_v2>(static_cast<const char*>(nullptr), &found, 12000,
                                          cuuint64_t{0}, &status),
              CUDA_ERROR_INVALID_VALUE);
  });
}

TEST_F(ProcAddressTest, OlderDriver_NewerSymbolsNotFound) {
  run(
      [] {
        int version = 0;
        EXPECT_EQ(cu<Cu::cuDriverGetVersion>(&version), CUDA_SUCCESS);
        EXPECT_EQ(version, 11040);
        void* found = nullptr;
        CUdriverProcAddressQueryResult status{};
        EXPECT_EQ(
            cu<Cu::cuGetProcAddress_v2>("cuGreenCtxCreate", &found, 13000, cuuint64_t{0}, &status),
            CUDA_SUCCESS);
        EXPECT_EQ(status, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
        EXPECT_EQ(cu<Cu::cuGetProcAddress_v2>("cuCtxCreate", &found, 13000, cuuint64_t{0}, &status),
                  CUDA_SUCCESS);
        EXPECT_EQ(found, exported("cuCtxCreate_v3")) << "the newest that it has";
      },
      {{"SIMGPU_DRIVER_VERSION", "11040"}});
}

TEST_F(ProcAddressTest, OlderLibrary_ExportsNothingNewer) {
  DriverProcess process(
      environment({{"SIMGPU_DRIVER_VERSION", "11040"}, {"DIVVY_SIMGPU_VARIANT", "simgpu-old"}}),
      [] {
        EXPECT_EQ(exported("cuGreenCtxCreate"), nullptr);
        EXPECT_EQ(exported("cuGetProcAddress_v2"), nullptr);
        EXPECT_NE(exported("cuGetProcAddress"), nullptr);
        EXPECT_NE(exported("cuCtxCreate_v3"), nullptr);
        EXPECT_EQ(cu<Cu::cuInit>(0U), CUDA_SUCCESS);
      });
  process.expectSuccess();
}

TEST_F(ProcAddressTest, Errors_HaveNamesAndTexts) {
  run([] {
    const char* text = nullptr;
    EXPECT_EQ(cu<Cu::cuGetErrorName>(CUDA_ERROR_OUT_OF_MEMORY, &text), CUDA_SUCCESS);
    EXPECT_STREQ(text, "CUDA_ERROR_OUT_OF_MEMORY");
    EXPECT_EQ(cu<Cu::cuGetErrorString>(CUDA_ERROR_OUT_OF_MEMORY, &text), CUDA_SUCCESS);
    EXPECT_STREQ(text, "out of memory");
    EXPECT_EQ(cu<Cu::cuGetErrorName>(static_cast<CUresult>(12345), &text),
              CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(text, nullptr);
    const void* table = nullptr;
    const CUuuid id{};
    EXPECT_EQ(cu<Cu::cuGetExportTable>(&table, &id), CUDA_ERROR_NOT_FOUND);
  });
}

class VisibleDevicesTest : public DriverTest {
 protected:
  std::string profile() const override { return "l20+h100x3"; }

  // PCI buses of the visible devices, in CUDA's order.
  static std::vector<int> buses() {
    std::vector<int> all;
    int count = 0;
    if (cu<Cu::cuInit>(0U) != CUDA_SUCCESS) return {};
    EXPECT_EQ(cu<Cu::cuDeviceGetCount>(&count), CUDA_SUCCESS);
    for (int i = 0; i < count; ++i) {
      int bus = 0;
      EXPECT_EQ(cu<Cu::cuDeviceGetAttribute>(&bus, CU_DEVICE_ATTRIBUTE_PCI_BUS_ID, i),
                CUDA_SUCCESS);
      all.push_back(bus);
    }
    return all;
  }
  // What is seen with CUDA_VISIBLE_DEVICES = text, as card numbers in PCI order.
  void expectCards(const char* text, const std::vector<int>& cards, const char* order) {
    Environment extra{{"CUDA_DEVICE_ORDER", order}};
    if (text != nullptr) extra["CUDA_VISIBLE_DEVICES"] = text;
    run(
        [&] {
          std::vector<int> expected;
          for (const int card : cards) expected.push_back(0x17 + 0x11 * card);
          EXPECT_EQ(buses(), expected) << (text == nullptr ? "unset" : text);
        },
        extra);
  }
  // Of card 1, the first h100 in PCI order.
  static std::string uuid() {
    CUuuid raw{};
    EXPECT_EQ(cu<Cu::cuInit>(0U), CUDA_SUCCESS);
    EXPECT_EQ(cu<Cu::cuDeviceGetUuid_v2>(&raw, 1), CUDA_SUCCESS);
    std::string text = "GPU-";
    for (int i = 0; i < 16; ++i) {
      char digits[3];
      snprintf(digits, sizeof digits, "%02x", static_cast<unsigned char>(raw.bytes[i]));
      if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
      text += digits;
    }
    return text;
  }
};

TEST_F(VisibleDevicesTest, DeviceOrder_FastestFirstOrPciBus) {
  expectCards(nullptr, {1, 2, 3, 0}, "FASTEST_FIRST");
  expectCards(nullptr, {0, 1, 2, 3}, "PCI_BUS_ID");
  expectCards("0", {1}, "FASTEST_FIRST");
  expectCards("3", {0}, "FASTEST_FIRST");
}

TEST_F(VisibleDevicesTest, InvalidIndex_EndsTheList) {
  expectCards("2,0", {2, 0}, "PCI_BUS_ID");
  expectCards("1,-1,0", {1}, "PCI_BUS_ID");
  expectCards("1,9,0", {1}, "PCI_BUS_ID");
  expectCards("1,x,0", {1}, "PCI_BUS_ID");
  expectCards(" 1 , 2gpu ", {1, 2}, "PCI_BUS_ID");
  expectCards("", {}, "PCI_BUS_ID");
  expectCards("-1", {}, "PCI_BUS_ID");
  expectCards("NoDevFiles", {}, "PCI_BUS_ID");
  expectCards("1,2,1", {}, "PCI_BUS_ID");  // a repetition hides all
  expectCards("MIG-GPU-00000000-0000-0000-0000-000000000000/1/0", {}, "PCI_BUS_ID");
}

TEST_F(VisibleDevicesTest, UuidPrefix_SelectsIfUnambiguous) {
  std::string whole;
  {
    DriverProcess asks(environment({{"CUDA_DEVICE_ORDER", "PCI_BUS_ID"}}), [] {
      const std::string text = uuid();
      for (const char c : text) DriverProcess::tell(static_cast<unsigned char>(c));
    });
    for (int i = 0; i < 40; ++i) whole += static_cast<char>(asks.hear());
    asks.expectSuccess();
  }
  expectCards(whole.c_str(), {1}, "PCI_BUS_ID");
  expectCards(whole.substr(0, 12).c_str(), {1}, "PCI_BUS_ID");
  expectCards("GPU-", {}, "PCI_BUS_ID");
  expectCards((whole + ",0").c_str(), {1}, "PCI_BUS_ID");
  expectCards("GPU-zzzz", {}, "PCI_BUS_ID");
}

class NullCard : public DriverTest {
  std::string profile() const override { return "null"; }
};

TEST_F(NullCard, Allocation_SucceedsUncharged) {
  runReady([] {
    CUdeviceptr p = 0;
    CUdeviceptr q = 0;
    EXPECT_EQ(cu<Cu::cuMemAlloc_v2>(&p, size_t{100}), CUDA_SUCCESS);
    EXPECT_EQ(cu<Cu::cuMemAlloc_v2>(&q, size_t{100}), CUDA_SUCCESS);
    EXPECT_NE(p, q);
    EXPECT_EQ(booked(Charge::kPlain), 0U);
    EXPECT_EQ(cu<Cu::cuMemFree_v2>(p), CUDA_SUCCESS);
    size_t total = 0;
    EXPECT_EQ(cu<Cu::cuMemGetInfo_v2>(static_cast<size_t*>(nullptr), &total), CUDA_SUCCESS);
    size_t device_total = 0;
    EXPECT_EQ(cu<Cu::cuDeviceTotalMem_v2>(&device_total, 0), CUDA_SUCCESS);
    EXPECT_EQ(total, device_total);
    EXPECT_EQ(cu<Cu::cuCtxSynchronize>(), CUDA_SUCCESS);
  });
}

}  // namespace
}  // namespace divvy::simgpu
