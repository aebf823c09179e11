#include "cuda/call_work.h"

#include <gtest/gtest.h>

namespace divvy::interposer {
namespace {

using abi::Cu;

// Handles that are never followed.
template <typename Handle>
Handle handle(std::uintptr_t value) {
  return reinterpret_cast<Handle>(value);
}
const CUstream kStream = handle<CUstream>(0x5000);
const CUfunction kFunction = handle<CUfunction>(0x7000);
constexpr CUstream kNull = nullptr;

CallWork kernel(unsigned x, unsigned y, CUstream stream) {
  return workOf<Cu::cuLaunchKernel>(kFunction, x, y, 1u, 128u, 1u, 1u, 0u, stream,
                                    static_cast<void**>(nullptr), static_cast<void**>(nullptr));
}

TEST(CallWork, Kernel_KeyIsFunctionAndGridOctave) {
  const CallWork work = kernel(64, 2, kStream);
  EXPECT_EQ(work.kind, WorkKind::kKernel);
  EXPECT_EQ(work.stream, kStream);
  EXPECT_FALSE(work.legacy());
  EXPECT_FALSE(work.synchronous);
  EXPECT_EQ(work.key, kernel(128, 1, kNull).key);
  EXPECT_EQ(work.key, kernel(200, 1, kNull).key);
  EXPECT_NE(work.key, kernel(256, 1, kNull).key);
}

TEST(CallWork, EveryKernelLaunchCall_SameKey) {
  const CallWork plain = kernel(64, 2, kStream);
  CUlaunchConfig config = {};
  config.gridDimX = 64;
  config.gridDimY = 2;
  config.gridDimZ = 1;
  config.hStream = kStream;
  const CallWork extended =
      workOf<Cu::cuLaunchKernelEx>(static_cast<const CUlaunchConfig*>(&config), kFunction,
                                   static_cast<void**>(nullptr), static_cast<void**>(nullptr));
  EXPECT_EQ(extended.key, plain.key);
  EXPECT_EQ(extended.stream, kStream);
  const CallWork cooperative = workOf<Cu::cuLaunchCooperativeKernel>(
      kFunction, 64u, 2u, 1u, 1u, 1u, 1u, 0u, kStream, static_cast<void**>(nullptr));
  EXPECT_EQ(cooperative.key, plain.key);
  const CallWork old = workOf<Cu::cuLaunchGridAsync>(kFunction, 64, 2, kStream);
  EXPECT_EQ(old.key, plain.key);
  EXPECT_EQ(old.stream, kStream);
  EXPECT_EQ(workOf<Cu::cuLaunchGrid>(kFunction, 64, 2).key, plain.key);
  CUDA_LAUNCH_PARAMS several[1] = {};
  several[0].function = kFunction;
  several[0].gridDimX = 128;
  several[0].gridDimY = several[0].gridDimZ = 1;
  several[0].hStream = kStream;
  EXPECT_EQ(workOf<Cu::cuLaunchCooperativeKernelMultiDevice>(&several[0], 1u, 0u).key, plain.key);
}

TEST(CallWork, DefaultStreams_LegacyAndPerThreadDistinct) {
  EXPECT_TRUE(kernel(1, 1, kNull).legacy());
  EXPECT_TRUE(kernel(1, 1, handle<CUstream>(1)).legacy());
  EXPECT_TRUE(kernel(1, 1, handle<CUstream>(2)).per_thread);
  const auto graph = handle<CUgraphExec>(0x9000);
  EXPECT_TRUE(workOf<Cu::cuGraphLaunch>(graph, kNull).legacy());
  EXPECT_TRUE(workOf<Cu::cuGraphLaunch_ptsz>(graph, kNull).per_thread);
  EXPECT_TRUE(workOf<Cu::cuGraphLaunch_ptsz>(graph, handle<CUstream>(1)).legacy());
  EXPECT_EQ(workOf<Cu::cuGraphLaunch_ptsz>(graph, kStream).stream, kStream);
  EXPECT_FALSE(workOf<Cu::cuGraphLaunch_ptsz>(graph, kStream).per_thread);
  EXPECT_TRUE(
      (workOf<Cu::cuMemsetD8_v2_ptds>(CUdeviceptr{}, static_cast<unsigned char>(0), std::size_t{1})
           .per_thread));
}

TEST(CallWork, CopiesAndFills_BytesReported) {
  void* host = nullptr;
  const CallWork copy =
      workOf<Cu::cuMemcpyDtoHAsync_v2>(host, CUdeviceptr{}, std::size_t{4096}, kStream);
  EXPECT_EQ(copy.kind, WorkKind::kCopy);
  EXPECT_EQ(copy.bytes, 4096u);
  EXPECT_EQ(copy.stream, kStream);
  EXPECT_FALSE(copy.synchronous);
  const auto* source = static_cast<const void*>(nullptr);
  const CallWork waiting = workOf<Cu::cuMemcpyHtoD_v2>(CUdeviceptr{}, source, std::size_t{100});
  EXPECT_TRUE(waiting.synchronous && waiting.legacy());
  EXPECT_EQ(waiting.bytes, 100u);
  EXPECT_NE(waiting.key, copy.key);
  const CUdeviceptr at = 0;
  EXPECT_EQ(workOf<Cu::cuMemsetD8_v2>(at, static_cast<unsigned char>(1), std::size_t{7}).bytes, 7u);
  EXPECT_EQ(workOf<Cu::cuMemsetD16_v2>(at, static_cast<unsigned short>(1), std::size_t{7}).bytes,
            14u);
  EXPECT_EQ(workOf<Cu::cuMemsetD32Async>(at, 9u, std::size_t{7}, kStream).bytes, 28u);
  EXPECT_EQ(
      workOf<Cu::cuMemsetD2D32_v2>(at, std::size_t{512}, 9u, std::size_t{7}, std::size_t{3}).bytes,
      84u);
  EXPECT_EQ(workOf<Cu::cuMemPrefetchAsync>(at, std::size_t{5000}, CUdevice{0}, kStream).bytes,
            5000u);
  EXPECT_EQ(
      workOf<Cu::cuMemPrefetchAsync_v2>(at, std::size_t{5000}, CUmemLocation{}, 0u, kStream).bytes,
      5000u);
}

TEST(CallWork, BoxCopies_BytesAreProductOfExtents) {
  CUDA_MEMCPY2D flat = {};
  flat.WidthInBytes = 100;
  flat.Height = 20;
  const auto* described = static_cast<const CUDA_MEMCPY2D*>(&flat);
  EXPECT_EQ(workOf<Cu::cuMemcpy2DAsync_v2>(described, kStream).bytes, 2000u);
  CUDA_MEMCPY3D deep = {};
  deep.WidthInBytes = 100;
  deep.Height = 20;
  deep.Depth = 3;
  EXPECT_EQ(workOf<Cu::cuMemcpy3D_v2>(static_cast<const CUDA_MEMCPY3D*>(&deep)).bytes, 6000u);
  EXPECT_EQ(workOf<Cu::cuMemcpy3D_v2>(static_cast<const CUDA_MEMCPY3D*>(nullptr)).bytes, 0u);
}

TEST(CallWork, StreamMemoryOperation_KindIsMemop) {
  const CallWork work =
      workOf<Cu::cuStreamWriteValue32_v2>(kStream, CUdeviceptr{}, cuuint32_t{1}, 0u);
  EXPECT_EQ(work.kind, WorkKind::kMemop);
  EXPECT_EQ(work.stream, kStream);
}

TEST(CallWork, SizeStep_FifthMoreBytesOtherKey) {
  using work_detail::sizeStep;
  EXPECT_EQ(sizeStep(1 << 20), sizeStep((1 << 20) + 1000));
  EXPECT_NE(sizeStep(1 << 20), sizeStep((1 << 20) * 5 / 4));
  EXPECT_NE(sizeStep(1), sizeStep(2));
}

}  // namespace
}  // namespace divvy::interposer
