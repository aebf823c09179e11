// What a program is told about its share and its devices: S6, S13, I9, and DESIGN 4.3.
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "ledger/fault.h"
#include "tenant_test.h"

namespace divvy::interposer {
namespace {

class ShareTest : public TenantTest {
 protected:
  static int deviceCount() {
    int count = -1;
    EXPECT_EQ(cu<Cu::cuDeviceGetCount>(&count), CUDA_SUCCESS);
    return count;
  }

  // "GPU-..." of what CUDA calls device `ordinal`; the error's number if there is none.
  static std::string uuidOf(int ordinal) {
    CUdevice device = -1;
    CUuuid uuid{};
    CUresult result = cu<Cu::cuDeviceGet>(&device, ordinal);
    if (result == CUDA_SUCCESS) result = cu<Cu::cuDeviceGetUuid_v2>(&uuid, device);
    if (result != CUDA_SUCCESS) return "error " + std::to_string(result);
    std::string text = "GPU-";
    for (int i = 0; i < 16; ++i) {
      if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
      char digits[3];
      std::snprintf(digits, sizeof digits, "%02x", static_cast<unsigned char>(uuid.bytes[i]));
      text += digits;
    }
    return text;
  }

  // The cards behind the ordinals 0, 1, ... as the program sees them, e.g. "3 1".
  static std::string visibleCards(const std::string& machine, int cards) {
    if (cu<Cu::cuInit>(0u) != CUDA_SUCCESS) return "no device";
    std::string seen;
    for (int i = 0; i < deviceCount(); ++i) {
      for (int card = 0; card < cards; ++card) {
        if (uuidOf(i) == cardUuid(machine, card)) seen += (i > 0 ? " " : "") + std::to_string(card);
      }
    }
    return seen;
  }

  static Tenancy twoOfFour(const char* visible) {
    Tenancy tenancy{.machine = "h100x4", .devices = {1, 3}};
    if (visible != nullptr) tenancy.environment["CUDA_VISIBLE_DEVICES"] = visible;
    return tenancy;
  }
};

TEST_F(ShareTest, NoContext_MemoryInfoFailsAsDriver) {
  if (outside()) return;
  std::size_t bytes = 7;
  EXPECT_EQ(cu<Cu::cuMemGetInfo_v2>(&bytes, &bytes), CUDA_ERROR_NOT_INITIALIZED);
  ASSERT_EQ(cu<Cu::cuInit>(0u), CUDA_SUCCESS);
  EXPECT_EQ(cu<Cu::cuMemGetInfo_v2>(&bytes, &bytes), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(bytes, 7u);
}

TEST_F(ShareTest, MemoryTotals_CeilingOnEveryCall) {
  if (outside({.ceiling = 6 * kGiB})) return;
  makeReady();
  std::size_t free_bytes = 0, total = 0, whole = 0;
  unsigned free_v1 = 0, total_v1 = 0, whole_v1 = 0;
  ASSERT_EQ(cu<Cu::cuMemGetInfo_v2>(&free_bytes, &total), CUDA_SUCCESS);
  ASSERT_EQ(cu<Cu::cuMemGetInfo>(&free_v1, &total_v1), CUDA_SUCCESS);
  ASSERT_EQ(cu<Cu::cuDeviceTotalMem_v2>(&whole, 0), CUDA_SUCCESS);
  ASSERT_EQ(cu<Cu::cuDeviceTotalMem>(&whole_v1, 0), CUDA_SUCCESS);
  EXPECT_EQ(total, 6 * kGiB);
  EXPECT_EQ(whole, total);
  EXPECT_EQ(total_v1, 0xffffffffu) << "32 bits hold no more";
  EXPECT_EQ(whole_v1, 0xffffffffu);
  EXPECT_EQ(free_bytes, total - charged());
}

TEST_F(ShareTest, Headroom_SubtractedFromFree) {
  if (outside({.ceiling = 2 * kGiB, .headroom = 256 * kMiB})) return;
  makeReady();
  std::size_t free_bytes = 0, total = 0;
  ASSERT_EQ(cu<Cu::cuMemGetInfo_v2>(&free_bytes, &total), CUDA_SUCCESS);
  EXPECT_EQ(total, 2 * kGiB);
  EXPECT_EQ(free_bytes, total - 256 * kMiB - charged());
  CUdeviceptr block = 0;
  EXPECT_EQ(cu<Cu::cuMemAlloc_v2>(&block, free_bytes + 512), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(cu<Cu::cuMemAlloc_v2>(&block, free_bytes), CUDA_SUCCESS);
}

TEST_F(ShareTest, LowerLimitInEnvironment_I9Applied) {
  if (outside({.ceiling = 2 * kGiB, .environment = {{"DIVVY_MEMORY_LIMIT", "1Gi"}}})) return;
  makeReady();
  std::size_t free_bytes = 0, total = 0;
  ASSERT_EQ(cu<Cu::cuMemGetInfo_v2>(&free_bytes, &total), CUDA_SUCCESS);
  EXPECT_EQ(total, kGiB);
}

TEST_F(ShareTest, HigherLimitInEnvironment_I9Ignored) {
  if (outside({.ceiling = 2 * kGiB, .environment = {{"DIVVY_MEMORY_LIMIT", "100Gi"}}})) return;
  makeReady();
  std::size_t total = 0;
  ASSERT_EQ(cu<Cu::cuDeviceTotalMem_v2>(&total, 0), CUDA_SUCCESS);
  EXPECT_EQ(total, 2 * kGiB);
}

// It cannot be obeyed, and nobody could be told here: it is counted, and once.
TEST_F(ShareTest, LimitIsNoNumber_I9CountedOnce) {
  if (outside({.ceiling = 2 * kGiB, .environment = {{"DIVVY_MEMORY_LIMIT", "lots of it"}}})) return;
  makeReady();
  std::size_t total = 0;
  ASSERT_EQ(cu<Cu::cuDeviceTotalMem_v2>(&total, 0), CUDA_SUCCESS);
  EXPECT_EQ(total, 2 * kGiB);
  ledger::TenantPages pages;
  ASSERT_EQ(ledger::TenantPages::open(tenantDir().c_str(), &pages), ledger::OpenStatus::kOk);
  const ledger::ReportHeader& report = pages.report().header;
  const auto code = static_cast<std::uint32_t>(ledger::FaultCode::kBadLimit);
  EXPECT_EQ(report.fault_counts[code], 1u);
  EXPECT_EQ(report.faults[0].code, code);
  EXPECT_EQ(std::string_view(reinterpret_cast<const char*>(&report.faults[0].detail), 8),
            "lots of ");
}

TEST_F(ShareTest, TwoOfFourDevices_S13OnlyThoseExist) {
  if (outside(twoOfFour(nullptr))) return;
  EXPECT_EQ(visibleCards("h100x4", 4), "1 3");
  EXPECT_EQ(uuidOf(2), "error " + std::to_string(CUDA_ERROR_INVALID_DEVICE));
  EXPECT_EQ(uuidOf(-1), "error " + std::to_string(CUDA_ERROR_INVALID_DEVICE));
}

// The variable counts the tenant's devices, as it does in a container that has only those.
TEST_F(ShareTest, VisibleDevicesIndex_S13CountsTenantsDevices) {
  if (outside(twoOfFour("1"))) return;
  EXPECT_EQ(visibleCards("h100x4", 4), "3");
  EXPECT_STREQ(std::getenv("CUDA_VISIBLE_DEVICES"), "1") << "the program's variable is its own";
}

TEST_F(ShareTest, VisibleDevicesIndices_S13OrderKept) {
  if (outside(twoOfFour("1,0"))) return;
  EXPECT_EQ(visibleCards("h100x4", 4), "3 1");
}

TEST_F(ShareTest, IndexBeyondShare_S13EndsList) {
  if (outside(twoOfFour("0,2,1"))) return;
  EXPECT_EQ(visibleCards("h100x4", 4), "1");
}

TEST_F(ShareTest, VisibleDevicesEmpty_S13NoDevice) {
  if (outside(twoOfFour(""))) return;
  EXPECT_EQ(visibleCards("h100x4", 4), "no device");
  EXPECT_STREQ(std::getenv("CUDA_VISIBLE_DEVICES"), "");
}

TEST_F(ShareTest, VisibleDevicesUuid_S13SelectsTenantsDevice) {
  if (outside(twoOfFour(cardUuid("h100x4", 3).c_str()))) return;
  EXPECT_EQ(visibleCards("h100x4", 4), "3");
}

TEST_F(ShareTest, VisibleDevicesUuidPrefix_S13SelectsTenantsDevice) {
  if (outside(twoOfFour(cardUuid("h100x4", 3).substr(0, 12).c_str()))) return;
  EXPECT_EQ(visibleCards("h100x4", 4), "3");
}

TEST_F(ShareTest, VisibleDevicesForeignUuid_S13SelectsNothing) {
  if (outside(twoOfFour((cardUuid("h100x4", 1) + "," + cardUuid("h100x4", 0)).c_str()))) return;
  EXPECT_EQ(visibleCards("h100x4", 4), "1");
}

// A node that does not tell how many devices it has: nothing is rewritten, foreign ones are hidden.
TEST_F(ShareTest, DeviceCountNotTold_S13ForeignDevicesHidden) {
  Tenancy tenancy = twoOfFour(nullptr);
  tenancy.subset_told = false;
  if (outside(tenancy)) return;
  EXPECT_EQ(visibleCards("h100x4", 4), "1 3");
  CUcontext context = nullptr;
  EXPECT_EQ(cu<Cu::cuDevicePrimaryCtxRetain>(&context, 0), CUDA_ERROR_INVALID_DEVICE)
      << "card 0 belongs to somebody else";
  EXPECT_EQ(cu<Cu::cuCtxCreate_v2>(&context, 0u, 2), CUDA_ERROR_INVALID_DEVICE);
  EXPECT_EQ(faults(17), 2u);
  EXPECT_EQ(bookedByAll(0) + bookedByAll(2), 0u);
}

TEST_F(ShareTest, TenantOfAllDevices_S13DriversOrderKept) {
  if (outside({.machine = "h100x2",
               .devices = {0, 1},
               .environment = {{"CUDA_VISIBLE_DEVICES", "1,0"}}})) {
    return;
  }
  EXPECT_EQ(visibleCards("h100x2", 2), "1 0");
}

TEST_F(ShareTest, OwnPciAddress_S13FoundAsItsOrdinal) {
  if (outside(twoOfFour(nullptr))) return;
  ASSERT_EQ(cu<Cu::cuInit>(0u), CUDA_SUCCESS);
  char bus_id[64] = {};
  CUdevice device = -1;
  ASSERT_EQ(cu<Cu::cuDeviceGetPCIBusId>(bus_id, 64, 1), CUDA_SUCCESS);
  ASSERT_EQ(cu<Cu::cuDeviceGetByPCIBusId>(&device, static_cast<const char*>(bus_id)), CUDA_SUCCESS);
  EXPECT_EQ(device, 1);
}

// Each device has its own share, and the charge goes to the one whose context is current.
TEST_F(ShareTest, TwoDevices_S13ChargedSeparately) {
  if (outside(twoOfFour(nullptr))) return;
  ASSERT_EQ(cu<Cu::cuInit>(0u), CUDA_SUCCESS);
  CUcontext context[2] = {};
  CUdeviceptr block = 0;
  for (int i : {0, 1}) ASSERT_EQ(cu<Cu::cuDevicePrimaryCtxRetain>(&context[i], i), CUDA_SUCCESS);
  ASSERT_EQ(cu<Cu::cuCtxSetCurrent>(context[1]), CUDA_SUCCESS);
  ASSERT_EQ(cu<Cu::cuMemAlloc_v2>(&block, std::size_t{kGiB}), CUDA_SUCCESS);
  EXPECT_EQ(charged(0), booked(1));
  EXPECT_EQ(charged(1), booked(3));
  EXPECT_GT(charged(1), charged(0));
  ASSERT_EQ(cu<Cu::cuCtxSetCurrent>(context[0]), CUDA_SUCCESS);
  ASSERT_EQ(cu<Cu::cuMemFree_v2>(block), CUDA_SUCCESS) << "freed under another context";
  EXPECT_EQ(charged(1), booked(3));
  EXPECT_EQ(charged(0), charged(1));
}

TEST_F(ShareTest, InvalidDeviceNumbers_S6InvalidDevice) {
  if (outside()) return;
  makeReady();
  std::size_t bytes = 0;
  CUcontext context = nullptr;
  CUdevice device = 0;
  for (const int wild : {-2, 1, 63, 64, 1000, 0x7fffffff}) {
    EXPECT_EQ(cu<Cu::cuDeviceTotalMem_v2>(&bytes, wild), CUDA_ERROR_INVALID_DEVICE) << wild;
    EXPECT_EQ(cu<Cu::cuDeviceGet>(&device, wild), CUDA_ERROR_INVALID_DEVICE) << wild;
    EXPECT_EQ(cu<Cu::cuDevicePrimaryCtxRetain>(&context, wild), CUDA_ERROR_INVALID_DEVICE) << wild;
    EXPECT_EQ(cu<Cu::cuCtxCreate_v2>(&context, 0u, wild), CUDA_ERROR_INVALID_DEVICE) << wild;
    EXPECT_NE(cu<Cu::cuDevicePrimaryCtxRelease_v2>(wild), CUDA_SUCCESS) << wild;
  }
  EXPECT_EXACT();
}

TEST_F(ShareTest, NoContext_S6InvalidContextAndNoCharge) {
  if (outside()) return;
  ASSERT_EQ(cu<Cu::cuInit>(0u), CUDA_SUCCESS);
  CUdeviceptr block = 0;
  EXPECT_EQ(cu<Cu::cuMemAlloc_v2>(&block, std::size_t{512}), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(charged(), 0u);
}

}  // namespace
}  // namespace divvy::interposer
