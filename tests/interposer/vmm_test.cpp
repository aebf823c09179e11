// I4, I8: physical memory is charged while a handle or a mapping keeps it alive.
#include <unistd.h>

#include "tenant_test.h"

namespace divvy::interposer {
namespace {

constexpr std::size_t kChunk = 32 * kMiB;
using Handle = CUmemGenericAllocationHandle;

class VmmTest : public TenantTest {
 protected:
  static CUmemAllocationProp deviceMemory(int device = 0, bool exportable = false) {
    CUmemAllocationProp prop{};
    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    prop.location.id = device;
    if (exportable) prop.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    return prop;
  }
  static CUresult tryCreate(Handle* handle, std::size_t bytes, bool exportable = false) {
    const CUmemAllocationProp prop = deviceMemory(0, exportable);
    return cu<Cu::cuMemCreate>(handle, bytes, &prop, 0ull);
  }
  static Handle create(std::size_t bytes = kChunk, bool exportable = false) {
    Handle handle = 0;
    EXPECT_EQ(tryCreate(&handle, bytes, exportable), CUDA_SUCCESS);
    return handle;
  }
  static CUdeviceptr addresses(std::size_t bytes) {
    CUdeviceptr address = 0;
    EXPECT_EQ(cu<Cu::cuMemAddressReserve>(&address, bytes, std::size_t{0}, CUdeviceptr{0}, 0ull),
              CUDA_SUCCESS);
    return address;
  }
  static void map(CUdeviceptr address, Handle handle, std::size_t bytes = kChunk) {
    ASSERT_EQ(cu<Cu::cuMemMap>(address, bytes, std::size_t{0}, handle, 0ull), CUDA_SUCCESS);
  }
  static void unmap(CUdeviceptr address, std::size_t bytes = kChunk) {
    ASSERT_EQ(cu<Cu::cuMemUnmap>(address, bytes), CUDA_SUCCESS);
  }
  static void release(Handle handle) { ASSERT_EQ(cu<Cu::cuMemRelease>(handle), CUDA_SUCCESS); }
};

TEST_F(VmmTest, Handle_I4ChargedUntilReleased) {
  if (outside()) return;
  makeReady();
  const std::uint64_t before = charged();
  const Handle handle = create();
  EXPECT_EQ(charged(), before + kChunk);
  EXPECT_EXACT();
  release(handle);
  EXPECT_EQ(charged(), before);
  EXPECT_EXACT();
  EXPECT_NE(cu<Cu::cuMemRelease>(handle), CUDA_SUCCESS);
  EXPECT_EQ(charged(), before);
}

TEST_F(VmmTest, ReserveAndMap_I4NotCharged) {
  if (outside()) return;
  makeReady();
  const CUdeviceptr address = addresses(64 * kGiB);
  const Handle handle = create();
  const std::uint64_t held = charged();
  map(address, handle);
  map(address + kChunk, handle);
  EXPECT_EQ(charged(), held);
  EXPECT_EXACT();
  unmap(address, 2 * kChunk);
  EXPECT_EQ(charged(), held);
  release(handle);
  EXPECT_EXACT();
  EXPECT_EQ(cu<Cu::cuMemAddressFree>(address, std::size_t{64 * kGiB}), CUDA_SUCCESS);
}

// As PyTorch's expandable segments and many others do: the handle goes first, the mapping holds.
TEST_F(VmmTest, ReleasedHandle_I4ChargedWhileMapped) {
  if (outside()) return;
  makeReady();
  const std::uint64_t before = charged();
  const CUdeviceptr address = addresses(4 * kChunk);
  const Handle first = create(), second = create();
  map(address, first);
  map(address + kChunk, second);
  release(first);
  release(second);
  EXPECT_EQ(charged(), before + 2 * kChunk);
  EXPECT_EXACT();
  unmap(address, 2 * kChunk);  // two mappings in one call
  EXPECT_EQ(charged(), before);
  EXPECT_EXACT();
}

TEST_F(VmmTest, RetainedHandle_I8KeepsCharge) {
  if (outside()) return;
  makeReady();
  const std::uint64_t before = charged();
  const CUdeviceptr address = addresses(kChunk);
  const Handle handle = create();
  map(address, handle);
  Handle again = 0;
  ASSERT_EQ(cu<Cu::cuMemRetainAllocationHandle>(&again, reinterpret_cast<void*>(address + 4096)),
            CUDA_SUCCESS);
  release(handle);
  unmap(address);
  EXPECT_EQ(charged(), before + kChunk);
  EXPECT_EXACT();
  release(again);
  EXPECT_EQ(charged(), before);
  EXPECT_EXACT();
}

// The handle that a mapping gives back after its own was released need not be the same number.
TEST_F(VmmTest, RetainedAfterRelease_I8ReleasedOnce) {
  if (outside()) return;
  makeReady();
  const std::uint64_t before = charged();
  const CUdeviceptr address = addresses(kChunk);
  const Handle handle = create();
  map(address, handle);
  release(handle);
  Handle again = 0;
  ASSERT_EQ(cu<Cu::cuMemRetainAllocationHandle>(&again, reinterpret_cast<void*>(address)),
            CUDA_SUCCESS);
  unmap(address);
  EXPECT_EXACT();
  release(again);
  EXPECT_EQ(charged(), before);
  EXPECT_EXACT();
}

TEST_F(VmmTest, OverShareOrInvalid_S5DriversErrorCodes) {
  if (outside({.ceiling = kGiB})) return;
  makeReady();
  const std::uint64_t before = charged();
  Handle handle = 0;
  EXPECT_EQ(tryCreate(&handle, kGiB), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(tryCreate(&handle, 12345), CUDA_ERROR_INVALID_VALUE) << "no multiple of the granule";
  const CUmemAllocationProp foreign = deviceMemory(7);
  EXPECT_EQ(cu<Cu::cuMemCreate>(&handle, kChunk, &foreign, 0ull), CUDA_ERROR_INVALID_DEVICE);
  EXPECT_EQ(
      cu<Cu::cuMemCreate>(&handle, kChunk, static_cast<const CUmemAllocationProp*>(nullptr), 0ull),
      CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(charged(), before);
  EXPECT_NE(cu<Cu::cuMemMap>(CUdeviceptr{4096}, kChunk, std::size_t{0}, create(), 0ull),
            CUDA_SUCCESS);
  EXPECT_NE(cu<Cu::cuMemUnmap>(CUdeviceptr{4096}, kChunk), CUDA_SUCCESS);
  EXPECT_EQ(charged(), before + kChunk);
  EXPECT_EXACT();
}

// NCCL and others hand handles to themselves and to others: an import costs its exporter, and the
// handle works.
TEST_F(VmmTest, ExportAndImport_I8ChargedOnce) {
  if (outside()) return;
  makeReady();
  const std::uint64_t before = charged();
  const Handle handle = create(kChunk, true);
  int descriptor = -1;
  ASSERT_EQ(cu<Cu::cuMemExportToShareableHandle>(static_cast<void*>(&descriptor), handle,
                                                 CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0ull),
            CUDA_SUCCESS);
  Handle imported = 0;
  ASSERT_EQ(cu<Cu::cuMemImportFromShareableHandle>(
                &imported, reinterpret_cast<void*>(static_cast<std::intptr_t>(descriptor)),
                CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR),
            CUDA_SUCCESS);
  EXPECT_EQ(charged(), before + kChunk);
  const CUdeviceptr address = addresses(kChunk);
  map(address, imported);
  unmap(address);
  release(imported);
  release(handle);
  ::close(descriptor);
  EXPECT_EQ(charged(), before);
}

TEST_F(VmmTest, HostMemoryByHandle_NotCharged) {
  if (outside({.ceiling = 300 * kMiB})) return;
  makeReady();
  const std::uint64_t before = charged();
  CUmemAllocationProp prop = deviceMemory();
  prop.location.type = CU_MEM_LOCATION_TYPE_HOST_NUMA;
  prop.requestedHandleTypes = CU_MEM_HANDLE_TYPE_NONE;
  Handle handle = 0;
  const CUmemAllocationProp& asked = prop;
  const CUresult result = cu<Cu::cuMemCreate>(&handle, std::size_t{500 * kMiB}, &asked, 0ull);
  EXPECT_NE(result, CUDA_ERROR_OUT_OF_MEMORY);
  if (result == CUDA_SUCCESS) release(handle);
  EXPECT_EQ(charged(), before);
}

TEST_F(VmmTest, ThousandsOfHandles_ChargeEqualsBooking) {
  if (outside({.ceiling = 9 * kGiB})) return;
  makeReady();
  const std::uint64_t before = charged();
  constexpr std::size_t kSmall = 2 * kMiB;
  constexpr std::size_t kCount = 3000;
  const CUdeviceptr address = addresses(kCount * kSmall);
  for (std::size_t i = 0; i < kCount; ++i) {
    const Handle handle = create(kSmall);
    map(address + i * kSmall, handle, kSmall);
    if (i % 2 == 0) release(handle);
  }
  EXPECT_EQ(charged(), before + kCount * kSmall);
  EXPECT_EXACT();
  unmap(address, kCount * kSmall);
  EXPECT_EQ(charged(), before + kCount / 2 * kSmall) << "the handles that were not released";
  EXPECT_EXACT();
}

}  // namespace
}  // namespace divvy::interposer
