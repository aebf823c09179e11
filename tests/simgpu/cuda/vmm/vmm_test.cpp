// Virtual memory management: physical memory, reserved addresses, mappings and who may touch them.
#include <chrono>

#include "vmm_driver.h"

namespace divvy::simgpu {
namespace {

class Vmm : public DriverTest {};

struct PropCase {
  const char* what;
  CUmemAllocationProp prop;
  std::uint64_t bytes;
  unsigned long long flags;
  CUresult result;
};

CUmemAllocationProp onHost(CUmemLocationType type, int node, unsigned handle_types = 0) {
  CUmemAllocationProp prop = onDevice(node, handle_types);
  prop.location.type = type;
  return prop;
}

CUmemAllocationProp ofType(CUmemAllocationType type) {
  CUmemAllocationProp prop = onDevice(0);
  prop.type = type;
  return prop;
}

TEST_F(Vmm, Create_ChecksProperties) {
  runReady([] {
    const PropCase cases[] = {
        {"device", onDevice(0), kUnit, 0, CUDA_SUCCESS},
        {"posix", onDevice(0, kPosixFd), kUnit, 0, CUDA_SUCCESS},
        {"no such device", onDevice(9), kUnit, 0, CUDA_ERROR_INVALID_DEVICE},
        {"size 0", onDevice(0), 0, 0, CUDA_ERROR_INVALID_VALUE},
        {"size", onDevice(0), kUnit + 4096, 0, CUDA_ERROR_INVALID_VALUE},
        {"flags", onDevice(0), kUnit, 1, CUDA_ERROR_INVALID_VALUE},
        {"fabric", onDevice(0, CU_MEM_HANDLE_TYPE_FABRIC), kUnit, 0, CUDA_ERROR_NOT_SUPPORTED},
        {"handle type", onDevice(0, 64), kUnit, 0, CUDA_ERROR_INVALID_VALUE},
        {"type", ofType(CU_MEM_ALLOCATION_TYPE_INVALID), kUnit, 0, CUDA_ERROR_INVALID_VALUE},
        {"host", onHost(CU_MEM_LOCATION_TYPE_HOST, 7), kUnit, 0, CUDA_SUCCESS},
        {"host is not shareable", onHost(CU_MEM_LOCATION_TYPE_HOST, 0, kPosixFd), kUnit, 0,
         CUDA_ERROR_INVALID_VALUE},
        {"node", onHost(CU_MEM_LOCATION_TYPE_HOST_NUMA, 0, kPosixFd), kUnit, 0, CUDA_SUCCESS},
        {"no such node", onHost(CU_MEM_LOCATION_TYPE_HOST_NUMA, 999), kUnit, 0,
         CUDA_ERROR_INVALID_VALUE},
        {"current node", onHost(CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT, 0), kUnit, 0,
         CUDA_ERROR_INVALID_VALUE},
        {"more than the card", onDevice(0), 512 * kGiB, 0, CUDA_ERROR_OUT_OF_MEMORY},
    };
    for (const PropCase& c : cases) {
      CUmemGenericAllocationHandle handle = 0;
      EXPECT_EQ(cu<Cu::cuMemCreate>(&handle, size_t{c.bytes}, &c.prop, c.flags), c.result)
          << c.what;
      const bool on_card = c.prop.location.type == CU_MEM_LOCATION_TYPE_DEVICE;
      const std::uint64_t charged = c.result == CUDA_SUCCESS && on_card ? c.bytes : 0;
      EXPECT_EQ(booked(Charge::kVmm), charged) << c.what;
      if (c.result == CUDA_SUCCESS) {
        EXPECT_EQ(cu<Cu::cuMemRelease>(handle), CUDA_SUCCESS) << c.what;
      }
      EXPECT_EQ(booked(Charge::kVmm), 0U) << c.what;
    }
  });
}

TEST_F(Vmm, Granularity_2MiBAndPropertiesRead) {
  runReady([] {
    CUmemAllocationProp prop = onDevice(0, kPosixFd);
    prop.allocFlags.compressionType = CU_MEM_ALLOCATION_COMP_GENERIC;
    size_t unit = 0;
    for (const auto option :
         {CU_MEM_ALLOC_GRANULARITY_MINIMUM, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED}) {
      EXPECT_EQ(cu<Cu::cuMemGetAllocationGranularity>(&unit, &prop, option), CUDA_SUCCESS);
      EXPECT_EQ(unit, kUnit);
    }
    CUmemGenericAllocationHandle handle = 0;
    ASSERT_EQ(cu<Cu::cuMemCreate>(&handle, size_t{kUnit}, &prop, 0ULL), CUDA_SUCCESS);
    CUmemAllocationProp back{};
    EXPECT_EQ(cu<Cu::cuMemGetAllocationPropertiesFromHandle>(&back, handle), CUDA_SUCCESS);
    EXPECT_EQ(back.location.id, 0);
    EXPECT_EQ(static_cast<unsigned>(back.requestedHandleTypes), kPosixFd);
    EXPECT_EQ(back.allocFlags.compressionType, CU_MEM_ALLOCATION_COMP_NONE) << "not granted";
    EXPECT_EQ(cu<Cu::cuMemRelease>(handle), CUDA_SUCCESS);
    EXPECT_EQ(cu<Cu::cuMemGetAllocationPropertiesFromHandle>(&back, handle),
              CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(cu<Cu::cuMemRelease>(handle), CUDA_ERROR_INVALID_VALUE) << "released twice";
  });
}

TEST_F(Vmm, Reservations_AlignedHintedFreedFully) {
  runReady([] {
    CUdeviceptr a = 0;
    for (const size_t alignment : {size_t{0}, size_t{4096}, size_t{64 * kMiB}, size_t{kGiB}}) {
      ASSERT_EQ(cu<Cu::cuMemAddressReserve>(&a, size_t{kUnit}, alignment, CUdeviceptr{0}, 0ULL),
                CUDA_SUCCESS);
      EXPECT_EQ(a % std::max<size_t>(alignment, kUnit), 0U);
      EXPECT_EQ(cu<Cu::cuMemAddressFree>(a, size_t{kUnit}), CUDA_SUCCESS);
    }
    EXPECT_EQ(cu<Cu::cuMemAddressReserve>(&a, size_t{kUnit}, size_t{3}, CUdeviceptr{0}, 0ULL),
              CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(cu<Cu::cuMemAddressReserve>(&a, size_t{100}, size_t{0}, CUdeviceptr{0}, 0ULL),
              CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(cu<Cu::cuMemAddressReserve>(&a, size_t{kUnit}, size_t{0}, CUdeviceptr{0}, 1ULL),
              CUDA_ERROR_INVALID_VALUE);
    const CUdeviceptr first = reserve(8 * kUnit);
    EXPECT_NE(reserve(kUnit, first), first) << "a hint that is taken leads elsewhere";
    EXPECT_EQ(cu<Cu::cuMemAddressFree>(first, size_t{kUnit}), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(cu<Cu::cuMemAddressFree>(first + kUnit, size_t{7 * kUnit}), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(cu<Cu::cuMemAddressFree>(first, size_t{8 * kUnit}), CUDA_SUCCESS);
    EXPECT_EQ(reserve(8 * kUnit, first), first) << "a hint that is free is followed";
    EXPECT_EQ(booked(Charge::kVmm), 0U) << "addresses take nothing of the card";
  });
}

// What a call takes of the card's time at least, where a card's second takes 1000 of ours.
template <typename Call>
std::uint64_t cardTimeOf(Call call) {
  const auto before = std::chrono::steady_clock::now();
  EXPECT_EQ(call(), CUDA_SUCCESS);
  const std::chrono::nanoseconds passed = std::chrono::steady_clock::now() - before;
  return static_cast<std::uint64_t>(passed.count()) / 1000;
}

TEST_F(Vmm, Calls_TakeCardsTime) {
  runReady(
      [] {
        const CUmemAllocationProp prop = onDevice(0);
        CUmemGenericAllocationHandle handle = 0;
        const CUdeviceptr p = reserve(kUnit);
        EXPECT_GE(
            cardTimeOf([&] { return cu<Cu::cuMemCreate>(&handle, size_t{kUnit}, &prop, 0ULL); }),
            193'000U);
        EXPECT_GE(cardTimeOf([&] { return map(p, kUnit, handle); }), 1'450U);
        EXPECT_GE(cardTimeOf([&] { return allow(p, kUnit, kRw); }), 36'000U);
        EXPECT_GE(cardTimeOf([&] { return cu<Cu::cuMemUnmap>(p, size_t{kUnit}); }), 25'600U);
      },
      {{"SIMGPU_TIME_SCALE", "0.001"}});
}

TEST_F(Vmm, Map_NeedsReservedAlignedUnmapped) {
  runReady([] {
    const CUdeviceptr range = reserve(4 * kUnit);
    const auto handle = create(2 * kUnit);
    struct Case {
      const char* what;
      CUdeviceptr at;
      std::uint64_t bytes;
      std::uint64_t offset;
      CUmemGenericAllocationHandle handle;
    };
    const Case refused[] = {
        {"not aligned", range + 4096, kUnit, 0, handle},
        {"size", range, kUnit + 4096, 0, handle},
        {"size 0", range, 0, 0, handle},
        {"offset", range, kUnit, kUnit, handle},
        {"larger than the memory", range, 3 * kUnit, 0, handle},
        {"beyond the reservation", range + 3 * kUnit, 2 * kUnit, 0, handle},
        {"not reserved", CUdeviceptr{64 * kUnit}, kUnit, 0, handle},
        {"no such handle", range, kUnit, 0, handle + 1000},
    };
    for (const Case& c : refused) {
      EXPECT_EQ(cu<Cu::cuMemMap>(c.at, size_t{c.bytes}, size_t{c.offset}, c.handle, 0ULL),
                CUDA_ERROR_INVALID_VALUE)
          << c.what;
    }
    EXPECT_EQ(map(range + kUnit, 2 * kUnit, handle), CUDA_SUCCESS);
    EXPECT_EQ(map(range + 2 * kUnit, kUnit, handle), CUDA_ERROR_INVALID_VALUE) << "mapped";
    EXPECT_EQ(map(range, 2 * kUnit, handle), CUDA_ERROR_INVALID_VALUE) << "mapped in part";
    EXPECT_EQ(map(range, kUnit, handle), CUDA_SUCCESS) << "the beginning, a second time";
    EXPECT_EQ(cu<Cu::cuMemAddressFree>(range, size_t{4 * kUnit}), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(cu<Cu::cuMemUnmap>(range + kUnit, size_t{kUnit}), CUDA_ERROR_INVALID_VALUE)
        << "part of a mapping";
    EXPECT_EQ(cu<Cu::cuMemUnmap>(range, size_t{4 * kUnit}), CUDA_ERROR_INVALID_VALUE) << "a gap";
    EXPECT_EQ(cu<Cu::cuMemUnmap>(range, size_t{3 * kUnit}), CUDA_SUCCESS) << "both at once";
    EXPECT_EQ(map(range, 2 * kUnit, handle), CUDA_SUCCESS) << "reserved again";
  });
}

TEST_F(Vmm, Memory_LivesWhileReferenced) {
  runReady([] {
    const auto handle = create(kUnit);
    const CUdeviceptr p = mapNew(kUnit, handle);
    EXPECT_EQ(cu<Cu::cuMemRelease>(handle), CUDA_SUCCESS);
    EXPECT_EQ(booked(Charge::kVmm), kUnit) << "mapped";
    EXPECT_EQ(map(reserve(kUnit), kUnit, handle), CUDA_ERROR_INVALID_VALUE) << "handle is gone";
    CUmemGenericAllocationHandle again = 0;
    auto* inside = reinterpret_cast<void*>(p + 1000);
    EXPECT_EQ(cu<Cu::cuMemRetainAllocationHandle>(&again, inside), CUDA_SUCCESS);
    EXPECT_EQ(again, handle) << "the value that it was mapped with";
    EXPECT_EQ(cu<Cu::cuMemRetainAllocationHandle>(&again, inside), CUDA_SUCCESS);
    EXPECT_EQ(cu<Cu::cuMemUnmap>(p, size_t{kUnit}), CUDA_SUCCESS);
    EXPECT_EQ(cu<Cu::cuMemRetainAllocationHandle>(&again, inside), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(cu<Cu::cuMemRelease>(handle), CUDA_SUCCESS);
    EXPECT_EQ(booked(Charge::kVmm), kUnit) << "one reference left";
    EXPECT_EQ(cu<Cu::cuMemRelease>(handle), CUDA_SUCCESS);
    EXPECT_EQ(booked(Charge::kVmm), 0U);
    EXPECT_EQ(cu<Cu::cuMemRelease>(handle), CUDA_ERROR_INVALID_VALUE);
  });
}

TEST_F(Vmm, Access_NoneUntilSetPerMapping) {
  runReady([] {
    const CUdeviceptr p = reserve(3 * kUnit);
    ASSERT_EQ(map(p, 2 * kUnit, create(2 * kUnit)), CUDA_SUCCESS);
    const auto flagsAt = [&](CUdeviceptr at) {
      const CUmemLocation location = onDevice(0).location;
      unsigned long long flags = 99;
      EXPECT_EQ(cu<Cu::cuMemGetAccess>(&flags, &location, at), CUDA_SUCCESS);
      return flags;
    };
    EXPECT_EQ(flagsAt(p), CU_MEM_ACCESS_FLAGS_PROT_NONE);
    EXPECT_EQ(allow(p, kUnit, kRw), CUDA_ERROR_INVALID_VALUE) << "part of a mapping";
    EXPECT_EQ(allow(p, 3 * kUnit, kRw), CUDA_ERROR_INVALID_VALUE) << "not mapped to the end";
    EXPECT_EQ(allow(p, 2 * kUnit, 2), CUDA_ERROR_INVALID_VALUE) << "no such access";
    EXPECT_EQ(allow(p, 2 * kUnit, kRw, 5), CUDA_ERROR_INVALID_DEVICE);
    CUmemAccessDesc host = accessOf(0, kRw);
    host.location.type = CU_MEM_LOCATION_TYPE_HOST_NUMA;
    EXPECT_EQ(cu<Cu::cuMemSetAccess>(p, size_t{2 * kUnit}, &host, size_t{1}),
              CUDA_ERROR_INVALID_VALUE)
        << "device memory is not for the host";
    EXPECT_EQ(flagsAt(p), CU_MEM_ACCESS_FLAGS_PROT_NONE) << "a refusal changes nothing";
    EXPECT_EQ(allow(p, 2 * kUnit, kRw), CUDA_SUCCESS);
    EXPECT_EQ(flagsAt(p + kUnit + 5), CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    EXPECT_EQ(cu<Cu::cuMemUnmap>(p, size_t{2 * kUnit}), CUDA_SUCCESS);
    ASSERT_EQ(map(p, kUnit, create(kUnit)), CUDA_SUCCESS);
    EXPECT_EQ(flagsAt(p), CU_MEM_ACCESS_FLAGS_PROT_NONE) << "every mapping starts without";
  });
}

TEST_F(Vmm, MappedRange_KnownButNotFreeable) {
  runReady([] {
    const CUdeviceptr p = reserve(4 * kUnit);
    ASSERT_EQ(map(p + kUnit, 2 * kUnit, create(2 * kUnit)), CUDA_SUCCESS);
    CUdeviceptr base = 0;
    size_t bytes = 0;
    EXPECT_EQ(cu<Cu::cuMemGetAddressRange_v2>(&base, &bytes, p + 2 * kUnit), CUDA_SUCCESS);
    EXPECT_EQ(base, p + kUnit);
    EXPECT_EQ(bytes, 2 * kUnit);
    EXPECT_EQ(cu<Cu::cuMemGetAddressRange_v2>(&base, &bytes, p), CUDA_ERROR_NOT_FOUND)
        << "only reserved";
    EXPECT_EQ(cu<Cu::cuMemFree_v2>(p + kUnit), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(booked(Charge::kVmm), 2 * kUnit);
    int fd = -1;
    EXPECT_EQ(cu<Cu::cuMemGetHandleForAddressRange>(static_cast<void*>(&fd), p + kUnit,
                                                    size_t{kUnit}, CUmemRangeHandleType{1}, 0ULL),
              CUDA_ERROR_NOT_SUPPORTED);
    CUmemGenericAllocationHandle multicast = 0;
    CUmulticastObjectProp prop{2, kUnit, 0, 0};
    EXPECT_EQ(cu<Cu::cuMulticastCreate>(&multicast, &prop), CUDA_ERROR_NOT_SUPPORTED);
  });
}

TEST_F(Vmm, HostMemory_ZeroedAndHostUsable) {
  runReady([] {
    const CUmemAllocationProp prop = onHost(CU_MEM_LOCATION_TYPE_HOST_NUMA, 0);
    CUmemAccessDesc host = accessOf(0, kRw);
    host.location.type = CU_MEM_LOCATION_TYPE_HOST_NUMA;
    for (int round = 0; round < 2; ++round) {  // the second reuses what the first wrote
      CUmemGenericAllocationHandle handle = 0;
      ASSERT_EQ(cu<Cu::cuMemCreate>(&handle, size_t{kUnit}, &prop, 0ULL), CUDA_SUCCESS);
      const CUdeviceptr a = reserve(2 * kUnit);
      const CUdeviceptr b = a + kUnit;
      ASSERT_EQ(map(a, kUnit, handle), CUDA_SUCCESS);
      ASSERT_EQ(map(b, kUnit, handle), CUDA_SUCCESS);
      ASSERT_EQ(cu<Cu::cuMemSetAccess>(a, size_t{2 * kUnit}, &host, size_t{1}), CUDA_SUCCESS);
      auto* first = reinterpret_cast<unsigned char*>(a);
      auto* second = reinterpret_cast<unsigned char*>(b);
      EXPECT_EQ(first[0] + first[kUnit - 1], 0) << "fresh, round " << round;
      first[123] = 7;
      EXPECT_EQ(second[123], 7) << "two addresses, one memory";
      EXPECT_EQ(cu<Cu::cuMemUnmap>(a, size_t{2 * kUnit}), CUDA_SUCCESS);
      EXPECT_EQ(cu<Cu::cuMemRelease>(handle), CUDA_SUCCESS);
      EXPECT_EQ(cu<Cu::cuMemAddressFree>(a, size_t{2 * kUnit}), CUDA_SUCCESS);
    }
    EXPECT_EQ(booked(Charge::kVmm), 0U);
  });
}

class VmmPeers : public DriverTest {
 protected:
  std::string profile() const override { return "rtx4070x2"; }
};

TEST_F(VmmPeers, EachDevice_HasOwnAccess) {
  runReady([] {
    const auto handle = create(kUnit);
    const CUdeviceptr p = mapNew(kUnit, handle);
    const CUmemLocation peer = onDevice(1).location;
    unsigned long long flags = 99;
    EXPECT_EQ(cu<Cu::cuMemGetAccess>(&flags, &peer, p), CUDA_SUCCESS);
    EXPECT_EQ(flags, CU_MEM_ACCESS_FLAGS_PROT_NONE);
    EXPECT_EQ(allow(p, kUnit, CU_MEM_ACCESS_FLAGS_PROT_READ, 1), CUDA_SUCCESS);
    EXPECT_EQ(cu<Cu::cuMemGetAccess>(&flags, &peer, p), CUDA_SUCCESS);
    EXPECT_EQ(flags, CU_MEM_ACCESS_FLAGS_PROT_READ);
  });
}

}  // namespace
}  // namespace divvy::simgpu
