// Loading, asking about and launching kernels; what a fault does to its context.
#include <algorithm>
#include <fstream>

#include "exec_driver.h"
#include "simgpu/catalog.h"

namespace divvy::simgpu {
namespace {

class Kernel : public DriverTest {};

constexpr CUstream kNull = nullptr;

TEST_F(Kernel, EachBuiltin_ComputesItsResult) {
  runReady([] {
    const CUdeviceptr words = allocate(4096);
    EXPECT_EQ(launch(builtin("fill"), kNull, words, std::uint64_t{1024}, 6U), CUDA_SUCCESS);
    EXPECT_EQ(launch(builtin("add"), kNull, words, std::uint64_t{512}, 4U), CUDA_SUCCESS);
    auto seen = download<std::uint32_t>(words, 1024);
    EXPECT_EQ(seen[0], 10U);
    EXPECT_EQ(seen[511], 10U);
    EXPECT_EQ(seen[512], 6U);

    EXPECT_EQ(launchShape(builtin("atomic_add"), 7, 64, kNull, words, 2U), CUDA_SUCCESS);
    EXPECT_EQ(download<std::uint32_t>(words, 1)[0], 10U + 7 * 64 * 2);

    const CUdeviceptr copy = allocate(4096);
    EXPECT_EQ(launch(builtin("copy"), kNull, copy, words, std::uint64_t{4096}), CUDA_SUCCESS);
    EXPECT_EQ(download<std::uint32_t>(copy, 1024), download<std::uint32_t>(words, 1024));

    const CUdeviceptr hash = allocate(8);
    const CUdeviceptr text = upload(std::vector<char>{'f', 'o', 'o', 'b', 'a', 'r'});
    EXPECT_EQ(launch(builtin("checksum"), kNull, hash, text, std::uint64_t{6}), CUDA_SUCCESS);
    EXPECT_EQ(download<std::uint64_t>(hash, 1)[0], 0x85944171f73967e8U)
        << "FNV-1a's published test";

    const CUdeviceptr x = upload(std::vector<float>{1, 2, 3});
    const CUdeviceptr y = upload(std::vector<float>{10, 20, 30});
    EXPECT_EQ(launch(builtin("axpy"), kNull, y, x, std::uint64_t{3}, 2.0F), CUDA_SUCCESS);
    EXPECT_EQ(download<float>(y, 3), (std::vector<float>{12, 24, 36}));

    const CUdeviceptr total = allocate(8);
    EXPECT_EQ(launch(builtin("sum"), kNull, total, y, std::uint64_t{3}), CUDA_SUCCESS);
    EXPECT_EQ(download<double>(total, 1)[0], 72.0);

    const CUdeviceptr bins = upload(std::vector<std::uint32_t>(256, 0));
    EXPECT_EQ(launch(builtin("histogram"), kNull, bins, text, std::uint64_t{6}), CUDA_SUCCESS);
    EXPECT_EQ(download<std::uint32_t>(bins, 256)['o'], 2U);

    const CUdeviceptr a = upload(std::vector<float>{1, 2, 3, 4, 5, 6});  // 2 x 3
    const CUdeviceptr b = upload(std::vector<float>{1, 0, 2, 1, 0, 3});  // 3 x 2
    const CUdeviceptr c = allocate(16);
    EXPECT_EQ(launch(builtin("matmul"), kNull, c, a, b, 2U, 2U, 3U), CUDA_SUCCESS);
    EXPECT_EQ(download<float>(c, 4), (std::vector<float>{5, 11, 14, 23}));
  });
}

TEST_F(Kernel, EachCatalogEntry_HasBody) {
  runReady([] {
    const CUmodule module = loadText(kAllBuiltins);
    unsigned count = 0;
    EXPECT_EQ(cu<Cu::cuModuleGetFunctionCount>(&count, module), CUDA_SUCCESS);
    EXPECT_EQ(count, kernelCatalog().size());
    for (const KernelEntry& entry : kernelCatalog()) {
      const CUfunction f = functionOf(module, std::string(entry.name).c_str());
      const auto commas = std::count(entry.params.begin(), entry.params.end(), ',');
      std::size_t params = 0;
      EXPECT_EQ(cu<Cu::cuFuncGetParamCount>(f, &params), CUDA_SUCCESS);
      EXPECT_EQ(params, entry.params.empty() ? 0U : static_cast<std::size_t>(commas) + 1);
    }
  });
}

TEST_F(Kernel, Duration_FollowsWorkAndTraffic) {
  runReady([] {
    const CUstream s = makeStream();
    const auto timed = [&](auto... arguments) {
      Gate gate(s);
      const CUevent from = recordedIn(s);
      EXPECT_EQ(launch(arguments...), CUDA_SUCCESS);
      const CUevent to = recordedIn(s);
      gate.open();
      return elapsed(from, to);
    };
    const CUdeviceptr data = allocate(256 * kMiB);
    const CUfunction fill = builtin("fill");
    const float small = timed(fill, s, data, std::uint64_t{8 * kMiB}, 0U);
    const float large = timed(fill, s, data, std::uint64_t{64 * kMiB}, 0U);
    EXPECT_NEAR(large / small, 8.0, 0.1) << "bound by memory";
    const float tiny = timed(fill, s, data, std::uint64_t{1}, 0U);
    EXPECT_GT(tiny, 0.0005) << "no kernel is free";
    const CUmodule fixed = loadText("simgpu-builtin 1\nkernel step = axpy cost_ns=1500000\n");
    EXPECT_FLOAT_EQ(timed(functionOf(fixed, "step"), s, data, data, std::uint64_t{1}, 0.0F), 1.5F);
  });
}

TEST_F(Kernel, Images_AcceptedOrRefusedWithReason) {
  runReady([] {
    struct Case {
      const char* image;
      CUresult result;
      const char* reason;  // part of the error log
    };
    const Case cases[] = {
        {"simgpu-builtin 1\nkernel a = spin\n# comment\n\nglobal g 8\n", CUDA_SUCCESS, ""},
        {"simgpu-builtin 2\n", CUDA_ERROR_INVALID_IMAGE, "version 1"},
        {"simgpu-builtin 1\nkernel a = nothing\n", CUDA_ERROR_INVALID_IMAGE, "line 2: no built-in"},
        {"simgpu-builtin 1\nkernel\n", CUDA_ERROR_INVALID_IMAGE, "line 2"},
        {"simgpu-builtin 1\nkernel a cost_ns=x\n", CUDA_ERROR_INVALID_IMAGE, "line 2"},
        {"// PTX\n/* more */ .version 8.0\n.target sm_90\n", CUDA_SUCCESS, ""},
        {".version 8.0\n.target sm_90\n.what\n", CUDA_ERROR_INVALID_PTX, "line 3: unknown"},
        {"\x7f"
         "ELF",
         CUDA_ERROR_NO_BINARY_FOR_GPU, "machine code"},
        {"hello", CUDA_ERROR_INVALID_IMAGE, "neither"},
    };
    for (const Case& c : cases) {
      char log[256] = "untouched";
      CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
      void* values[] = {log, reinterpret_cast<void*>(sizeof log)};
      CUmodule module = nullptr;
      EXPECT_EQ(cu<Cu::cuModuleLoadDataEx>(&module, static_cast<const void*>(c.image), 2U,
                                           static_cast<CUjit_option*>(options),
                                           static_cast<void**>(values)),
                c.result)
          << c.image;
      EXPECT_NE(std::strstr(log, c.reason), nullptr) << log;
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(values[1]), std::strlen(log));
    }
    CUmodule module = nullptr;
    EXPECT_EQ(cu<Cu::cuModuleLoad>(&module, "/nonexistent.ptx"), CUDA_ERROR_FILE_NOT_FOUND);
  });
}

TEST_F(Kernel, FilesAndLibraries_LoadSameImages) {
  runReady([] {
    const std::string path = std::string(std::getenv("SIMGPU_DIR")) + "/image";
    std::ofstream(path) << "simgpu-builtin 1\nkernel inc = add\nglobal counter 16\n";
    CUmodule module = nullptr;
    EXPECT_EQ(cu<Cu::cuModuleLoad>(&module, path.c_str()), CUDA_SUCCESS);
    CUdeviceptr counter = 0;
    std::size_t bytes = 0;
    EXPECT_EQ(cu<Cu::cuModuleGetGlobal_v2>(&counter, &bytes, module, "counter"), CUDA_SUCCESS);
    EXPECT_EQ(bytes, 16U);
    EXPECT_EQ(download<std::uint32_t>(counter, 4), std::vector<std::uint32_t>(4, 0));
    EXPECT_GE(booked(Charge::kModule), 512U) << "code and globals are on the card";
    EXPECT_EQ(launch(functionOf(module, "inc"), kNull, counter, std::uint64_t{2}, 5U),
              CUDA_SUCCESS);
    EXPECT_EQ(download<std::uint32_t>(counter, 4), (std::vector<std::uint32_t>{5, 5, 0, 0}));
    CUfunction none = nullptr;
    EXPECT_EQ(cu<Cu::cuModuleGetFunction>(&none, module, "dec"), CUDA_ERROR_NOT_FOUND);
    EXPECT_EQ(cu<Cu::cuModuleGetGlobal_v2>(&counter, &bytes, module, "x"), CUDA_ERROR_NOT_FOUND);
    EXPECT_EQ(cu<Cu::cuModuleUnload>(module), CUDA_SUCCESS);
    EXPECT_EQ(booked(Charge::kModule), 0U);
    EXPECT_EQ(cu<Cu::cuModuleGetFunction>(&none, module, "inc"), CUDA_ERROR_INVALID_HANDLE);

    CUlibrary library = nullptr;
    EXPECT_EQ(cu<Cu::cuLibraryLoadFromFile>(
                  &library, path.c_str(), static_cast<CUjit_option*>(nullptr),
                  static_cast<void**>(nullptr), 0U, static_cast<CUlibraryOption*>(nullptr),
                  static_cast<void**>(nullptr), 0U),
              CUDA_SUCCESS);
    CUkernel kernel = nullptr;
    EXPECT_EQ(cu<Cu::cuLibraryGetKernel>(&kernel, library, "inc"), CUDA_SUCCESS);
    EXPECT_EQ(cu<Cu::cuLibraryGetGlobal>(&counter, &bytes, library, "counter"), CUDA_SUCCESS);
    EXPECT_EQ(launch(reinterpret_cast<CUfunction>(kernel), kNull, counter, std::uint64_t{1}, 9U),
              CUDA_SUCCESS)
        << "a kernel launches where a function is wanted";
    EXPECT_EQ(download<std::uint32_t>(counter, 1)[0], 9U);
    CUfunction function = nullptr;
    EXPECT_EQ(cu<Cu::cuKernelGetFunction>(&function, kernel), CUDA_SUCCESS);
    EXPECT_EQ(launch(function, kNull, counter, std::uint64_t{1}, 1U), CUDA_SUCCESS);
    EXPECT_EQ(cu<Cu::cuLibraryUnload>(library), CUDA_SUCCESS);
  });
}

TEST_F(Kernel, Linker_JoinsTexts) {
  runReady([] {
    CUlinkState state = nullptr;
    EXPECT_EQ(cu<Cu::cuLinkCreate_v2>(0U, static_cast<CUjit_option*>(nullptr),
                                      static_cast<void**>(nullptr), &state),
              CUDA_SUCCESS);
    for (const char* text :
         {"simgpu-builtin 1\nkernel a = spin\n", "simgpu-builtin 1\nkernel b = add"}) {
      EXPECT_EQ(cu<Cu::cuLinkAddData_v2>(
                    state, CU_JIT_INPUT_PTX, const_cast<char*>(text), std::strlen(text), "name", 0U,
                    static_cast<CUjit_option*>(nullptr), static_cast<void**>(nullptr)),
                CUDA_SUCCESS);
    }
    void* image = nullptr;
    std::size_t bytes = 0;
    EXPECT_EQ(cu<Cu::cuLinkComplete>(state, &image, &bytes), CUDA_SUCCESS);
    const CUmodule module = loadText(static_cast<const char*>(image));
    functionOf(module, "a");
    functionOf(module, "b");
    EXPECT_EQ(cu<Cu::cuLinkDestroy>(state), CUDA_SUCCESS);
    EXPECT_EQ(cu<Cu::cuLinkDestroy>(state), CUDA_ERROR_INVALID_HANDLE);
  });
}

TEST_F(Kernel, Parameters_DescribedAndPassedBothWays) {
  runReady([] {
    const CUfunction axpy = builtin("axpy");
    std::size_t count = 0;
    EXPECT_EQ(cu<Cu::cuFuncGetParamCount>(axpy, &count), CUDA_SUCCESS);
    EXPECT_EQ(count, 4U);
    const std::size_t offsets[] = {0, 8, 16, 24};
    const std::size_t sizes[] = {8, 8, 8, 4};
    for (std::size_t i = 0; i < 4; ++i) {
      std::size_t offset = 9;
      std::size_t size = 9;
      EXPECT_EQ(cu<Cu::cuFuncGetParamInfo>(axpy, i, &offset, &size), CUDA_SUCCESS);
      EXPECT_EQ(offset, offsets[i]);
      EXPECT_EQ(size, sizes[i]);
    }
    std::size_t offset = 0;
    EXPECT_EQ(cu<Cu::cuFuncGetParamInfo>(axpy, size_t{4}, &offset, &offset),
              CUDA_ERROR_INVALID_VALUE);
    const char* name = nullptr;
    EXPECT_EQ(cu<Cu::cuFuncGetName>(&name, axpy), CUDA_SUCCESS);
    EXPECT_STREQ(name, "axpy");

    struct Packed {
      CUdeviceptr data;
      std::uint64_t count = 1;
      std::uint32_t value = 3;
    } packed;
    packed.data = upload(std::vector<std::uint32_t>{4});
    std::size_t bytes = sizeof packed;
    void* extra[] = {reinterpret_cast<void*>(kLaunchParamBufferPointer), &packed,
                     reinterpret_cast<void*>(kLaunchParamBufferSize), &bytes,
                     reinterpret_cast<void*>(kLaunchParamEnd)};
    void** none = nullptr;
    void** buffer = extra;
    EXPECT_EQ(
        cu<Cu::cuLaunchKernel>(builtin("add"), 1U, 1U, 1U, 1U, 1U, 1U, 0U, kNull, none, buffer),
        CUDA_SUCCESS);
    EXPECT_EQ(download<std::uint32_t>(packed.data, 1)[0], 7U);
    bytes = 4;
    EXPECT_EQ(
        cu<Cu::cuLaunchKernel>(builtin("add"), 1U, 1U, 1U, 1U, 1U, 1U, 0U, kNull, none, buffer),
        CUDA_ERROR_INVALID_VALUE)
        << "too small a buffer";
  });
}

TEST_F(Kernel, LaunchShapes_AreChecked) {
  runReady([] {
    const CUfunction f = builtin("spin");
    std::uint64_t ns = 1;
    void* list[] = {&ns};
    void** params = list;
    void** none = nullptr;
    struct Case {
      unsigned gx, gy, gz, bx, by, bz, shared;
      CUresult result;
    };
    const Case cases[] = {
        {1, 1, 1, 1024, 1, 1, 0, CUDA_SUCCESS},
        {0, 1, 1, 1, 1, 1, 0, CUDA_ERROR_INVALID_VALUE},
        {1, 1, 1, 0, 1, 1, 0, CUDA_ERROR_INVALID_VALUE},
        {1, 1, 1, 1025, 1, 1, 0, CUDA_ERROR_INVALID_VALUE},
        {1, 1, 1, 64, 32, 1, 0, CUDA_ERROR_INVALID_VALUE},
        {1, 65536, 1, 1, 1, 1, 0, CUDA_ERROR_INVALID_VALUE},
        {1, 1, 1, 1, 1, 65, 0, CUDA_ERROR_INVALID_VALUE},
        {1, 1, 1, 32, 1, 1, 48 << 10, CUDA_SUCCESS},
        {1, 1, 1, 32, 1, 1, (48 << 10) + 1, CUDA_ERROR_INVALID_VALUE},
    };
    for (const Case& c : cases) {
      EXPECT_EQ(cu<Cu::cuLaunchKernel>(f, c.gx, c.gy, c.gz, c.bx, c.by, c.bz, c.shared, kNull,
                                       params, none),
                c.result)
          << c.gx << ' ' << c.bx << ' ' << c.shared;
    }
    EXPECT_EQ(
        cu<Cu::cuFuncSetAttribute>(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 64 << 10),
        CUDA_SUCCESS);
    EXPECT_EQ(cu<Cu::cuLaunchKernel>(f, 1U, 1U, 1U, 32U, 1U, 1U, 64U << 10, kNull, params, none),
              CUDA_SUCCESS)
        << "more was asked for";
    EXPECT_EQ(cu<Cu::cuLaunchKernel>(f, 1U, 1U, 1U, 32U, 1U, 1U, 0U, kNull, none, none),
              CUDA_ERROR_INVALID_VALUE)
        << "parameters are missing";
    EXPECT_EQ(cu<Cu::cuLaunchKernel>(CUfunction{nullptr}, 1U, 1U, 1U, 32U, 1U, 1U, 0U, kNull,
                                     params, none),
              CUDA_ERROR_INVALID_HANDLE);
    EXPECT_EQ(
        cu<Cu::cuLaunchCooperativeKernel>(f, 1U << 20, 1U, 1U, 1024U, 1U, 1U, 0U, kNull, params),
        CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
    EXPECT_EQ(cu<Cu::cuLaunchCooperativeKernel>(f, 8U, 1U, 1U, 128U, 1U, 1U, 0U, kNull, params),
              CUDA_SUCCESS);
  });
}

TEST_F(Kernel, ExtendedAndAncientLaunches_Run) {
  runReady([] {
    const CUdeviceptr data = upload(std::vector<std::uint32_t>{0});
    const CUfunction add = builtin("add");
    std::uint64_t count = 1;
    std::uint32_t value = 2;
    CUdeviceptr address = data;
    void* list[] = {&address, &count, &value};
    void** params = list;
    void** none = nullptr;
    CUlaunchAttribute attribute{};
    attribute.id = CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT;
    attribute.value.launchCompletionEvent.event = makeEvent();
    CUlaunchConfig config{};
    config.gridDimX = config.gridDimY = config.gridDimZ = 1;
    config.blockDimX = config.blockDimY = config.blockDimZ = 1;
    config.attrs = &attribute;
    config.numAttrs = 1;
    const CUlaunchConfig* how = &config;
    EXPECT_EQ(cu<Cu::cuLaunchKernelEx>(how, add, params, none), CUDA_SUCCESS);
    EXPECT_EQ(cu<Cu::cuEventSynchronize>(attribute.value.launchCompletionEvent.event),
              CUDA_SUCCESS);
    attribute.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    attribute.value.clusterDim = {2, 1, 1};
    EXPECT_EQ(cu<Cu::cuLaunchKernelEx>(how, add, params, none), CUDA_ERROR_INVALID_CLUSTER_SIZE);

    EXPECT_EQ(cu<Cu::cuFuncSetBlockShape>(add, 32, 1, 1), CUDA_SUCCESS);
    EXPECT_EQ(cu<Cu::cuParamSetSize>(add, 20U), CUDA_SUCCESS);
    EXPECT_EQ(cu<Cu::cuParamSetv>(add, 0, static_cast<void*>(&address), 8U), CUDA_SUCCESS);
    EXPECT_EQ(cu<Cu::cuParamSetv>(add, 8, static_cast<void*>(&count), 8U), CUDA_SUCCESS);
    EXPECT_EQ(cu<Cu::cuParamSeti>(add, 16, 40U), CUDA_SUCCESS);
    EXPECT_EQ(cu<Cu::cuParamSeti>(add, 20, 40U), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(cu<Cu::cuLaunchGridAsync>(add, 1, 1, kNull), CUDA_SUCCESS);
    EXPECT_EQ(download<std::uint32_t>(data, 1)[0], 42U);
  });
}

TEST_F(Kernel, Occupancy_IsPlausible) {
  runReady([] {
    const CUfunction f = builtin("spin");
    int blocks = 0;
    EXPECT_EQ(cu<Cu::cuOccupancyMaxActiveBlocksPerMultiprocessor>(&blocks, f, 1024, size_t{0}),
              CUDA_SUCCESS);
    EXPECT_EQ(blocks, 1);
    EXPECT_EQ(cu<Cu::cuOccupancyMaxActiveBlocksPerMultiprocessor>(&blocks, f, 2048, size_t{0}),
              CUDA_SUCCESS);
    EXPECT_EQ(blocks, 0);
    int grid = 0;
    int block = 0;
    EXPECT_EQ(cu<Cu::cuOccupancyMaxPotentialBlockSize>(&grid, &block, f,
                                                       CUoccupancyB2DSize{nullptr}, size_t{0}, 0),
              CUDA_SUCCESS);
    int processors = 0;
    EXPECT_EQ(
        cu<Cu::cuDeviceGetAttribute>(&processors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0),
        CUDA_SUCCESS);
    EXPECT_EQ(grid % processors, 0);
    EXPECT_EQ(block % 32, 0);
    int value = 0;
    EXPECT_EQ(cu<Cu::cuFuncGetAttribute>(&value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, f),
              CUDA_SUCCESS);
    EXPECT_EQ(value, 1024);
  });
}

// Everything that fails once a context has faulted, and what goes on elsewhere.
TEST_F(Kernel, Fault_StickyForItsContextOnly) {
  runReady([] {
    CUcontext healthy = nullptr;
    EXPECT_EQ(cu<Cu::cuCtxGetCurrent>(&healthy), CUDA_SUCCESS);
    struct Case {
      const char* kernel;
      CUresult error;
    };
    for (const Case& c :
         {Case{"touch", CUDA_ERROR_ILLEGAL_ADDRESS}, Case{"trap", CUDA_ERROR_LAUNCH_FAILED}}) {
      CUcontext doomed = nullptr;
      EXPECT_EQ(cu<Cu::cuCtxCreate_v2>(&doomed, 0U, 0), CUDA_SUCCESS);
      const CUstream s = makeStream();
      const CUdeviceptr data = allocate(64);
      const CUdeviceptr freed = allocate(1 << 20);
      EXPECT_EQ(cu<Cu::cuMemFree_v2>(freed), CUDA_SUCCESS);
      const CUfunction bad = builtin(c.kernel);
      const CUfunction fill = builtin("fill");
      EXPECT_EQ(launch(bad, s, freed, std::uint64_t{64}, std::uint64_t{1000}), CUDA_SUCCESS)
          << "launches are asynchronous";
      const CUresult later = launch(fill, s, data, std::uint64_t{1}, 1U);
      EXPECT_TRUE(later == CUDA_SUCCESS || later == c.error);
      EXPECT_EQ(sync(s), c.error);
      CUdeviceptr p = 0;
      CUevent event = nullptr;
      EXPECT_EQ(cu<Cu::cuMemAlloc_v2>(&p, size_t{64}), c.error);
      EXPECT_EQ(launch(fill, s, data, std::uint64_t{1}, 1U), c.error);
      EXPECT_EQ(cu<Cu::cuEventCreate>(&event, 0U), c.error);
      EXPECT_EQ(cu<Cu::cuCtxSynchronize>(), c.error);
      EXPECT_EQ(cu<Cu::cuMemcpyDtoH_v2>(static_cast<void*>(&p), data, size_t{4}), c.error);
      EXPECT_EQ(cu<Cu::cuCtxSetCurrent>(healthy), CUDA_SUCCESS);
      EXPECT_EQ(spin(kNull, 1000), CUDA_SUCCESS);
      EXPECT_EQ(cu<Cu::cuCtxSynchronize>(), CUDA_SUCCESS);
      EXPECT_EQ(cu<Cu::cuCtxDestroy_v2>(doomed), CUDA_SUCCESS);
    }
  });
}

TEST_F(Kernel, Fault_QueuedWorkIsNotRun) {
  runReady([] {
    auto* seen = pinned<std::uint32_t>(4);
    const CUstream s = makeStream();
    const CUdeviceptr data = allocate(64);
    std::atomic<int> status{-1};
    Gate gate(s);
    EXPECT_EQ(launch(builtin("trap"), s), CUDA_SUCCESS);
    EXPECT_EQ(cu<Cu::cuMemcpyDtoHAsync_v2>(static_cast<void*>(seen), data, size_t{4}, s),
              CUDA_SUCCESS);
    EXPECT_EQ(cu<Cu::cuStreamAddCallback>(
                  s, static_cast<CUstreamCallback>([](CUstream, CUresult result, void* out) {
                    static_cast<std::atomic<int>*>(out)->store(result);
                  }),
                  static_cast<void*>(&status), 0U),
              CUDA_SUCCESS);
    EXPECT_EQ(cu<Cu::cuLaunchHostFunc>(s, static_cast<CUhostFn>([](void* out) {
                                         static_cast<std::uint32_t*>(out)[1] = 1;
                                       }),
                                       static_cast<void*>(seen)),
              CUDA_SUCCESS);
    gate.open();
    EXPECT_EQ(sync(s), CUDA_ERROR_LAUNCH_FAILED);
    EXPECT_TRUE(eventually([&] { return status == CUDA_ERROR_LAUNCH_FAILED; }))
        << "callbacks are told, host functions are not called";
    EXPECT_EQ(seen[0], 0U);
    EXPECT_EQ(seen[1], 0U);
  });
}

TEST_F(Kernel, LaunchOnUnmappedMemory_IsIllegalAddress) {
  runReady([] {
    const std::size_t bytes = 2 * kMiB;
    CUmemAllocationProp prop{};
    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    CUmemGenericAllocationHandle handle = 0;
    CUdeviceptr address = 0;
    const CUmemAllocationProp* wanted = &prop;
    ASSERT_EQ(cu<Cu::cuMemCreate>(&handle, bytes, wanted, 0ULL), CUDA_SUCCESS);
    ASSERT_EQ(cu<Cu::cuMemAddressReserve>(&address, bytes, size_t{0}, CUdeviceptr{0}, 0ULL),
              CUDA_SUCCESS);
    ASSERT_EQ(cu<Cu::cuMemMap>(address, bytes, size_t{0}, handle, 0ULL), CUDA_SUCCESS);
    CUmemAccessDesc access{};
    access.location = prop.location;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    const CUmemAccessDesc* descriptor = &access;
    ASSERT_EQ(cu<Cu::cuMemSetAccess>(address, bytes, descriptor, size_t{1}), CUDA_SUCCESS);
    const CUfunction touch = builtin("touch");
    EXPECT_EQ(launch(touch, kNull, address, std::uint64_t{bytes}, std::uint64_t{1000}),
              CUDA_SUCCESS);
    EXPECT_EQ(sync(kNull), CUDA_SUCCESS);
    EXPECT_EQ(cu<Cu::cuMemUnmap>(address, bytes), CUDA_SUCCESS);
    EXPECT_EQ(launch(touch, kNull, address, std::uint64_t{bytes}, std::uint64_t{1000}),
              CUDA_SUCCESS);
    EXPECT_EQ(sync(kNull), CUDA_ERROR_ILLEGAL_ADDRESS) << "the oracle for swapped memory";
  });
}

}  // namespace
}  // namespace divvy::simgpu
