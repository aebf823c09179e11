// Legacy IPC of memory that can be swapped: between two processes with us inside it is as of plain
// memory, and the memory stays.
#include <thread>

#include "ipc_fixture.h"

namespace divvy::interposer {
namespace {

TEST_F(IpcTest, BlockOpened_SameBytesAndOneAllocation) {
  if (outside(swappable())) return;
  const Importer other([](const Importer& exporter) {
    makeReady();
    const auto handle = exporter.hear<CUipcMemHandle>();
    const CUdeviceptr at = opened(handle);
    EXPECT_TRUE(has(at, 1));
    CUdeviceptr base = 0;
    std::size_t bytes = 0;
    EXPECT_EQ(cu<Cu::cuMemGetAddressRange_v2>(&base, &bytes, at + 5 * kMiB), CUDA_SUCCESS);
    EXPECT_EQ(base, at);
    EXPECT_EQ(bytes, kBytes);
    EXPECT_EQ(ask<CUdeviceptr>(CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, at + kBytes - 1), at);
    EXPECT_EQ(ask<std::size_t>(CU_POINTER_ATTRIBUTE_RANGE_SIZE, at + kBytes - 1), kBytes);
    EXPECT_EQ(ask<unsigned>(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, at + 3 * kMiB),
              unsigned{CU_MEMORYTYPE_DEVICE});
    EXPECT_EQ(ask<int>(CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, at), 0);
    EXPECT_NE(ask<std::uint64_t>(CU_POINTER_ATTRIBUTE_BUFFER_ID, at), 0u);
    EXPECT_EQ(ask<int>(CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, at), 0);
    EXPECT_TRUE(pinnedFor(ledger::PinReason::kImported));
    write(at, 2);
    exporter.meet();
    EXPECT_EQ(close(at), CUDA_SUCCESS);
  });
  makeSwappable();
  const CUdeviceptr at = block(1);
  EXPECT_EQ(ask<int>(CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, at), 1);
  const CUipcMemHandle first = handleOf(at), again = handleOf(at + 6 * kMiB);
  EXPECT_EQ(std::memcmp(&first, &again, sizeof first), 0) << "a block has one name";
  other.tell(first);
  other.meet();
  EXPECT_TRUE(has(at, 2));
  EXPECT_EQ(cu<Cu::cuMemFree_v2>(at), CUDA_SUCCESS);
  EXPECT_EQ(faults(kRefused), 0u);
}

TEST_F(IpcTest, BlockOpenedAgain_ClosedByLastCloseOnly) {
  if (outside(swappable())) return;
  const Importer other([](const Importer& exporter) {
    makeReady();
    CUcontext context = nullptr;
    EXPECT_EQ(cu<Cu::cuCtxGetCurrent>(&context), CUDA_SUCCESS);
    const auto handle = exporter.hear<CUipcMemHandle>();
    constexpr int kThreads = 4;
    CUdeviceptr at[kThreads] = {};
    std::vector<std::thread> threads;
    for (CUdeviceptr& place : at) {
      threads.emplace_back([&] {
        cu<Cu::cuCtxSetCurrent>(context);
        place = opened(handle);
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (const CUdeviceptr place : at) EXPECT_EQ(place, at[0]);
    void* const start = reinterpret_cast<void*>(at[0]);
    CUmemGenericAllocationHandle made = 0;
    EXPECT_NE(cu<Cu::cuMemFree_v2>(at[0]), CUDA_SUCCESS);
    EXPECT_NE(cu<Cu::cuMemUnmap>(at[0], std::size_t{kReserved}), CUDA_SUCCESS);
    EXPECT_NE(cu<Cu::cuMemRetainAllocationHandle>(&made, start), CUDA_SUCCESS);
    CUipcMemHandle passed_on{};
    EXPECT_NE(cu<Cu::cuIpcGetMemHandle>(&passed_on, at[0]), CUDA_SUCCESS) << "it is not ours";
    EXPECT_NE(close(at[0] + 4096), CUDA_SUCCESS);
    for (int i = 1; i < kThreads; ++i) EXPECT_EQ(close(at[0]), CUDA_SUCCESS);
    EXPECT_TRUE(has(at[0], 1)) << "open once more";
    EXPECT_EQ(close(at[0]), CUDA_SUCCESS);
    EXPECT_EQ(close(at[0]), CUDA_ERROR_INVALID_VALUE);
    std::uint32_t word = 0;
    EXPECT_NE(cu<Cu::cuMemcpyDtoH_v2>(static_cast<void*>(&word), at[0], sizeof word), CUDA_SUCCESS);
    EXPECT_TRUE(has(opened(handle), 1)) << "and anew";
    exporter.meet();
  });
  makeSwappable();
  const CUdeviceptr at = block(1);
  other.tell(handleOf(at));
  other.meet();
}

TEST_F(IpcTest, OpenInExportingProcess_InvalidContext) {
  if (outside(swappable())) return;
  makeSwappable();
  CUdeviceptr again = 0;
  EXPECT_EQ(open(&again, handleOf(block(1))), CUDA_ERROR_INVALID_CONTEXT);
}

TEST_F(IpcTest, ExportedBlock_StaysResidentWhileOthersLeave) {
  if (outside(swappable())) return;
  makeSwappable();
  const CUdeviceptr named = block(1), other = block(2);
  handleOf(named);
  EXPECT_TRUE(pinnedFor(ledger::PinReason::kLegacyIpc));
  allow(0);
  EXPECT_TRUE(becomesResident(kReserved));
  EXPECT_TRUE(staysResident(kReserved));
  allow(kEverything);
  EXPECT_TRUE(has(named, 1));
  EXPECT_TRUE(has(other, 2));
}

TEST_F(IpcTest, ExportOfSwappedOutBlock_WaitsForMemory) {
  if (outside(swappable())) return;
  const Importer other([](const Importer& exporter) {
    makeReady();
    EXPECT_TRUE(has(opened(exporter.hear<CUipcMemHandle>()), 1));
    exporter.meet();
  });
  makeSwappable();
  const CUdeviceptr at = block(1);
  allow(0);
  ASSERT_TRUE(becomesResident(0));
  CUcontext context = nullptr;
  ASSERT_EQ(cu<Cu::cuCtxGetCurrent>(&context), CUDA_SUCCESS);
  CUipcMemHandle handle{};
  Launcher naming([&] {
    cu<Cu::cuCtxSetCurrent>(context);
    return cu<Cu::cuIpcGetMemHandle>(&handle, at);
  });
  EXPECT_TRUE(eventually([] { return shows(ledger::kSwapWanted); }));
  EXPECT_FALSE(naming.done());
  allow(kEverything);
  ASSERT_TRUE(naming.finishes());
  allow(0);
  EXPECT_TRUE(staysResident(kReserved));
  other.tell(handle);
  other.meet();
}

TEST_F(IpcTest, BlockFreedOrExporterKilled_OnlyOpenImportStays) {
  if (outside(swappable())) return;
  Importer maker([](const Importer& reader) {
    makeSwappable();
    const CUdeviceptr at = block(1), freed = block(2);
    reader.tell(handleOf(at));
    reader.tell(handleOf(freed));
    reader.meet();
    EXPECT_EQ(cu<Cu::cuMemFree_v2>(freed), CUDA_SUCCESS);
    block(3);  // has the addresses again, it may be
    reader.meet();
    ::pause();
  });
  makeReady();
  const auto handle = maker.hear<CUipcMemHandle>(), of_freed = maker.hear<CUipcMemHandle>();
  const CUdeviceptr at = opened(handle);
  maker.meet();
  maker.meet();
  CUdeviceptr none = 0;
  EXPECT_EQ(open(&none, of_freed), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(faults(kRefused), 1u);
  maker.kill();
  EXPECT_TRUE(has(at, 1));
  EXPECT_EQ(opened(handle), at) << "open already";
  EXPECT_EQ(close(at), CUDA_SUCCESS);
  EXPECT_EQ(close(at), CUDA_SUCCESS);
  EXPECT_EQ(open(&none, handle), CUDA_ERROR_MAP_FAILED);
  EXPECT_EQ(faults(kRefused), 2u);
}

TEST_F(IpcTest, SmallBlocks_ExportedSinglyAndArenaStays) {
  if (outside(swappable())) return;
  const Importer other([](const Importer& exporter) {
    makeReady();
    const auto one = exporter.hear<CUipcMemHandle>(), two = exporter.hear<CUipcMemHandle>();
    const auto freed = exporter.hear<CUipcMemHandle>();
    const CUdeviceptr at = opened(one);
    EXPECT_TRUE(holds(at, kSmall, 1));
    EXPECT_EQ(ask<CUdeviceptr>(CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, at + kSmall - 1), at);
    EXPECT_EQ(ask<std::size_t>(CU_POINTER_ATTRIBUTE_RANGE_SIZE, at), kSmall);
    EXPECT_TRUE(holds(opened(two), kSmall, 2));
    EXPECT_EQ(opened(one), at);
    CUdeviceptr none = 0;
    EXPECT_EQ(open(&none, freed), CUDA_ERROR_INVALID_VALUE) << "another block has its place";
    EXPECT_EQ(close(at), CUDA_SUCCESS);
    EXPECT_TRUE(holds(at, kSmall, 1)) << "open once more";
    EXPECT_EQ(close(at), CUDA_SUCCESS);
    EXPECT_EQ(close(at), CUDA_ERROR_INVALID_VALUE);
    exporter.meet();
  });
  makeSwappable();
  const CUdeviceptr one = filled(kSmall, 1), two = filled(kSmall, 2), three = filled(kSmall, 3);
  other.tell(handleOf(one + 512));
  other.tell(handleOf(two));
  other.tell(handleOf(three));
  EXPECT_EQ(cu<Cu::cuMemFree_v2>(three), CUDA_SUCCESS);
  const CUdeviceptr instead = filled(kSmall, 4);
  allow(0);
  EXPECT_TRUE(staysResident(2 * kMiB));
  EXPECT_TRUE(holds(instead, kSmall, 4));
  other.meet();
}

TEST_F(IpcTest, ContextEnds_ImportClosedAndMemoryReleased) {
  if (outside(swappable())) return;
  const Importer other([](const Importer& exporter) {
    makeReady();
    const auto handle = exporter.hear<CUipcMemHandle>();
    const CUdeviceptr at = opened(handle);
    CUcontext second = nullptr;
    EXPECT_EQ(cu<Cu::cuCtxCreate_v2>(&second, 0u, CUdevice{0}), CUDA_SUCCESS);
    const CUdeviceptr there = opened(handle);
    EXPECT_NE(there, at) << "one for each context";
    EXPECT_TRUE(has(there, 1));
    EXPECT_EQ(cu<Cu::cuCtxDestroy_v2>(second), CUDA_SUCCESS);
    EXPECT_NE(close(there), CUDA_SUCCESS);
    EXPECT_TRUE(has(at, 1));
    EXPECT_EQ(cu<Cu::cuDevicePrimaryCtxReset_v2>(CUdevice{0}), CUDA_SUCCESS);
    makeReady();
    EXPECT_NE(close(at), CUDA_SUCCESS);
    exporter.meet();
    exporter.meet();
  });
  makeSwappable();
  const CUdeviceptr at = block(1);
  other.tell(handleOf(at));
  other.meet();
  const std::uint64_t with_it = bookedByAll();
  EXPECT_EQ(cu<Cu::cuMemFree_v2>(at), CUDA_SUCCESS);
  EXPECT_EQ(bookedByAll(), with_it - kReserved) << "nobody holds it any more";
  other.meet();
}

TEST_F(IpcTest, OpenByDriverAlone_InvalidValue) {
  if (outside(swappable())) return;
  const Importer other([](const Importer& exporter) {
    makeReady();
    // By libc's own dlopen: ours gives ourselves.
    void* const libc = ::dlopen("libc.so.6", RTLD_NOW | RTLD_LOCAL);
    auto* const plain = reinterpret_cast<void* (*)(const char*, int)>(::dlsym(libc, "dlopen"));
    ASSERT_NE(plain, nullptr);
    void* const driver = plain(control().driver_path, RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(driver, nullptr);
    auto* const opens = reinterpret_cast<abi::CuFn<Cu::cuIpcOpenMemHandle_v2>::type*>(
        ::dlsym(driver, "cuIpcOpenMemHandle_v2"));
    ASSERT_NE(opens, nullptr);
    CUdeviceptr at = 0;
    EXPECT_EQ(opens(&at, exporter.hear<CUipcMemHandle>(), 1u), CUDA_ERROR_INVALID_VALUE);
    exporter.meet();
  });
  makeSwappable();
  other.tell(handleOf(block(1)));
  other.meet();
}

TEST_F(IpcTest, DriverRefusesExport_OpenFailsWithItsError) {
  Tenancy tenancy = swappable();
  tenancy.environment["SIMGPU_FAULTS"] += ",fail-at=cuMemExportToShareableHandle:2=801";
  if (outside(tenancy)) return;
  const Importer other([](const Importer& exporter) {
    makeReady();
    const auto handle = exporter.hear<CUipcMemHandle>();
    CUdeviceptr at = 0;
    EXPECT_EQ(open(&at, handle), CUDA_ERROR_NOT_SUPPORTED) << "the second chunk";
    EXPECT_EQ(faults(kRefused), 1u);
    EXPECT_TRUE(has(opened(handle), 1)) << "nothing was left of it";
    exporter.meet();
  });
  makeSwappable();
  other.tell(handleOf(block(1)));
  other.meet();
}

TEST_F(IpcTest, ForkedChildExports_RefusedAndParentStillServes) {
  if (outside(swappable())) return;
  const Importer other([](const Importer& exporter) {
    makeReady();
    const auto handle = exporter.hear<CUipcMemHandle>();
    EXPECT_TRUE(has(opened(handle), 1));
    exporter.meet();
  });
  makeSwappable();
  const CUdeviceptr at = block(1);
  const CUipcMemHandle handle = handleOf(at);
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(60);
    CUipcMemHandle again{};
    ::_exit(cu<Cu::cuIpcGetMemHandle>(&again, at) == CUDA_SUCCESS ? 1 : 0);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0) << "it has none";
  other.tell(handle);
  other.meet();
}

}  // namespace
}  // namespace divvy::interposer
