// P1.3: what an application can ask about an address is answered of memory that can be swapped as
// of plain memory.
#include <unistd.h>

#include <set>

#include "ledger/pins.h"
#include "ledger/residency_pages.h"
#include "tenant_test.h"

namespace divvy::interposer {
namespace {

constexpr std::size_t kPlain = 1 * kMiB;
constexpr std::size_t kSmall = 3000;  // a piece of an arena
constexpr std::size_t kLarge = 70 * kMiB + 5;

class PointerQueryTest : public TenantTest {
 protected:
  static Tenancy swappable() {
    Tenancy tenancy;
    tenancy.swap = true;
    return tenancy;
  }

  static CUdeviceptr allocate(std::size_t bytes) {
    CUdeviceptr block = 0;
    EXPECT_EQ(cu<Cu::cuMemAlloc_v2>(&block, bytes), CUDA_SUCCESS);
    return block;
  }

  // The driver's own, past the interposer.
  static CUdeviceptr allocateNative(std::size_t bytes) {
    // By a name that is no driver's.
    const std::string name = tenantDir() + "/bare.so";
    EXPECT_EQ(::symlink(control().driver_path, name.c_str()), 0);
    void* const driver = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    EXPECT_NE(driver, nullptr) << ::dlerror();
    auto* const allocate =
        reinterpret_cast<abi::CuFn<Cu::cuMemAlloc_v2>::type*>(::dlsym(driver, "cuMemAlloc_v2"));
    CUdeviceptr block = 0;
    EXPECT_EQ(allocate(&block, bytes), CUDA_SUCCESS);
    return block;
  }

  struct Told {
    CUresult result;
    std::uint64_t value;
    bool operator==(const Told&) const = default;
  };
  // The marks around the value are to be left alone: no more bytes than native memory writes.
  static Told ask(CUpointer_attribute attribute, CUdeviceptr address) {
    std::uint64_t value = 0x5a5a'5a5a'5a5a'5a5a;
    const CUresult result =
        cu<Cu::cuPointerGetAttribute>(static_cast<void*>(&value), attribute, address);
    return {result, value};
  }

  // What the process shows on the swap page.
  static ledger::SwapSample shown() {
    ledger::SwapSample sample;
    auto pages = ledger::ResidencyPages::open(tenantDir());
    EXPECT_TRUE(pages) << pages.error().message();
    bool found = false;
    for (unsigned slot = 0; slot < 64 && !found; ++slot) found = pages->read(slot, 0, &sample);
    EXPECT_TRUE(found);
    return sample;
  }
};

TEST_F(PointerQueryTest, Attributes_SameAsOfNativeMemory) {
  if (outside(swappable())) return;
  makeReady();
  const CUdeviceptr plain = allocateNative(kPlain), large = allocate(kLarge);
  const CUdeviceptr other = allocate(700), small = allocate(kSmall);
  ASSERT_EQ(booked(Charge::kVmm), 74 * kMiB) << "72, and an arena";
  ASSERT_EQ(booked(Charge::kPlain), kPlain);
  ASSERT_NE(other, small);
  for (const auto attribute :
       {CU_POINTER_ATTRIBUTE_CONTEXT, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
        CU_POINTER_ATTRIBUTE_HOST_POINTER, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS,
        CU_POINTER_ATTRIBUTE_IS_MANAGED, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
        CU_POINTER_ATTRIBUTE_MAPPED, CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES,
        CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE, CU_POINTER_ATTRIBUTE_ACCESS_FLAGS,
        CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE,
        CU_POINTER_ATTRIBUTE_LOCALITY_DOMAIN_ORDINAL, CU_POINTER_ATTRIBUTE_P2P_TOKENS,
        CUpointer_attribute{77}}) {
    EXPECT_EQ(ask(attribute, large), ask(attribute, plain)) << "attribute " << attribute;
    EXPECT_EQ(ask(attribute, small), ask(attribute, plain)) << "attribute " << attribute;
    EXPECT_EQ(ask(attribute, small + kSmall / 2), ask(attribute, plain + kPlain / 2))
        << "attribute " << attribute;
    EXPECT_EQ(ask(attribute, large + kLarge / 2), ask(attribute, plain + kPlain / 2))
        << "attribute " << attribute;
  }
  EXPECT_EQ(ask(CU_POINTER_ATTRIBUTE_DEVICE_POINTER, large + 77), (Told{CUDA_SUCCESS, large + 77}));
  for (const auto attribute :
       {CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR}) {
    EXPECT_EQ(ask(attribute, large + kLarge - 1), (Told{CUDA_SUCCESS, large}));
    EXPECT_EQ(ask(attribute, small + kSmall - 1), (Told{CUDA_SUCCESS, small}));
    EXPECT_EQ(ask(attribute, other), (Told{CUDA_SUCCESS, other}));
  }
  for (const auto attribute :
       {CU_POINTER_ATTRIBUTE_RANGE_SIZE, CU_POINTER_ATTRIBUTE_MAPPING_SIZE}) {
    EXPECT_EQ(ask(attribute, large + kLarge - 1), (Told{CUDA_SUCCESS, kLarge}));
    EXPECT_EQ(ask(attribute, small + kSmall - 1), (Told{CUDA_SUCCESS, kSmall}));
    EXPECT_EQ(ask(attribute, other + 600), (Told{CUDA_SUCCESS, 700}));
  }
}

// Of an arena the driver knows more than the application may.
TEST_F(PointerQueryTest, ArenaSpaceWithoutBlock_AnsweredAsUnknown) {
  if (outside(swappable())) return;
  makeReady();
  const CUdeviceptr small = allocate(kSmall), freed = allocate(700);
  ASSERT_EQ(cu<Cu::cuMemFree_v2>(freed), CUDA_SUCCESS);
  ASSERT_EQ(booked(Charge::kVmm), 2 * kMiB);
  for (const CUdeviceptr nowhere : {freed, small + kMiB}) {
    for (const auto attribute : {CU_POINTER_ATTRIBUTE_CONTEXT, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                 CU_POINTER_ATTRIBUTE_RANGE_SIZE, CU_POINTER_ATTRIBUTE_BUFFER_ID}) {
      EXPECT_EQ(ask(attribute, nowhere), ask(attribute, 0x123450000)) << attribute;
    }
    CUdeviceptr base = 0;
    std::size_t bytes = 0;
    EXPECT_EQ(cu<Cu::cuMemGetAddressRange_v2>(&base, &bytes, nowhere),
              cu<Cu::cuMemGetAddressRange_v2>(&base, &bytes, CUdeviceptr{0x123450000}));
    CUpointer_attribute type = CU_POINTER_ATTRIBUTE_MEMORY_TYPE;
    std::uint32_t value = 77;
    void* data = &value;
    EXPECT_EQ(cu<Cu::cuPointerGetAttributes>(1u, &type, &data, nowhere), CUDA_SUCCESS);
    EXPECT_EQ(value, 0u);
    EXPECT_EQ(cu<Cu::cuMemFree_v2>(nowhere), CUDA_ERROR_INVALID_VALUE);
  }
}

TEST_F(PointerQueryTest, BufferIds_UniquePerBlock) {
  if (outside(swappable())) return;
  makeReady();
  std::set<std::uint64_t> numbers;
  for (int i = 0; i < 3; ++i) {
    for (const std::size_t bytes : {kSmall, kLarge}) {
      const CUdeviceptr block = allocate(bytes);
      numbers.insert(ask(CU_POINTER_ATTRIBUTE_BUFFER_ID, block).value);
      EXPECT_EQ(ask(CU_POINTER_ATTRIBUTE_BUFFER_ID, block),
                ask(CU_POINTER_ATTRIBUTE_BUFFER_ID, block + bytes - 1));
      EXPECT_EQ(cu<Cu::cuMemFree_v2>(block), CUDA_SUCCESS);
    }
  }
  EXPECT_EQ(numbers.size(), 6u);
}

TEST_F(PointerQueryTest, SeveralAttributesAtOnce_AllAnswered) {
  if (outside(swappable())) return;
  makeReady();
  const CUdeviceptr large = allocate(kLarge);
  CUpointer_attribute wanted[] = {
      CU_POINTER_ATTRIBUTE_RANGE_SIZE, CU_POINTER_ATTRIBUTE_HOST_POINTER,
      CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL};
  std::uint64_t size = 1, host = 1;
  std::uint32_t type = 77, ordinal = 77;
  void* data[] = {&size, &host, &type, &ordinal};
  ASSERT_EQ(cu<Cu::cuPointerGetAttributes>(4u, static_cast<CUpointer_attribute*>(wanted),
                                           static_cast<void**>(data), large + 4096),
            CUDA_SUCCESS);
  EXPECT_EQ(size, kLarge);
  EXPECT_EQ(host, 0u) << "it has none";
  EXPECT_EQ(type, std::uint32_t{CU_MEMORYTYPE_DEVICE});
  EXPECT_EQ(ordinal, 0u);
  data[1] = nullptr;
  EXPECT_EQ(cu<Cu::cuPointerGetAttributes>(4u, static_cast<CUpointer_attribute*>(wanted),
                                           static_cast<void**>(data), large),
            CUDA_ERROR_INVALID_VALUE);
}

TEST_F(PointerQueryTest, AddressRange_BlockAsRequested) {
  if (outside(swappable())) return;
  makeReady();
  const CUdeviceptr large = allocate(kLarge);
  for (const std::size_t offset : {std::size_t{0}, std::size_t{33 * kMiB}, kLarge - 1}) {
    CUdeviceptr base = 0;
    std::size_t bytes = 0;
    ASSERT_EQ(cu<Cu::cuMemGetAddressRange_v2>(&base, &bytes, large + offset), CUDA_SUCCESS);
    EXPECT_EQ(base, large);
    EXPECT_EQ(bytes, kLarge);
  }
  EXPECT_EQ(cu<Cu::cuMemGetAddressRange_v2>(static_cast<CUdeviceptr*>(nullptr),
                                            static_cast<std::size_t*>(nullptr), large),
            CUDA_SUCCESS);
  EXPECT_EQ(cu<Cu::cuMemFree_v2>(large), CUDA_SUCCESS);
  CUdeviceptr base = 0;
  std::size_t bytes = 0;
  EXPECT_NE(cu<Cu::cuMemGetAddressRange_v2>(&base, &bytes, large), CUDA_SUCCESS) << "it is gone";
}

TEST_F(PointerQueryTest, NoContext_AnswersAsNativeMemory) {
  if (outside(swappable())) return;
  makeReady();
  const CUdeviceptr large = allocate(kLarge), plain = allocateNative(kPlain);
  const CUdeviceptr small = allocate(kSmall);
  ASSERT_EQ(cu<Cu::cuCtxSetCurrent>(static_cast<CUcontext>(nullptr)), CUDA_SUCCESS);
  EXPECT_EQ(ask(CU_POINTER_ATTRIBUTE_CONTEXT, large), ask(CU_POINTER_ATTRIBUTE_CONTEXT, plain));
  EXPECT_EQ(ask(CU_POINTER_ATTRIBUTE_CONTEXT, small), ask(CU_POINTER_ATTRIBUTE_CONTEXT, plain));
  EXPECT_EQ(cu<Cu::cuMemFree_v2>(large), cu<Cu::cuMemFree_v2>(plain));
  EXPECT_EQ(cu<Cu::cuMemFree_v2>(small), cu<Cu::cuMemFree_v2>(plain));
}

// Of what a block is made of the application has no handle, and cannot get one.
TEST_F(PointerQueryTest, HandleCallsOnBlock_InvalidValue) {
  if (outside(swappable())) return;
  makeReady();
  const CUdeviceptr large = allocate(kLarge);
  CUmemGenericAllocationHandle handle = 0;
  EXPECT_EQ(cu<Cu::cuMemRetainAllocationHandle>(&handle, reinterpret_cast<void*>(large)),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cu<Cu::cuMemUnmap>(large, std::size_t{32 * kMiB}), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cu<Cu::cuMemAddressFree>(large, std::size_t{72 * kMiB}), CUDA_ERROR_INVALID_VALUE);
  CUmemAccessDesc access{};
  access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READ;
  EXPECT_EQ(cu<Cu::cuMemSetAccess>(large, std::size_t{32 * kMiB},
                                   static_cast<const CUmemAccessDesc*>(&access), std::size_t{1}),
            CUDA_ERROR_INVALID_VALUE);
  unsigned long long flags = 0;
  const CUmemLocation location = access.location;
  EXPECT_EQ(cu<Cu::cuMemGetAccess>(&flags, &location, large), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cu<Cu::cuMemsetD8_v2>(large, static_cast<unsigned char>(1), std::size_t{kLarge}),
            CUDA_SUCCESS);
  EXPECT_EXACT();
}

// Everything that costs device memory and is not swappable: what was there before the first block
// that is, and what comes after.
TEST_F(PointerQueryTest, ContextAndManagedMemory_CountedAsPinned) {
  if (outside(swappable())) return;
  makeReady();
  const std::uint64_t context = charged();
  allocate(4 * kMiB);
  EXPECT_EQ(shown().device[0].pinned, context);
  CUdeviceptr managed = 0;
  ASSERT_EQ(cu<Cu::cuMemAllocManaged>(&managed, std::size_t{8 * kMiB}, 1u), CUDA_SUCCESS);
  EXPECT_EQ(shown().device[0].pinned, context + 8 * kMiB);
  EXPECT_EQ(shown().device[0].swappable, 4 * kMiB);
  EXPECT_EQ(shown().device[0].want, 0u);
  ASSERT_EQ(cu<Cu::cuMemFree_v2>(managed), CUDA_SUCCESS);
  EXPECT_EQ(shown().device[0].pinned, context);
}

TEST_F(PointerQueryTest, NativeMemory_PinReasonsReported) {
  if (outside(swappable())) return;
  makeReady();
  CUdeviceptr managed = 0, pooled = 0;
  CUarray array = nullptr;
  ASSERT_EQ(cu<Cu::cuMemAllocManaged>(&managed, std::size_t{kMiB}, 1u), CUDA_SUCCESS);
  allocate(4 * kMiB);
  EXPECT_EQ(shown().pin_reasons, std::uint64_t{1} << 1) << "from before there was a line for it";
  // One with a bound of its own is the driver's.
  CUmemPoolProps props{};
  props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  props.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  props.maxSize = 64 * kMiB;
  CUmemoryPool pool = nullptr;
  ASSERT_EQ(cu<Cu::cuMemPoolCreate>(&pool, static_cast<const CUmemPoolProps*>(&props)),
            CUDA_SUCCESS);
  ASSERT_EQ(cu<Cu::cuMemAllocFromPoolAsync>(&pooled, std::size_t{kMiB}, pool, CUstream{nullptr}),
            CUDA_SUCCESS);
  EXPECT_EQ(shown().pin_reasons, std::uint64_t{1} << 1 | std::uint64_t{1} << 3);
  const CUDA_ARRAY_DESCRIPTOR form{64, 64, CU_AD_FORMAT_FLOAT, 1};
  ASSERT_EQ(cu<Cu::cuArrayCreate_v2>(&array, &form), CUDA_SUCCESS);
  EXPECT_EQ(shown().pin_reasons, std::uint64_t{1} << 1 | std::uint64_t{1} << 3 | 1u << 2);
}

TEST_F(PointerQueryTest, GraphMemory_PinnedWithReason) {
  if (outside(swappable())) return;
  makeReady();
  allocate(4 * kMiB);
  CUDA_MEM_ALLOC_NODE_PARAMS params{};
  params.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  params.poolProps.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  params.bytesize = 8 * kMiB;
  CUgraph graph = nullptr;
  CUgraphNode node = nullptr;
  ASSERT_EQ(cu<Cu::cuGraphCreate>(&graph, 0u), CUDA_SUCCESS);
  ASSERT_EQ(cu<Cu::cuGraphAddMemAllocNode>(&node, graph, static_cast<const CUgraphNode*>(nullptr),
                                           std::size_t{0}, &params),
            CUDA_SUCCESS);
  const CUgraphNode* const after = &node;
  CUgraphNode release = nullptr;
  ASSERT_EQ(cu<Cu::cuGraphAddMemFreeNode>(&release, graph, after, std::size_t{1}, params.dptr),
            CUDA_SUCCESS);
  const std::uint64_t before = shown().device[0].pinned;
  EXPECT_EQ(shown().pin_reasons, 0u);
  CUgraphExec exec = nullptr;
  ASSERT_EQ(cu<Cu::cuGraphInstantiateWithFlags>(&exec, graph, 0ull), CUDA_SUCCESS);
  ASSERT_EQ(cu<Cu::cuGraphLaunch>(exec, CUstream{}), CUDA_SUCCESS);
  ASSERT_EQ(cu<Cu::cuStreamSynchronize>(CUstream{}), CUDA_SUCCESS);
  EXPECT_EQ(shown().pin_reasons, ledger::bitOf(ledger::PinReason::kGraph));
  EXPECT_EQ(shown().device[0].pinned, before + 8 * kMiB);
  EXPECT_EQ(shown().device[0].swappable, 4 * kMiB);
}

// Without room the driver is asked after a while all the same: it decides.
TEST_F(PointerQueryTest, NativeMemoryWithoutRoom_WaitsOnlyBounded) {
  Tenancy tenancy = swappable();
  tenancy.context_outside = true;
  tenancy.swap_allowed = 16 * kMiB;
  tenancy.swap_room_ms = 1;
  if (outside(tenancy)) return;
  makeReady();
  allocate(8 * kMiB);
  CUdeviceptr managed = 0;
  ASSERT_EQ(cu<Cu::cuMemAllocManaged>(&managed, std::size_t{64 * kMiB}, 1u), CUDA_SUCCESS);
  EXPECT_EQ(shown().device[0].pinned, 64 * kMiB);
  EXPECT_NE(shown().last_need, 0u) << "it waited";
  EXPECT_EQ(shown().state & ledger::kSwapWanted, 0u) << "and does no more";
}

// A process that came to a full card was refused its context, for it had no line on the swap page
// yet and so nobody was asked to make room.
TEST_F(PointerQueryTest, FirstContextWithoutRoom_WaitsBounded) {
  Tenancy tenancy = swappable();
  tenancy.swap_allowed = 1 * kMiB;
  tenancy.swap_room_ms = 1;
  if (outside(tenancy)) return;
  makeReady();
  ASSERT_GT(charged(), tenancy.swap_allowed);
  EXPECT_EQ(shown().device[0].pinned, charged());
  EXPECT_EQ(shown().device[0].want, 0u);
  EXPECT_NE(shown().last_need, 0u) << "it waited";
  ASSERT_EQ(cu<Cu::cuDevicePrimaryCtxReset_v2>(CUdevice{0}), CUDA_SUCCESS);
  EXPECT_EQ(shown().device[0].pinned, 0u);
}

// Each allocation of a process that nobody had ever told anything waited for room.
TEST_F(PointerQueryTest, NoOrderEverGiven_AllocationNotDelayed) {
  Tenancy tenancy = swappable();
  tenancy.swap_allowed = 0;
  tenancy.swap_room_ms = 3'600'000;
  if (outside(tenancy)) return;
  makeReady();
  CUdeviceptr managed = 0;
  ASSERT_EQ(cu<Cu::cuMemAllocManaged>(&managed, std::size_t{8 * kMiB}, 1u), CUDA_SUCCESS);
  EXPECT_GE(shown().device[0].pinned, 8 * kMiB);
}

TEST_F(PointerQueryTest, SmallBlockPinned_ArenaPinnedUntilLastFree) {
  if (outside(swappable())) return;
  makeReady();
  const CUdeviceptr one = allocate(kSmall), other = allocate(kSmall);
  const std::uint64_t before = shown().device[0].pinned;
  const std::uint32_t yes = 1;
  ASSERT_EQ(cu<Cu::cuPointerSetAttribute>(static_cast<const void*>(&yes),
                                          CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, one),
            CUDA_SUCCESS);
  EXPECT_EQ(ask(CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, one).value & 0xffffffff, 1u);
  EXPECT_EQ(ask(CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, other).value & 0xffffffff, 0u);
  EXPECT_EQ(shown().device[0].swappable, 0u);
  EXPECT_EQ(shown().device[0].pinned, before + 2 * kMiB);
  ASSERT_EQ(cu<Cu::cuMemFree_v2>(one), CUDA_SUCCESS);
  EXPECT_EQ(shown().device[0].pinned, before + 2 * kMiB) << "the other one has it";
  ASSERT_EQ(cu<Cu::cuMemFree_v2>(other), CUDA_SUCCESS);
  EXPECT_EQ(shown().device[0].pinned, before);
  EXPECT_EXACT();
}

// Who asks for synchronous operations lets a network card use the memory.
TEST_F(PointerQueryTest, SyncMemopsBlock_PinnedUntilFreed) {
  if (outside(swappable())) return;
  makeReady();
  const CUdeviceptr large = allocate(kLarge);
  allocate(4 * kMiB);
  EXPECT_EQ(shown().device[0].swappable, 76 * kMiB);
  EXPECT_EQ(shown().device[0].mapped, 76 * kMiB);
  const std::uint64_t before = shown().device[0].pinned;
  const std::uint32_t yes = 1;
  ASSERT_EQ(cu<Cu::cuPointerSetAttribute>(static_cast<const void*>(&yes),
                                          CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, large),
            CUDA_SUCCESS);
  EXPECT_EQ(ask(CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, large).value & 0xffffffff, 1u);
  EXPECT_EQ(shown().device[0].swappable, 4 * kMiB);
  EXPECT_EQ(shown().device[0].mapped, 4 * kMiB);
  EXPECT_EQ(shown().device[0].pinned, before + 72 * kMiB);
  EXPECT_EQ(shown().pin_reasons, std::uint64_t{1} << 8);
  ASSERT_EQ(cu<Cu::cuMemFree_v2>(large), CUDA_SUCCESS);
  EXPECT_EQ(shown().device[0].pinned, before);
  EXPECT_EQ(shown().device[0].mapped, 4 * kMiB);
  EXPECT_EXACT();
}

// The driver knows nothing of the attribute. That it is asked to wait shows in its answer.
TEST_F(PointerQueryTest, SyncMemopsSet_SynchronousCallsWait) {
  Tenancy tenancy = swappable();
  tenancy.environment["SIMGPU_FAULTS"] =
      "fail-at=cuStreamSynchronize:1=801,fail-at=cuStreamSynchronize:2=802";
  if (outside(tenancy)) return;
  makeReady();
  const CUdeviceptr large = allocate(kLarge), other = allocate(kLarge);
  const auto set = [&](std::uint32_t value) {
    return cu<Cu::cuPointerSetAttribute>(static_cast<const void*>(&value),
                                         CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, large);
  };
  const auto copy = [&] { return cu<Cu::cuMemcpyDtoD_v2>(large, other, std::size_t{4096}); };
  EXPECT_EQ(set(0), CUDA_SUCCESS);
  EXPECT_EQ(copy(), CUDA_SUCCESS) << "nobody asked";
  ASSERT_EQ(set(1), CUDA_SUCCESS);
  EXPECT_EQ(cu<Cu::cuMemcpyDtoDAsync_v2>(large, other, std::size_t{4096}, CUstream{nullptr}),
            CUDA_SUCCESS);
  EXPECT_EQ(copy(), CUDA_ERROR_NOT_SUPPORTED) << "of the driver's wait";
  EXPECT_EQ(cu<Cu::cuMemsetD8_v2_ptds>(large, static_cast<unsigned char>(1), std::size_t{4096}),
            CUresult{802});
  EXPECT_EQ(copy(), CUDA_SUCCESS);
}

}  // namespace
}  // namespace divvy::interposer
