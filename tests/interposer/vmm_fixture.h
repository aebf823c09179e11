// Tests of memory that is made by handles and can be swapped.
#pragma once

#include "swap_fixture.h"

namespace divvy::interposer {

using ledger::PinReason;
using Handle = CUmemGenericAllocationHandle;

inline constexpr std::uint64_t kUnit = 2 * kMiB;
inline constexpr unsigned kRead = CU_MEM_ACCESS_FLAGS_PROT_READ;
inline constexpr unsigned kWrite = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;

class VmmSwapTest : public SwapTest {
 protected:
  static CUmemAllocationProp memoryOf(int device = 0) {
    CUmemAllocationProp prop{};
    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    prop.location.id = device;
    return prop;
  }
  static CUmemAllocationProp exportable() {
    CUmemAllocationProp prop = memoryOf();
    prop.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    return prop;
  }
  // Memory that we leave to the driver, of which the driver tells what it tells of any.
  static CUmemAllocationProp staying() {
    CUmemAllocationProp prop = memoryOf();
    prop.allocFlags.usage = CU_MEM_CREATE_USAGE_TILE_POOL;
    return prop;
  }
  static Handle create(std::uint64_t bytes, const CUmemAllocationProp& prop = memoryOf()) {
    Handle handle = 0;
    EXPECT_EQ(cu<Cu::cuMemCreate>(&handle, std::size_t{bytes}, &prop, 0ull), CUDA_SUCCESS);
    return handle;
  }
  static CUdeviceptr addresses(std::uint64_t bytes) {
    CUdeviceptr address = 0;
    EXPECT_EQ(cu<Cu::cuMemAddressReserve>(&address, std::size_t{bytes}, std::size_t{0},
                                          CUdeviceptr{0}, 0ull),
              CUDA_SUCCESS);
    return address;
  }
  static CUresult map(CUdeviceptr address, std::uint64_t bytes, Handle handle,
                      std::uint64_t offset = 0) {
    return cu<Cu::cuMemMap>(address, std::size_t{bytes}, std::size_t{offset}, handle, 0ull);
  }
  static CUresult unmap(CUdeviceptr address, std::uint64_t bytes) {
    return cu<Cu::cuMemUnmap>(address, std::size_t{bytes});
  }
  static CUresult open(CUdeviceptr address, std::uint64_t bytes, unsigned flags = kWrite,
                       int device = 0) {
    CUmemAccessDesc desc{};
    desc.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    desc.location.id = device;
    desc.flags = static_cast<CUmemAccess_flags>(flags);
    const CUmemAccessDesc& asked = desc;
    return cu<Cu::cuMemSetAccess>(address, std::size_t{bytes}, &asked, std::size_t{1});
  }
  static unsigned accessOf(CUdeviceptr address, int device = 0) {
    CUmemLocation location{};
    location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    location.id = device;
    const CUmemLocation& asked = location;
    unsigned long long flags = 99;
    EXPECT_EQ(cu<Cu::cuMemGetAccess>(&flags, &asked, address), CUDA_SUCCESS);
    return static_cast<unsigned>(flags);
  }
  static CUresult release(Handle handle) { return cu<Cu::cuMemRelease>(handle); }

  static CUdeviceptr mapped(std::uint64_t bytes, Handle handle) {
    const CUdeviceptr address = addresses(bytes);
    EXPECT_EQ(map(address, bytes, handle), CUDA_SUCCESS);
    EXPECT_EQ(open(address, bytes), CUDA_SUCCESS);
    return address;
  }
  static CUresult write(CUdeviceptr address, std::uint64_t bytes, unsigned seed) {
    const auto words = pattern(bytes, seed);
    return cu<Cu::cuMemcpyHtoD_v2>(address, static_cast<const void*>(words.data()),
                                   std::size_t{bytes});
  }
  static void outAndIn(std::uint64_t bytes) {
    allow(0);
    ASSERT_TRUE(becomesResident(0));
    allow(kEverything);
    ASSERT_TRUE(becomesResident(bytes));
  }
};

}  // namespace divvy::interposer
