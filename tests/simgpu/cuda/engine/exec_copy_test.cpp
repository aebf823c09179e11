// Copies and memsets: bytes, boxes, order, waiting, and what is refused.
#include <numeric>

#include "exec_driver.h"

namespace divvy::simgpu {
namespace {

class Copy : public DriverTest {};

constexpr CUstream kNull = nullptr;

std::vector<unsigned char> counting(std::size_t count) {
  std::vector<unsigned char> values(count);
  std::iota(values.begin(), values.end(), static_cast<unsigned char>(0));
  return values;
}

TEST_F(Copy, EachRoute_BytesSurvive) {
  runReady([] {
    const auto bytes = counting(100'000);
    const CUdeviceptr a = upload(bytes);
    const CUdeviceptr b = allocate(bytes.size());
    auto* staged = pinned<unsigned char>(bytes.size());
    auto* back = pinned<unsigned char>(bytes.size());
    const CUstream s = makeStream();
    EXPECT_EQ(cu<Cu::cuMemcpyDtoDAsync_v2>(b, a, bytes.size(), s), CUDA_SUCCESS);
    EXPECT_EQ(cu<Cu::cuMemcpyDtoHAsync_v2>(static_cast<void*>(staged), b, bytes.size(), s),
              CUDA_SUCCESS);
    EXPECT_EQ(cu<Cu::cuMemsetD8Async>(a, static_cast<unsigned char>(9), bytes.size(), s),
              CUDA_SUCCESS);
    EXPECT_EQ(cu<Cu::cuMemcpyHtoDAsync_v2>(a, static_cast<const void*>(staged), bytes.size(), s),
              CUDA_SUCCESS);
    EXPECT_EQ(cu<Cu::cuMemcpyAsync>(deviceView(back), a, bytes.size(), s), CUDA_SUCCESS);
    EXPECT_EQ(sync(s), CUDA_SUCCESS);
    EXPECT_EQ(std::memcmp(back, bytes.data(), bytes.size()), 0);
  });
}

// cuMemcpy finds out itself what its two addresses are.
TEST_F(Copy, FreshMemory_PatternKeptAroundCopy) {
  runReady([] {
    constexpr std::size_t kBytes = 1 << 20;
    const std::vector<unsigned char> data(3 * 65536, 9);
    for (const std::size_t at : {std::size_t{1000}, std::size_t{65536}, std::size_t{65000}}) {
      for (const bool set : {false, true}) {
        const CUdeviceptr p = allocate(kBytes);
        if (set) {
          EXPECT_EQ(cu<Cu::cuMemsetD8_v2>(p + at, static_cast<unsigned char>(9), data.size()),
                    CUDA_SUCCESS);
        } else {
          EXPECT_EQ(
              cu<Cu::cuMemcpyHtoD_v2>(p + at, static_cast<const void*>(data.data()), data.size()),
              CUDA_SUCCESS);
        }
        std::vector<unsigned char> expected(kBytes, 0xd5);
        std::copy(data.begin(), data.end(), expected.begin() + static_cast<long>(at));
        EXPECT_EQ(download<unsigned char>(p, kBytes), expected) << at << (set ? " set" : "");
      }
    }
  });
}

TEST_F(Copy, UnifiedCopy_InfersBothSides) {
  runReady([] {
    const auto bytes = counting(4096);
    std::vector<unsigned char> plain(4096);
    auto* host = pinned<unsigned char>(4096);
    const CUdeviceptr device = upload(bytes);
    const CUdeviceptr other = allocate(4096);
    const CUdeviceptr pageable = deviceView(plain.data());
    const CUdeviceptr route[] = {device, other, deviceView(host), pageable, other, pageable};
    for (std::size_t i = 0; i + 1 < std::size(route); ++i) {
      EXPECT_EQ(cu<Cu::cuMemcpy>(route[i + 1], route[i], size_t{4096}), CUDA_SUCCESS) << i;
    }
    EXPECT_EQ(plain, bytes);
    const CUdeviceptr freed = allocate(4096);
    EXPECT_EQ(cu<Cu::cuMemFree_v2>(freed), CUDA_SUCCESS);
    EXPECT_EQ(cu<Cu::cuMemcpy>(device, freed, size_t{4096}), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(cu<Cu::cuMemcpy>(device, CUdeviceptr{0}, size_t{4096}), CUDA_ERROR_INVALID_VALUE);
  });
}

TEST_F(Copy, RangeOutsideAllocation_IsRefused) {
  runReady([] {
    const CUdeviceptr data = allocate(512);
    std::vector<unsigned char> host(2048);
    void* to = host.data();
    const void* from = host.data();
    EXPECT_EQ(cu<Cu::cuMemcpyHtoD_v2>(data, from, size_t{513}), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(cu<Cu::cuMemcpyDtoH_v2>(to, data + 500, size_t{13}), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(cu<Cu::cuMemcpyDtoDAsync_v2>(data, data + 512, size_t{1}, kNull),
              CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(cu<Cu::cuMemsetD32_v2>(data + 2, 0U, size_t{1}), CUDA_ERROR_INVALID_VALUE)
        << "not aligned";
    EXPECT_EQ(cu<Cu::cuMemsetD8_v2>(data, static_cast<unsigned char>(0), size_t{513}),
              CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(cu<Cu::cuMemcpyHtoD_v2>(data, static_cast<const void*>(nullptr), size_t{1}),
              CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(cu<Cu::cuMemcpyHtoD_v2>(CUdeviceptr{0}, from, size_t{0}), CUDA_SUCCESS)
        << "nothing is copied from or to nowhere";
    EXPECT_EQ(cu<Cu::cuCtxSynchronize>(), CUDA_SUCCESS) << "the context is unharmed";
  });
}

TEST_F(Copy, PageableMemory_MayChangeAfterCall) {
  runReady([] {
    for (const std::size_t count : {size_t{16}, size_t{1} << 20}) {
      std::vector<unsigned char> host(count, 1);
      const CUdeviceptr data = allocate(count);
      const CUstream s = makeStream();
      EXPECT_EQ(spin(s, 2 * kMillisecond), CUDA_SUCCESS);
      EXPECT_EQ(cu<Cu::cuMemcpyHtoDAsync_v2>(data, static_cast<const void*>(host.data()), count, s),
                CUDA_SUCCESS);
      std::fill(host.begin(), host.end(), static_cast<unsigned char>(2));
      EXPECT_EQ(sync(s), CUDA_SUCCESS);
      EXPECT_EQ(download<unsigned char>(data, count), std::vector<unsigned char>(count, 1));
      EXPECT_EQ(cu<Cu::cuMemcpyDtoHAsync_v2>(static_cast<void*>(host.data()), data, count, s),
                CUDA_SUCCESS);
      EXPECT_EQ(host[count - 1], 1) << "a copy to pageable memory is done when the call returns";
    }
  });
}

TEST_F(Copy, PinnedDestination_CallDoesNotWait) {
  runReady([] {
    auto* host = pinned<std::uint32_t>(4);
    const CUdeviceptr data = upload(std::vector<std::uint32_t>{5});
    const CUstream s = makeStream();
    Gate gate(s);
    EXPECT_EQ(cu<Cu::cuMemcpyDtoHAsync_v2>(static_cast<void*>(host), data, size_t{4}, s),
              CUDA_SUCCESS);
    EXPECT_EQ(cu<Cu::cuStreamWriteValue32_v2>(s, deviceView(host + 1), 1U, 0U), CUDA_SUCCESS);
    EXPECT_EQ(*host, 0U);
    gate.open();
    EXPECT_TRUE(eventually([&] { return std::atomic_ref(host[1]).load() == 1U; }))
        << "both arrive without any further call";
    EXPECT_EQ(*host, 5U);
  });
}

TEST_F(Copy, BoxCopies_HitExactPlaces) {
  runReady([] {
    constexpr std::size_t kPitch = 64;
    const CUdeviceptr device = upload(std::vector<unsigned char>(kPitch * 64, 0xee));
    auto host = counting(20 * 20 * 3);
    CUDA_MEMCPY3D box{};
    box.srcMemoryType = CU_MEMORYTYPE_HOST;
    box.srcHost = host.data();
    box.srcPitch = 20;
    box.srcHeight = 20;
    box.srcXInBytes = 2;
    box.srcY = 3;
    box.srcZ = 1;
    box.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    box.dstDevice = device;
    box.dstPitch = kPitch;
    box.dstHeight = 16;
    box.dstXInBytes = 5;
    box.dstY = 1;
    box.WidthInBytes = 10;
    box.Height = 4;
    box.Depth = 2;
    const CUDA_MEMCPY3D* params = &box;
    EXPECT_EQ(cu<Cu::cuMemcpy3D_v2>(params), CUDA_SUCCESS);
    const auto seen = download<unsigned char>(device, kPitch * 64);
    for (std::size_t z = 0; z < 4; ++z) {
      for (std::size_t y = 0; y < 16; ++y) {
        for (std::size_t x = 0; x < kPitch; ++x) {
          const bool in = z < 2 && y >= 1 && y < 5 && x >= 5 && x < 15;
          const auto expected = in ? host[((z + 1) * 20 + (y - 1 + 3)) * 20 + (x - 5 + 2)] : 0xee;
          ASSERT_EQ(seen[(z * 16 + y) * kPitch + x], expected) << x << ' ' << y << ' ' << z;
        }
      }
    }
    box.dstPitch = 8;
    EXPECT_EQ(cu<Cu::cuMemcpy3D_v2>(params), CUDA_ERROR_INVALID_VALUE) << "rows do not fit";

    CUDA_MEMCPY2D flat{};
    std::vector<unsigned char> out(4 * 10);
    flat.srcMemoryType = CU_MEMORYTYPE_DEVICE;
    flat.srcDevice = device;
    flat.srcPitch = kPitch;
    flat.srcXInBytes = 5;
    flat.srcY = 1;
    flat.dstMemoryType = CU_MEMORYTYPE_HOST;
    flat.dstHost = out.data();
    flat.WidthInBytes = 10;
    flat.Height = 4;
    const CUDA_MEMCPY2D* flat_params = &flat;
    EXPECT_EQ(cu<Cu::cuMemcpy2D_v2>(flat_params), CUDA_SUCCESS) << "pitch 0: rows are packed";
    EXPECT_EQ(out[13], host[(20 + 4) * 20 + 5]);
  });
}

TEST_F(Copy, MemsetSizes_FillExactRange) {
  runReady([] {
    const CUdeviceptr p = upload(std::vector<unsigned char>(64, 0));
    EXPECT_EQ(cu<Cu::cuMemsetD8_v2>(p, static_cast<unsigned char>(1), size_t{3}), CUDA_SUCCESS);
    EXPECT_EQ(cu<Cu::cuMemsetD16_v2>(p + 4, static_cast<unsigned short>(0x0203), size_t{2}),
              CUDA_SUCCESS);
    EXPECT_EQ(cu<Cu::cuMemsetD32_v2>(p + 8, 0x04050607U, size_t{1}), CUDA_SUCCESS);
    EXPECT_EQ(cu<Cu::cuMemsetD2D8_v2>(p + 16, size_t{8}, static_cast<unsigned char>(9), size_t{2},
                                      size_t{2}),
              CUDA_SUCCESS);
    const auto seen = download<unsigned char>(p, 32);
    const std::vector<unsigned char> expected{1, 1, 1, 0, 3, 2, 3, 2, 7, 6, 5, 4, 0, 0, 0, 0,
                                              9, 9, 0, 0, 0, 0, 0, 0, 9, 9, 0, 0, 0, 0, 0, 0};
    EXPECT_EQ(seen, expected);
    EXPECT_EQ(
        cu<Cu::cuMemsetD2D8_v2>(p, size_t{1}, static_cast<unsigned char>(9), size_t{2}, size_t{2}),
        CUDA_ERROR_INVALID_VALUE);
  });
}

TEST_F(Copy, BothDirections_OwnEnginesAndBytesLogged) {
  runReady([] {
    constexpr std::size_t kBytes = 64 * kMiB;
    const CUdeviceptr a = allocate(kBytes);
    auto* host = pinned<unsigned char>(kBytes);
    const CUstream in = makeStream();
    const CUstream out = makeStream();
    Gate first(in);
    Gate second(out);
    EXPECT_EQ(cu<Cu::cuMemcpyHtoDAsync_v2>(a, static_cast<const void*>(host), kBytes / 2, in),
              CUDA_SUCCESS);
    EXPECT_EQ(cu<Cu::cuMemcpyDtoHAsync_v2>(static_cast<void*>(host + kBytes / 2), a + kBytes / 2,
                                           kBytes / 2, out),
              CUDA_SUCCESS);
    first.open();
    second.open();
    EXPECT_EQ(cu<Cu::cuCtxSynchronize>(), CUDA_SUCCESS);
    const auto view = readIntervals(std::getenv("SIMGPU_DIR"), 0);
    ASSERT_TRUE(view.has_value());
    std::uint64_t bytes_in = 0;
    std::uint64_t bytes_out = 0;
    for (const Interval& i : view->intervals) {
      if (i.engine == CardEngine::kCopyIn) bytes_in += i.bytes;
      if (i.engine == CardEngine::kCopyOut) bytes_out += i.bytes;
    }
    EXPECT_EQ(bytes_in, kBytes / 2);
    EXPECT_EQ(bytes_out, kBytes / 2);
    EXPECT_GT(busyWithin(*view, getpid(), CardEngine::kCopyIn, 0, UINT64_MAX), kMillisecond)
        << "32 MiB at some 25 GB/s";
  });
}

// A card whose link takes a nanosecond for a byte.
class SlowLink : public Copy {
 protected:
  std::string profile() const override { return "swap"; }
  static std::uint64_t copying(CardEngine engine) {
    const auto view = readIntervals(std::getenv("SIMGPU_DIR"), 0);
    return view ? busyWithin(*view, getpid(), engine, 0, UINT64_MAX) : 0;
  }
};

TEST_F(SlowLink, BothDirections_TakeAQuarterLonger) {
  runReady([] {
    size_t total = 0;
    EXPECT_EQ(cu<Cu::cuDeviceTotalMem_v2>(&total, 0), CUDA_SUCCESS);
    EXPECT_EQ(total, 512 * kMiB);
    EXPECT_EQ(booked(Charge::kContext), 8 * kMiB);
    constexpr std::size_t kBytes = 8 * kMiB;
    constexpr std::uint64_t kFixed = 1'500;
    const CUdeviceptr a = allocate(2 * kBytes);
    auto* host = pinned<unsigned char>(2 * kBytes);
    const void* from = host;
    EXPECT_EQ(cu<Cu::cuMemcpyHtoDAsync_v2>(a, from, kBytes, CUstream{nullptr}), CUDA_SUCCESS);
    EXPECT_EQ(cu<Cu::cuCtxSynchronize>(), CUDA_SUCCESS);
    EXPECT_EQ(copying(CardEngine::kCopyIn), kBytes + kFixed);
    const CUevent start = makeEvent();
    Gate gate(nullptr);
    EXPECT_EQ(cu<Cu::cuEventRecord>(start, CUstream{nullptr}), CUDA_SUCCESS);
    const CUstream in = makeStream();
    const CUstream out = makeStream();
    EXPECT_EQ(cu<Cu::cuStreamWaitEvent>(in, start, 0U), CUDA_SUCCESS);
    EXPECT_EQ(cu<Cu::cuStreamWaitEvent>(out, start, 0U), CUDA_SUCCESS);
    void* to = host + kBytes;
    EXPECT_EQ(cu<Cu::cuMemcpyHtoDAsync_v2>(a, from, kBytes, in), CUDA_SUCCESS);
    EXPECT_EQ(cu<Cu::cuMemcpyDtoHAsync_v2>(to, a + kBytes, kBytes, out), CUDA_SUCCESS);
    gate.open();
    EXPECT_EQ(cu<Cu::cuCtxSynchronize>(), CUDA_SUCCESS);
    const std::uint64_t duplex = (kBytes + kFixed) * 5 / 4;
    EXPECT_NEAR(static_cast<double>(copying(CardEngine::kCopyOut)), duplex, 10);
    EXPECT_NEAR(static_cast<double>(copying(CardEngine::kCopyIn)), kBytes + kFixed + duplex, 10);
  });
}

TEST_F(Copy, PeersAndBatches_BytesArrive) {
  runReady(
      [] {
        CUcontext here = nullptr;
        CUcontext there = nullptr;
        EXPECT_EQ(cu<Cu::cuCtxGetCurrent>(&here), CUDA_SUCCESS);
        const CUdeviceptr a = upload(counting(256));
        EXPECT_EQ(cu<Cu::cuCtxCreate_v2>(&there, 0U, 1), CUDA_SUCCESS);
        const CUdeviceptr b = allocate(256);
        EXPECT_EQ(cu<Cu::cuMemcpyPeer>(b, there, a, here, size_t{256}), CUDA_SUCCESS);
        EXPECT_EQ(cu<Cu::cuCtxSynchronize>(), CUDA_SUCCESS);
        EXPECT_EQ(download<unsigned char>(b, 256), counting(256));
        EXPECT_EQ(cu<Cu::cuMemcpyPeer>(b, CUcontext{nullptr}, a, here, size_t{256}),
                  CUDA_ERROR_INVALID_CONTEXT);

        const CUstream s = makeStream();
        CUdeviceptr to[] = {b, b + 16};
        CUdeviceptr from[] = {b + 32, b + 64};
        std::size_t sizes[] = {16, 16};
        std::size_t fail = 0;
        EXPECT_EQ(cu<Cu::cuMemcpyBatchAsync>(
                      static_cast<CUdeviceptr*>(to), static_cast<CUdeviceptr*>(from),
                      static_cast<std::size_t*>(sizes), size_t{2},
                      static_cast<CUmemcpyAttributes*>(nullptr), static_cast<std::size_t*>(nullptr),
                      size_t{0}, &fail, s),
                  CUDA_SUCCESS);
        EXPECT_EQ(sync(s), CUDA_SUCCESS);
        EXPECT_EQ(download<unsigned char>(b, 32)[17], 65);
        sizes[1] = 4096;
        EXPECT_EQ(cu<Cu::cuMemcpyBatchAsync>(
                      static_cast<CUdeviceptr*>(to), static_cast<CUdeviceptr*>(from),
                      static_cast<std::size_t*>(sizes), size_t{2},
                      static_cast<CUmemcpyAttributes*>(nullptr), static_cast<std::size_t*>(nullptr),
                      size_t{0}, &fail, s),
                  CUDA_ERROR_INVALID_VALUE);
        EXPECT_EQ(fail, 1U);
      },
      {{"SIMGPU_PROFILE", "rtx4070x2"}});
}

TEST_F(Copy, ArrayCopies_ByBoxAndRun) {
  runReady([] {
    CUDA_ARRAY_DESCRIPTOR shape{};
    shape.Width = 8;
    shape.Height = 4;
    shape.Format = CU_AD_FORMAT_UNSIGNED_INT32;
    shape.NumChannels = 1;
    const CUDA_ARRAY_DESCRIPTOR* wanted = &shape;
    CUarray array = nullptr;
    ASSERT_EQ(cu<Cu::cuArrayCreate_v2>(&array, wanted), CUDA_SUCCESS);
    std::vector<std::uint32_t> values(32);
    std::iota(values.begin(), values.end(), 100U);
    CUDA_MEMCPY2D in{};
    in.srcMemoryType = CU_MEMORYTYPE_HOST;
    in.srcHost = values.data();
    in.srcPitch = 32;
    in.dstMemoryType = CU_MEMORYTYPE_ARRAY;
    in.dstArray = array;
    in.WidthInBytes = 32;
    in.Height = 4;
    const CUDA_MEMCPY2D* params = &in;
    EXPECT_EQ(cu<Cu::cuMemcpy2D_v2>(params), CUDA_SUCCESS);
    std::uint32_t row[8] = {};
    EXPECT_EQ(cu<Cu::cuMemcpyAtoH_v2>(static_cast<void*>(row), array, size_t{8}, size_t{24}),
              CUDA_SUCCESS);
    EXPECT_EQ(row[0], 102U);
    EXPECT_EQ(row[5], 107U);
    in.dstXInBytes = 4;
    EXPECT_EQ(cu<Cu::cuMemcpy2D_v2>(params), CUDA_ERROR_INVALID_VALUE) << "does not fit";
  });
}

}  // namespace
}  // namespace divvy::simgpu
