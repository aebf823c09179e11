// Plain allocations in another process, and what an address is said to be.
#include "vmm_driver.h"

namespace divvy::simgpu {
namespace {

class Ipc : public DriverTest {
 protected:
  std::uint64_t onCard() const {
    const auto view = readCard(dir(), 0);
    std::uint64_t sum = 0;
    if (!view) return ~sum;
    for (const ProcessView& process : view->processes) {
      sum += process.by_kind[static_cast<int>(Charge::kPlain)];
    }
    return sum;
  }
  CUipcMemHandle receiveHandle() {
    CUipcMemHandle handle{};
    channel_.receive(&handle, sizeof handle);
    return handle;
  }
  static CUdeviceptr allocate(std::size_t bytes) {
    CUdeviceptr p = 0;
    EXPECT_EQ(cu<Cu::cuMemAlloc_v2>(&p, bytes), CUDA_SUCCESS);
    return p;
  }
  void sendHandle(CUdeviceptr p) {
    CUipcMemHandle handle{};
    EXPECT_EQ(cu<Cu::cuIpcGetMemHandle>(&handle, p), CUDA_SUCCESS);
    channel_.send(-1, &handle, sizeof handle);
  }
  static CUresult openHandle(CUdeviceptr* p, CUipcMemHandle handle) {
    return cu<Cu::cuIpcOpenMemHandle_v2>(p, handle, unsigned{CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS});
  }
  FdChannel channel_;
};

TEST_F(Ipc, OtherMemory_HasNoHandle) {
  runReady([] {
    CUipcMemHandle handle{};
    CUdeviceptr other = 0;
    EXPECT_EQ(cu<Cu::cuIpcGetMemHandle>(&handle, mapNew(kUnit, create(kUnit))),
              CUDA_ERROR_INVALID_VALUE)
        << "mapped memory";
    ASSERT_EQ(cu<Cu::cuMemAllocManaged>(&other, size_t{4096}, unsigned{CU_MEM_ATTACH_GLOBAL}),
              CUDA_SUCCESS);
    EXPECT_EQ(cu<Cu::cuIpcGetMemHandle>(&handle, other), CUDA_ERROR_INVALID_VALUE) << "managed";
    EXPECT_EQ(cu<Cu::cuIpcGetMemHandle>(&handle, CUdeviceptr{4096}), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(openHandle(&other, handle), CUDA_ERROR_INVALID_VALUE) << "no handle";
    const CUdeviceptr p = allocate(4096);
    ASSERT_EQ(cu<Cu::cuIpcGetMemHandle>(&handle, p), CUDA_SUCCESS);
    EXPECT_EQ(openHandle(&other, handle), CUDA_ERROR_INVALID_CONTEXT) << "in the same process";
    EXPECT_EQ(cu<Cu::cuIpcCloseMemHandle>(p), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(booked(Charge::kPlain), 4096U);
    EXPECT_EQ(cu<Cu::cuMemFree_v2>(p), CUDA_SUCCESS);
    EXPECT_EQ(booked(Charge::kPlain), 0U);
  });
}

TEST_F(Ipc, TwoProcesses_SameBytesChargedOnce) {
  // A small allocation that shares its pages with others, and a large one.
  for (const std::size_t bytes : {std::size_t{5000}, std::size_t{3 * kMiB}}) {
    const std::uint64_t charged = (bytes + 511) / 512 * 512;
    DriverProcess owner(environment(), [&] {
      makeReady();
      const CUdeviceptr neighbour = allocate(512);
      const CUdeviceptr p = allocate(bytes);
      EXPECT_EQ(fill(p, bytes, 0x21), CUDA_SUCCESS);
      EXPECT_EQ(fill(neighbour, 512, 0x11), CUDA_SUCCESS);
      sendHandle(p);
      DriverProcess::meet();
      EXPECT_EQ(valueOf(p, bytes), 0x42);
      EXPECT_EQ(valueOf(neighbour, 512), 0x11);
      EXPECT_EQ(cu<Cu::cuMemFree_v2>(neighbour), CUDA_SUCCESS);
      EXPECT_EQ(cu<Cu::cuMemFree_v2>(p), CUDA_SUCCESS);
    });
    DriverProcess user(environment(), [&] {
      makeReady();
      const CUipcMemHandle handle = receiveHandle();
      CUdeviceptr p = 0;
      CUdeviceptr again = 0;
      ASSERT_EQ(openHandle(&p, handle), CUDA_SUCCESS);
      ASSERT_EQ(openHandle(&again, handle), CUDA_SUCCESS);
      EXPECT_EQ(again, p) << "opened once more";
      EXPECT_EQ(valueOf(p + 1, bytes - 1), 0x21);
      EXPECT_EQ(fill(p, bytes, 0x42), CUDA_SUCCESS);
      EXPECT_EQ(cu<Cu::cuMemFree_v2>(p), CUDA_ERROR_INVALID_VALUE) << "not to be freed here";
      EXPECT_EQ(cu<Cu::cuIpcCloseMemHandle>(p), CUDA_SUCCESS);
      DriverProcess::meet();
      EXPECT_EQ(cu<Cu::cuIpcCloseMemHandle>(p), CUDA_SUCCESS);
      EXPECT_EQ(cu<Cu::cuIpcCloseMemHandle>(p), CUDA_ERROR_INVALID_VALUE);
      DriverProcess::meet();
    });
    owner.hear();
    user.hear();
    EXPECT_EQ(onCard(), charged + 512);
    user.resume();
    user.hear();
    EXPECT_EQ(onCard(), charged + 512) << "the owner still has it";
    owner.resume();
    owner.expectSuccess();
    EXPECT_EQ(onCard(), 0U);
    user.resume();
    user.expectSuccess();
  }
}

TEST_F(Ipc, OwnerFrees_ChargedUntilLastImporter) {
  for (const bool killed : {false, true}) {
    DriverProcess owner(environment(), [&] {
      makeReady();
      const CUdeviceptr p = allocate(kMiB);
      sendHandle(p);
      DriverProcess::meet();
      EXPECT_EQ(cu<Cu::cuMemFree_v2>(p), CUDA_SUCCESS);
      DriverProcess::meet();
    });
    DriverProcess user(environment(), [&] {
      makeReady();
      const CUipcMemHandle handle = receiveHandle();
      CUdeviceptr p = 0;
      ASSERT_EQ(openHandle(&p, handle), CUDA_SUCCESS);
      DriverProcess::meet();
      EXPECT_EQ(cu<Cu::cuIpcCloseMemHandle>(p), CUDA_SUCCESS);
      EXPECT_EQ(openHandle(&p, handle), CUDA_ERROR_INVALID_VALUE) << "freed by its owner";
      DriverProcess::meet();
    });
    owner.hear();
    user.hear();
    owner.resume();
    owner.hear();
    EXPECT_EQ(onCard(), kMiB) << "freed by the owner, still open here";
    if (killed) {
      user.killNow();
    } else {
      user.resume();
      user.hear();
    }
    EXPECT_EQ(onCard(), 0U);
    if (!killed) {
      user.resume();
      user.expectSuccess();
    }
    owner.resume();
    owner.expectSuccess();
  }
}

TEST_F(Ipc, ContextDestroyed_OtherKeepsBlock) {
  DriverProcess owner(environment(), [&] {
    makeReady();
    const CUdeviceptr p = allocate(kMiB);
    sendHandle(p);
    DriverProcess::meet();
    EXPECT_EQ(cu<Cu::cuMemFree_v2>(p), CUDA_SUCCESS);
    DriverProcess::meet();
  });
  DriverProcess user(environment(), [&] {
    makeReady();
    const CUipcMemHandle handle = receiveHandle();
    CUdeviceptr first = 0;
    ASSERT_EQ(openHandle(&first, handle), CUDA_SUCCESS);
    CUcontext context = nullptr;
    ASSERT_EQ(cu<Cu::cuCtxCreate_v2>(&context, 0U, 0), CUDA_SUCCESS);
    CUdeviceptr second = 0;
    ASSERT_EQ(openHandle(&second, handle), CUDA_SUCCESS);
    EXPECT_NE(second, first);
    EXPECT_EQ(cu<Cu::cuCtxDestroy_v2>(context), CUDA_SUCCESS) << "closes what it opened";
    DriverProcess::meet();
  });
  owner.hear();
  user.hear();
  owner.resume();
  owner.hear();
  EXPECT_EQ(onCard(), kMiB);
  user.resume();
  user.expectSuccess();
  EXPECT_EQ(onCard(), 0U);
  owner.resume();
  owner.expectSuccess();
}

TEST_F(Ipc, DeadOwnersHandle_CannotBeMapped) {
  DriverProcess owner(environment(), [&] {
    makeReady();
    sendHandle(allocate(kMiB));
    DriverProcess::meet();
  });
  owner.hear();
  owner.killNow();
  runReady([&] {
    CUdeviceptr p = 0;
    EXPECT_EQ(openHandle(&p, receiveHandle()), CUDA_ERROR_MAP_FAILED);
  });
}

class Pointer : public DriverTest {
 protected:
  static std::uint64_t ask(CUdeviceptr p, CUpointer_attribute attribute,
                           CUresult expected = CUDA_SUCCESS) {
    std::uint64_t value = 0;
    EXPECT_EQ(cu<Cu::cuPointerGetAttribute>(static_cast<void*>(&value), attribute, p), expected)
        << attribute;
    return value;
  }
};

TEST_F(Pointer, EachAttribute_DescribesAddress) {
  runReady([] {
    CUdeviceptr plain = 0;
    CUdeviceptr managed = 0;
    void* host = nullptr;
    ASSERT_EQ(cu<Cu::cuMemAlloc_v2>(&plain, size_t{1000}), CUDA_SUCCESS);
    ASSERT_EQ(cu<Cu::cuMemAllocManaged>(&managed, size_t{1000}, unsigned{CU_MEM_ATTACH_GLOBAL}),
              CUDA_SUCCESS);
    ASSERT_EQ(cu<Cu::cuMemAllocHost_v2>(&host, size_t{1000}), CUDA_SUCCESS);
    const auto pinned = reinterpret_cast<CUdeviceptr>(host);
    const CUdeviceptr range = reserve(4 * kUnit);
    const CUdeviceptr mapped = range + kUnit;
    ASSERT_EQ(map(mapped, 2 * kUnit, create(2 * kUnit, kPosixFd)), CUDA_SUCCESS);

    struct Case {
      CUdeviceptr address;
      CUpointer_attribute attribute;
      std::uint64_t value;
    };
    const Case cases[] = {
        {plain + 9, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_MEMORYTYPE_DEVICE},
        {managed, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_MEMORYTYPE_DEVICE},
        {pinned, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_MEMORYTYPE_HOST},
        {mapped, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_MEMORYTYPE_DEVICE},
        {plain + 9, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, plain},
        {plain + 9, CU_POINTER_ATTRIBUTE_RANGE_SIZE, 1000},
        {mapped + 9, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, range},
        {mapped + 9, CU_POINTER_ATTRIBUTE_RANGE_SIZE, 4 * kUnit},
        {mapped + 9, CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR, mapped},
        {mapped + 9, CU_POINTER_ATTRIBUTE_MAPPING_SIZE, 2 * kUnit},
        {mapped, CU_POINTER_ATTRIBUTE_MAPPED, 1},
        {range, CU_POINTER_ATTRIBUTE_MAPPED, 0},
        {range, CU_POINTER_ATTRIBUTE_RANGE_SIZE, 4 * kUnit},
        {mapped, CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES, kPosixFd},
        {plain, CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES, 0},
        {plain, CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, 1},
        {mapped, CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, 0},
        {managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, 1},
        {plain, CU_POINTER_ATTRIBUTE_IS_MANAGED, 0},
        {pinned + 7, CU_POINTER_ATTRIBUTE_HOST_POINTER, pinned + 7},
        {plain, CU_POINTER_ATTRIBUTE_ACCESS_FLAGS, kRw},
        {mapped, CU_POINTER_ATTRIBUTE_ACCESS_FLAGS, 0},
        {plain, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, 0},
    };
    for (const Case& c : cases) EXPECT_EQ(ask(c.address, c.attribute), c.value) << c.attribute;
    ask(plain, CU_POINTER_ATTRIBUTE_HOST_POINTER, CUDA_ERROR_INVALID_VALUE);
    ask(CUdeviceptr{4096}, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CUDA_ERROR_INVALID_VALUE);
    EXPECT_NE(ask(plain, CU_POINTER_ATTRIBUTE_BUFFER_ID),
              ask(managed, CU_POINTER_ATTRIBUTE_BUFFER_ID));
  });
}

TEST_F(Pointer, UnknownAddress_AttributesAreNull) {
  runReady([] {
    CUpointer_attribute attributes[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                        CU_POINTER_ATTRIBUTE_CONTEXT,
                                        CU_POINTER_ATTRIBUTE_IS_MANAGED};
    unsigned type = 9;
    auto context = reinterpret_cast<CUcontext>(9);
    unsigned managed = 9;
    void* data[] = {&type, &context, &managed};
    EXPECT_EQ(cu<Cu::cuPointerGetAttributes>(3U, &attributes[0], &data[0], CUdeviceptr{4096}),
              CUDA_SUCCESS);
    EXPECT_EQ(type, 0U);
    EXPECT_EQ(context, nullptr);
    EXPECT_EQ(managed, 0U);
  });
}

TEST_F(Pointer, SyncMemops_IsRemembered) {
  runReady([] {
    CUdeviceptr plain = 0;
    ASSERT_EQ(cu<Cu::cuMemAlloc_v2>(&plain, size_t{1000}), CUDA_SUCCESS);
    const unsigned yes = 1;
    const void* value = &yes;
    EXPECT_EQ(ask(plain, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS), 0U);
    EXPECT_EQ(cu<Cu::cuPointerSetAttribute>(value, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, plain),
              CUDA_SUCCESS);
    EXPECT_EQ(ask(plain, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS), 1U);
    EXPECT_EQ(cu<Cu::cuPointerSetAttribute>(value, CU_POINTER_ATTRIBUTE_IS_MANAGED, plain),
              CUDA_ERROR_INVALID_VALUE);
  });
}

}  // namespace
}  // namespace divvy::simgpu
