// PTX through the driver: loading, asking, launching, faults.
#include <fstream>

#include "exec_driver.h"

namespace divvy::simgpu {
namespace {

class Ptx : public DriverTest {};

constexpr CUstream kNull = nullptr;

constexpr const char* kSaxpy = R"(// as a compiler writes it
.version 9.0
.target sm_75
.address_size 64

.visible .global .align 4 .u32 counter = 5;
.visible .const .align 4 .f32 factor[2] = {0f40000000, 0f40400000};
.extern .shared .align 16 .b8 dynamic[];

.visible .entry saxpy(
  .param .u64 .ptr .align 1 saxpy_param_0,
  .param .u64 .ptr .align 1 saxpy_param_1,
  .param .f32 saxpy_param_2,
  .param .u32 saxpy_param_3
)
.maxntid 256
{
  .reg .pred %p<2>;
  .reg .b32 %r<6>;
  .reg .f32 %f<5>;
  .reg .b64 %rd<8>;
  ld.param.b64 %rd1, [saxpy_param_0];
  ld.param.b64 %rd2, [saxpy_param_1];
  ld.param.b32 %f1, [saxpy_param_2];
  ld.param.b32 %r2, [saxpy_param_3];
  mov.u32 %r3, %ctaid.x;
  mov.u32 %r4, %ntid.x;
  mov.u32 %r5, %tid.x;
  mad.lo.s32 %r1, %r3, %r4, %r5;
  setp.ge.s32 %p1, %r1, %r2;
  @%p1 bra $L__BB0_2;
  cvta.to.global.u64 %rd3, %rd2;
  mul.wide.s32 %rd4, %r1, 4;
  add.s64 %rd5, %rd3, %rd4;
  ld.global.nc.b32 %f2, [%rd5];
  cvta.to.global.u64 %rd6, %rd1;
  add.s64 %rd7, %rd6, %rd4;
  ld.global.b32 %f3, [%rd7];
  fma.rn.f32 %f4, %f1, %f2, %f3;
  st.global.b32 [%rd7], %f4;
$L__BB0_2:
  ret;
}

.visible .entry reverse(.param .u64 data)
{
  .shared .align 4 .b8 own[64];
  .local .align 8 .b8 __local_depot1[24];
  .reg .b32 %r<8>;
  .reg .b64 %rd<4>;
  ld.param.u64 %rd1, [data];
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %rd2, %r1, 4;
  add.u64 %rd2, %rd1, %rd2;
  ld.global.u32 %r2, [%rd2];
  mov.u32 %r3, dynamic;
  shl.b32 %r4, %r1, 2;
  add.u32 %r5, %r3, %r4;
  st.shared.u32 [%r5], %r2;
  bar.sync 0;
  mov.u32 %r6, %ntid.x;
  shl.b32 %r6, %r6, 2;
  add.u32 %r5, %r3, %r6;
  sub.u32 %r5, %r5, %r4;
  ld.shared.u32 %r7, [%r5+-4];
  st.global.u32 [%rd2], %r7;
  mov.u32 %r7, own;
  red.global.add.u32 [counter], 1;
  ret;
}

.visible .entry store(.param .u64 where)
{
  .reg .b64 %rd<2>;
  ld.param.u64 %rd1, [where];
  st.global.u32 [%rd1], 1;
  ret;
}

.visible .entry end() { trap; }

.visible .entry stuck()
{
  .reg .pred %p;
  .reg .b32 %r;
  mov.u32 %r, %tid.x;
  setp.eq.u32 %p, %r, 0;
  @%p bar.sync 1, 64;
  @!%p bar.sync 2, 64;
  ret;
}

.visible .entry wait(.param .u64 flag)
{
  .reg .pred %p;
  .reg .b32 %r;
  .reg .b64 %rd;
  ld.param.u64 %rd, [flag];
again:
  ld.volatile.u32 %r, [%rd];
  setp.eq.u32 %p, %r, 0;
  @%p bra again;
  ret;
}
)";

TEST_F(Ptx, Saxpy_LoadsAndComputes) {
  runReady([] {
    const CUmodule module = loadText(kSaxpy);
    const CUdeviceptr x = upload(std::vector<float>(1000, 3));
    const CUdeviceptr y = upload(std::vector<float>(1000, 1));
    EXPECT_EQ(launchShape(functionOf(module, "saxpy"), 4, 256, kNull, y, x, 2.0F, 999),
              CUDA_SUCCESS);
    const auto seen = download<float>(y, 1000);
    EXPECT_EQ(seen[0], 7.0F);
    EXPECT_EQ(seen[998], 7.0F);
    EXPECT_EQ(seen[999], 1.0F);
  });
}

TEST_F(Ptx, GlobalsAndSharedMemory_AreUsed) {
  runReady([] {
    const CUmodule module = loadText(kSaxpy);
    CUdeviceptr counter = 0;
    std::size_t bytes = 0;
    EXPECT_EQ(cu<Cu::cuModuleGetGlobal_v2>(&counter, &bytes, module, "counter"), CUDA_SUCCESS);
    EXPECT_EQ(bytes, 4U);
    EXPECT_EQ(download<std::uint32_t>(counter, 1)[0], 5U);
    CUdeviceptr factor = 0;
    EXPECT_EQ(cu<Cu::cuModuleGetGlobal_v2>(&factor, &bytes, module, "factor"), CUDA_SUCCESS);
    EXPECT_EQ(download<float>(factor, 2), (std::vector<float>{2, 3}));

    const CUdeviceptr data = upload(std::vector<std::uint32_t>{1, 2, 3, 4, 5, 6, 7, 8});
    CUdeviceptr argument = data;
    void* params[] = {&argument, nullptr};
    void** none = nullptr;
    const CUfunction reverse = functionOf(module, "reverse");
    EXPECT_EQ(cu<Cu::cuLaunchKernel>(reverse, 1U, 1U, 1U, 8U, 1U, 1U, 32U, kNull, params, none),
              CUDA_SUCCESS);
    EXPECT_EQ(download<std::uint32_t>(data, 8),
              (std::vector<std::uint32_t>{8, 7, 6, 5, 4, 3, 2, 1}));
    EXPECT_EQ(download<std::uint32_t>(counter, 1)[0], 13U);
  });
}

TEST_F(Ptx, FilesAndLibraries_Load) {
  runReady([] {
    const std::string path = std::string(std::getenv("SIMGPU_DIR")) + "/image.ptx";
    std::ofstream(path) << kSaxpy;
    CUmodule module = nullptr;
    EXPECT_EQ(cu<Cu::cuModuleLoad>(&module, path.c_str()), CUDA_SUCCESS);
    EXPECT_NE(functionOf(module, "saxpy"), nullptr);

    CUlibrary library = nullptr;
    CUkernel kernel = nullptr;
    EXPECT_EQ(cu<Cu::cuLibraryLoadData>(&library, static_cast<const void*>(kSaxpy), nullptr,
                                        nullptr, 0U, nullptr, nullptr, 0U),
              CUDA_SUCCESS);
    EXPECT_EQ(cu<Cu::cuLibraryGetKernel>(&kernel, library, "store"), CUDA_SUCCESS);
    const CUdeviceptr word = allocate(4);
    EXPECT_EQ(launch(reinterpret_cast<CUfunction>(kernel), kNull, word), CUDA_SUCCESS);
    EXPECT_EQ(download<std::uint32_t>(word, 1)[0], 1U);
  });
}

TEST_F(Ptx, FunctionAttributes_ComeFromText) {
  runReady([] {
    const CUmodule module = loadText(kSaxpy);
    const auto attribute = [&](const char* name, CUfunction_attribute which) {
      int value = -1;
      EXPECT_EQ(cu<Cu::cuFuncGetAttribute>(&value, which, functionOf(module, name)), CUDA_SUCCESS);
      return value;
    };
    EXPECT_EQ(attribute("saxpy", CU_FUNC_ATTRIBUTE_PTX_VERSION), 75);
    EXPECT_EQ(attribute("saxpy", CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK), 256);
    EXPECT_EQ(attribute("saxpy", CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES), 0);
    EXPECT_EQ(attribute("saxpy", CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES), 8);
    EXPECT_EQ(attribute("reverse", CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES), 64);
    EXPECT_EQ(attribute("reverse", CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES), 24);
    EXPECT_GT(attribute("reverse", CU_FUNC_ATTRIBUTE_NUM_REGS), 0);
    std::size_t offset = 0;
    std::size_t size = 0;
    EXPECT_EQ(
        cu<Cu::cuFuncGetParamInfo>(functionOf(module, "saxpy"), std::size_t{3}, &offset, &size),
        CUDA_SUCCESS);
    EXPECT_EQ(offset, 20U);
    EXPECT_EQ(size, 4U);
  });
}

TEST_F(Ptx, InvalidText_LogNamesLine) {
  runReady([] {
    const auto load = [](const char* text, std::string* log) {
      char buffer[256] = {};
      CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
      void* values[] = {buffer, reinterpret_cast<void*>(sizeof buffer)};
      CUmodule module = nullptr;
      const CUresult result =
          cu<Cu::cuModuleLoadDataEx>(&module, static_cast<const void*>(text), 2U, options, values);
      *log = buffer;
      return result;
    };
    std::string log;
    EXPECT_EQ(
        load(".version 9.0\n.target sm_90\n.address_size 64\n.entry k()\n{\nmma.what;\n}", &log),
        CUDA_ERROR_INVALID_PTX);
    EXPECT_EQ(log, "line 6: unknown instruction 'mma.what'");
    EXPECT_EQ(load("/* later */ .version 99.0\n.target sm_90\n", &log),
              CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
    EXPECT_EQ(log, "line 1: .version 99.0 is newer than this driver knows");
    EXPECT_EQ(load("\x7f"
                   "ELF",
                   &log),
              CUDA_ERROR_NO_BINARY_FOR_GPU);
  });
}

// The context is unusable after a fault, and says why.
void expectFault(const char* name, unsigned threads, CUdeviceptr argument, CUresult expected) {
  const CUfunction f = functionOf(loadText(kSaxpy), name);
  EXPECT_EQ(launchShape(f, 1, threads, kNull, argument), CUDA_SUCCESS);
  EXPECT_EQ(sync(kNull), expected);
  CUdeviceptr more = 0;
  EXPECT_EQ(cu<Cu::cuMemAlloc_v2>(&more, std::size_t{16}), expected);
}

TEST_F(Ptx, UnmappedAddress_IsIllegalAddress) {
  runReady([] { expectFault("store", 1, 0x10000, CUDA_ERROR_ILLEGAL_ADDRESS); });
  runReady([] { expectFault("store", 1, allocate(512) + (1U << 30), CUDA_ERROR_ILLEGAL_ADDRESS); });
}
TEST_F(Ptx, MisalignedAddress_IsMisaligned) {
  runReady([] { expectFault("store", 1, allocate(8) + 2, CUDA_ERROR_MISALIGNED_ADDRESS); });
}
TEST_F(Ptx, Trap_IsLaunchFailed) {
  runReady([] { expectFault("end", 1, 0, CUDA_ERROR_LAUNCH_FAILED); });
}
TEST_F(Ptx, Deadlock_IsLaunchTimeout) {
  runReady([] { expectFault("stuck", 64, 0, CUDA_ERROR_LAUNCH_TIMEOUT); });
}

TEST_F(Ptx, WaitingKernel_OtherStreamsRun) {
  runReady([] {
    const CUmodule module = loadText(kSaxpy);
    auto* flag = pinned<std::uint32_t>();
    const CUstream waits = makeStream();
    const CUstream works = makeStream();
    EXPECT_EQ(launch(functionOf(module, "wait"), waits, deviceView(flag)), CUDA_SUCCESS);
    const CUdeviceptr word = allocate(4);
    EXPECT_EQ(launch(functionOf(module, "store"), works, word), CUDA_SUCCESS);
    EXPECT_EQ(sync(works), CUDA_SUCCESS);
    EXPECT_EQ(cu<Cu::cuStreamQuery>(waits), CUDA_ERROR_NOT_READY);
    std::atomic_ref(*flag).store(1);
    EXPECT_EQ(sync(waits), CUDA_SUCCESS);
  });
}

TEST_F(Ptx, EndlessKernel_EndsWithItsContext) {
  runReady([] {
    const CUmodule module = loadText(kSaxpy);
    const CUstream waits = makeStream();
    const CUstream faults = makeStream();
    EXPECT_EQ(launch(functionOf(module, "wait"), waits, deviceView(pinned<std::uint32_t>())),
              CUDA_SUCCESS);
    EXPECT_EQ(launch(functionOf(module, "end"), faults), CUDA_SUCCESS);
    EXPECT_EQ(sync(faults), CUDA_ERROR_LAUNCH_FAILED);
    EXPECT_EQ(sync(waits), CUDA_ERROR_LAUNCH_FAILED);
  });
}

TEST_F(Ptx, EndlessKernel_ProcessExits) {
  runReady([] {
    const CUmodule module = loadText(kSaxpy);
    EXPECT_EQ(launch(functionOf(module, "wait"), kNull, deviceView(pinned<std::uint32_t>())),
              CUDA_SUCCESS);
  });
}

TEST_F(Ptx, GraphLaunchedThrice_ComputesEachTime) {
  runReady([] {
    const CUmodule module = loadText(kSaxpy);
    const CUdeviceptr x = upload(std::vector<float>(4, 1));
    const CUdeviceptr y = upload(std::vector<float>(4, 0));
    const CUstream s = makeStream();
    EXPECT_EQ(cu<Cu::cuStreamBeginCapture_v2>(s, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_SUCCESS);
    EXPECT_EQ(launchShape(functionOf(module, "saxpy"), 1, 4, s, y, x, 1.0F, 4), CUDA_SUCCESS);
    CUgraph graph = nullptr;
    EXPECT_EQ(cu<Cu::cuStreamEndCapture>(s, &graph), CUDA_SUCCESS);
    CUgraphExec exec = nullptr;
    EXPECT_EQ(cu<Cu::cuGraphInstantiateWithFlags>(&exec, graph, 0ULL), CUDA_SUCCESS);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(cu<Cu::cuGraphLaunch>(exec, s), CUDA_SUCCESS);
    EXPECT_EQ(sync(s), CUDA_SUCCESS);
    EXPECT_EQ(download<float>(y, 4), (std::vector<float>(4, 3)));
  });
}

TEST_F(Ptx, Linker_TakesOneText) {
  runReady([] {
    CUlinkState state = nullptr;
    CUjit_option* const none = nullptr;
    void** const no_values = nullptr;
    EXPECT_EQ(cu<Cu::cuLinkCreate_v2>(0U, none, no_values, &state), CUDA_SUCCESS);
    const auto add = [&] {
      return cu<Cu::cuLinkAddData_v2>(state, CU_JIT_INPUT_PTX, const_cast<char*>(kSaxpy),
                                      std::strlen(kSaxpy), "name", 0U, none, no_values);
    };
    EXPECT_EQ(add(), CUDA_SUCCESS);
    EXPECT_EQ(add(), CUDA_ERROR_NOT_SUPPORTED);
    void* image = nullptr;
    std::size_t bytes = 0;
    EXPECT_EQ(cu<Cu::cuLinkComplete>(state, &image, &bytes), CUDA_SUCCESS);
    functionOf(loadText(static_cast<const char*>(image)), "saxpy");
  });
}

// The addresses of tinygrad's PTX renderer, and bytes of addresses in initial values.
TEST_F(Ptx, ElementsOfVariables_AreAddresses) {
  runReady([] {
    CUmodule module = nullptr;
    ASSERT_EQ(cu<Cu::cuModuleLoadData>(&module, static_cast<const void*>(R"(
.version 7.8
.target sm_75
.address_size 64
.global .align 8 .b32 words[4] = {10, 11, 12, 13};
.global .align 8 .u8 bytes[8] = {0xff(words+4), 0xff00(words+4),
  0xff0000(words+4), 0xff000000(words+4), 0xff00000000(words+4), 0xff0000000000(words+4),
  0xff000000000000(words+4), 0xff00000000000000(words+4)};
.visible .entry k(.param .u64 data)
{
  .shared .align 16 .b8 temp0[64];
  .reg .b64 %rd<8>;
  .reg .b32 %r<8>;
  mov.u64 %rd1, temp0[0];
  mov.u64 %rd2, temp0[8];
  mov.u32 %r1, 7;
  st.shared.u32 [%rd1+8], %r1;
  ld.shared.u32 %r2, [%rd2];
  ld.global.u64 %rd3, [bytes];
  ld.global.u32 %r3, [%rd3];
  add.u32 %r2, %r2, %r3;
  ld.global.u32 %r3, words[3];
  add.u32 %r2, %r2, %r3;
  ld.param.u64 %rd4, data[0];
  st.global.u32 [%rd4], %r2;
  ret;
})")),
              CUDA_SUCCESS);
    CUfunction function = nullptr;
    ASSERT_EQ(cu<Cu::cuModuleGetFunction>(&function, module, "k"), CUDA_SUCCESS);
    CUdeviceptr data = 0;
    ASSERT_EQ(cu<Cu::cuMemAlloc_v2>(&data, std::size_t{4}), CUDA_SUCCESS);
    void* params[] = {&data};
    void** const none = nullptr;
    ASSERT_EQ(cu<Cu::cuLaunchKernel>(function, 1U, 1U, 1U, 1U, 1U, 1U, 0U, kNull,
                                     static_cast<void**>(params), none),
              CUDA_SUCCESS);
    unsigned seen = 0;
    ASSERT_EQ(cu<Cu::cuMemcpyDtoH_v2>(static_cast<void*>(&seen), data, sizeof seen), CUDA_SUCCESS);
    EXPECT_EQ(seen, 7U + 11U + 13U);
  });
}

}  // namespace
}  // namespace divvy::simgpu
