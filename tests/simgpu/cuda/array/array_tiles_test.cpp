// Arrays whose memory is mapped: sparse ones by the tile, deferred ones as a whole.
#include <cstring>

#include "driver_process.h"

namespace divvy::simgpu {
namespace {

constexpr std::uint64_t kTile = 64 << 10;
constexpr CUstream kNull = nullptr;

class ArrayTiles : public DriverTest {
 protected:
  static CUDA_ARRAY3D_DESCRIPTOR shape(size_t width, size_t height, size_t depth, unsigned flags) {
    return {width, height, depth, CU_AD_FORMAT_FLOAT, 1, flags};
  }
  static CUarray make(const CUDA_ARRAY3D_DESCRIPTOR& shape) {
    CUarray array = nullptr;
    const CUDA_ARRAY3D_DESCRIPTOR* of = &shape;
    EXPECT_EQ(cu<Cu::cuArray3DCreate_v2>(&array, of), CUDA_SUCCESS);
    return array;
  }
  static CUmemGenericAllocationHandle pool(std::uint64_t bytes,
                                           unsigned usage = CU_MEM_CREATE_USAGE_TILE_POOL) {
    CUmemAllocationProp prop{};
    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    prop.allocFlags.usage = static_cast<unsigned short>(usage);
    const CUmemAllocationProp* as = &prop;
    CUmemGenericAllocationHandle handle = 0;
    EXPECT_EQ(cu<Cu::cuMemCreate>(&handle, size_t{bytes}, as, 0ULL), CUDA_SUCCESS);
    return handle;
  }
  static CUarrayMapInfo entry(CUarray array, CUmemGenericAllocationHandle from,
                              std::uint64_t offset = 0) {
    CUarrayMapInfo info{};
    info.resourceType = CU_RESOURCE_TYPE_ARRAY;
    info.resource.array = array;
    info.memOperationType = from == 0 ? CU_MEM_OPERATION_TYPE_UNMAP : CU_MEM_OPERATION_TYPE_MAP;
    info.memHandle.memHandle = from;
    info.offset = offset;
    info.deviceBitMask = 1;
    return info;
  }
  // One tile of 128 x 128 floats.
  static CUarrayMapInfo tileEntry(CUarray array, unsigned x, unsigned y,
                                  CUmemGenericAllocationHandle from, std::uint64_t offset = 0) {
    CUarrayMapInfo info = entry(array, from, offset);
    info.subresource.sparseLevel = {0, 0, x * 128, y * 128, 0, 128, 128, 1};
    return info;
  }
  static CUresult apply(CUarrayMapInfo info) {
    return cu<Cu::cuMemMapArrayAsync>(&info, 1U, kNull);
  }
  static CUresult sync() { return cu<Cu::cuStreamSynchronize>(kNull); }
  static CUresult release(CUmemGenericAllocationHandle handle) {
    return cu<Cu::cuMemRelease>(handle);
  }
  // Writes one float and reads it back.
  static CUresult touch(CUarray array, size_t x, size_t y) {
    float value = 1.5F;
    float got = 0;
    CUDA_MEMCPY3D in{};
    in.srcMemoryType = CU_MEMORYTYPE_HOST;
    in.srcHost = &value;
    in.dstMemoryType = CU_MEMORYTYPE_ARRAY;
    in.dstArray = array;
    in.dstXInBytes = x * 4;
    in.dstY = y;
    in.WidthInBytes = 4;
    in.Height = in.Depth = 1;
    CUDA_MEMCPY3D out = in;
    out.srcMemoryType = CU_MEMORYTYPE_ARRAY;
    out.srcArray = array;
    out.srcXInBytes = x * 4;
    out.srcY = y;
    out.dstMemoryType = CU_MEMORYTYPE_HOST;
    out.dstHost = &got;
    out.dstXInBytes = out.dstY = 0;
    const CUDA_MEMCPY3D* first = &in;
    const CUDA_MEMCPY3D* second = &out;
    const CUresult written = cu<Cu::cuMemcpy3D_v2>(first);
    if (written != CUDA_SUCCESS) return written;
    const CUresult read = cu<Cu::cuMemcpy3D_v2>(second);
    EXPECT_EQ(got, value);
    return read;
  }
};

TEST_F(ArrayTiles, SparseArrays_TilesAndMipTailSizes) {
  runReady([] {
    struct Case {
      CUDA_ARRAY3D_DESCRIPTOR of;
      unsigned width, height, depth;
    };
    const unsigned sparse = CUDA_ARRAY3D_SPARSE;
    Case cases[] = {{shape(1024, 1024, 0, sparse), 128, 128, 1},
                    {shape(1024, 1024, 0, sparse), 64, 64, 1},
                    {shape(1024, 1024, 8, sparse | CUDA_ARRAY3D_LAYERED), 128, 128, 1},
                    {shape(1024, 1024, 64, sparse), 32, 32, 16}};
    cases[1].of.NumChannels = 4;
    for (const Case& c : cases) {
      CUDA_ARRAY_SPARSE_PROPERTIES got{};
      ASSERT_EQ(cu<Cu::cuArrayGetSparseProperties>(&got, make(c.of)), CUDA_SUCCESS);
      EXPECT_EQ(got.tileExtent.width, c.width);
      EXPECT_EQ(got.tileExtent.height, c.height);
      EXPECT_EQ(got.tileExtent.depth, c.depth);
      EXPECT_EQ(got.miptailSize, 0U);
    }
    CUDA_ARRAY_SPARSE_PROPERTIES got{};
    ASSERT_EQ(cu<Cu::cuArrayGetSparseProperties>(&got, make(shape(100, 1024, 0, sparse))),
              CUDA_SUCCESS);
    EXPECT_EQ(got.flags, CU_ARRAY_SPARSE_PROPERTIES_SINGLE_MIPTAIL);
    EXPECT_EQ(got.miptailSize, 7 * kTile);
    EXPECT_EQ(cu<Cu::cuArrayGetSparseProperties>(&got, make(shape(1024, 1024, 0, 0))),
              CUDA_ERROR_INVALID_VALUE);
    CUmipmappedArray mipmap = nullptr;
    const auto base = shape(1024, 1024, 0, sparse);
    const CUDA_ARRAY3D_DESCRIPTOR* of = &base;
    ASSERT_EQ(cu<Cu::cuMipmappedArrayCreate>(&mipmap, of, 11U), CUDA_SUCCESS);
    ASSERT_EQ(cu<Cu::cuMipmappedArrayGetSparseProperties>(&got, mipmap), CUDA_SUCCESS);
    EXPECT_EQ(got.miptailFirstLevel, 4U) << "128 x 128 is the last that holds a tile";
    EXPECT_EQ(got.miptailSize, kTile);
    EXPECT_EQ(booked(Charge::kArray), 16 * kTile * 4) << "only the array that is not sparse";
  });
}

TEST_F(ArrayTiles, UnmappedTile_AccessIsInvalid) {
  runReady([] {
    const CUarray array = make(shape(256, 256, 0, CUDA_ARRAY3D_SPARSE));
    const CUmemGenericAllocationHandle memory = pool(2 * kMiB);
    EXPECT_EQ(touch(array, 0, 0), CUDA_ERROR_INVALID_VALUE);
    ASSERT_EQ(apply(tileEntry(array, 1, 0, memory, 5 * kTile)), CUDA_SUCCESS);
    EXPECT_EQ(touch(array, 128, 127), CUDA_SUCCESS);
    EXPECT_EQ(touch(array, 127, 127), CUDA_ERROR_INVALID_VALUE) << "the tile beside it";
    EXPECT_EQ(touch(array, 128, 128), CUDA_ERROR_INVALID_VALUE) << "the tile below it";
    CUarrayMapInfo all = entry(array, memory);
    all.subresource.sparseLevel = {0, 0, 0, 0, 0, 256, 256, 1};
    ASSERT_EQ(apply(all), CUDA_SUCCESS);
    EXPECT_EQ(touch(array, 0, 255), CUDA_SUCCESS);
    ASSERT_EQ(apply(tileEntry(array, 0, 1, 0)), CUDA_SUCCESS);
    EXPECT_EQ(touch(array, 0, 255), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(booked(Charge::kVmm), 2 * kMiB);
    EXPECT_EQ(booked(Charge::kArray), 0U);
  });
}

TEST_F(ArrayTiles, ReleasedPool_ChargedUntilLastTile) {
  runReady([] {
    const CUarray array = make(shape(256, 256, 0, CUDA_ARRAY3D_SPARSE));
    const CUmemGenericAllocationHandle first = pool(2 * kMiB);
    const CUmemGenericAllocationHandle second = pool(2 * kMiB);
    ASSERT_EQ(apply(tileEntry(array, 0, 0, first)), CUDA_SUCCESS);
    ASSERT_EQ(apply(tileEntry(array, 1, 0, first)), CUDA_SUCCESS);
    ASSERT_EQ(release(first), CUDA_SUCCESS);
    EXPECT_EQ(booked(Charge::kVmm), 4 * kMiB);
    ASSERT_EQ(apply(tileEntry(array, 0, 0, second)), CUDA_SUCCESS) << "takes the tile over";
    ASSERT_EQ(sync(), CUDA_SUCCESS);
    EXPECT_EQ(booked(Charge::kVmm), 4 * kMiB) << "one tile still needs it";
    ASSERT_EQ(apply(tileEntry(array, 1, 0, 0)), CUDA_SUCCESS);
    ASSERT_EQ(sync(), CUDA_SUCCESS);
    EXPECT_EQ(booked(Charge::kVmm), 2 * kMiB);
    ASSERT_EQ(release(second), CUDA_SUCCESS);
    EXPECT_EQ(booked(Charge::kVmm), 2 * kMiB);
    EXPECT_EQ(cu<Cu::cuArrayDestroy>(array), CUDA_SUCCESS);
    EXPECT_EQ(booked(Charge::kVmm), 0U);
  });
}

TEST_F(ArrayTiles, DeferredArray_MappedAsOne) {
  runReady([] {
    const CUarray array = make(shape(512, 512, 0, CUDA_ARRAY3D_DEFERRED_MAPPING));
    CUDA_ARRAY_MEMORY_REQUIREMENTS needs{};
    ASSERT_EQ(cu<Cu::cuArrayGetMemoryRequirements>(&needs, array, 0), CUDA_SUCCESS);
    ASSERT_EQ(needs.size, kMiB);
    const CUmemGenericAllocationHandle memory = pool(2 * kMiB);
    EXPECT_EQ(touch(array, 0, 0), CUDA_ERROR_INVALID_VALUE);
    CUarrayMapInfo info = entry(array, memory, kMiB + kTile);
    std::memset(&info.subresource, 0xFF, sizeof info.subresource);
    EXPECT_EQ(apply(info), CUDA_ERROR_INVALID_VALUE) << "sticks out of the pool";
    info.offset = kMiB;
    ASSERT_EQ(apply(info), CUDA_SUCCESS);
    EXPECT_EQ(touch(array, 511, 511), CUDA_SUCCESS);
    ASSERT_EQ(release(memory), CUDA_SUCCESS);
    EXPECT_EQ(booked(Charge::kVmm), 2 * kMiB);
    ASSERT_EQ(apply(entry(array, 0)), CUDA_SUCCESS);
    EXPECT_EQ(touch(array, 511, 511), CUDA_ERROR_INVALID_VALUE);
    ASSERT_EQ(sync(), CUDA_SUCCESS);
    EXPECT_EQ(booked(Charge::kVmm), 0U);
  });
}

TEST_F(ArrayTiles, MipTail_MappedByOffsetLevelsByTile) {
  runReady([] {
    CUmipmappedArray mipmap = nullptr;
    const auto base = shape(256, 256, 0, CUDA_ARRAY3D_SPARSE);
    const CUDA_ARRAY3D_DESCRIPTOR* of = &base;
    ASSERT_EQ(cu<Cu::cuMipmappedArrayCreate>(&mipmap, of, 4U), CUDA_SUCCESS);
    const CUmemGenericAllocationHandle memory = pool(2 * kMiB);
    CUarrayMapInfo info = entry(nullptr, memory);
    info.resourceType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
    info.resource.mipmap = mipmap;
    info.subresourceType = CU_ARRAY_SPARSE_SUBRESOURCE_TYPE_MIPTAIL;
    info.subresource.miptail = {0, 0, kTile};
    ASSERT_EQ(apply(info), CUDA_SUCCESS);
    CUarray level = nullptr;
    ASSERT_EQ(cu<Cu::cuMipmappedArrayGetLevel>(&level, mipmap, 3U), CUDA_SUCCESS);
    EXPECT_EQ(touch(level, 31, 31), CUDA_SUCCESS);
    EXPECT_EQ(apply(tileEntry(level, 0, 0, memory)), CUDA_ERROR_INVALID_VALUE) << "part of another";
    ASSERT_EQ(cu<Cu::cuMipmappedArrayGetLevel>(&level, mipmap, 1U), CUDA_SUCCESS);
    EXPECT_EQ(touch(level, 0, 0), CUDA_ERROR_INVALID_VALUE);
    info.subresourceType = CU_ARRAY_SPARSE_SUBRESOURCE_TYPE_SPARSE_LEVEL;
    info.subresource.sparseLevel = {1, 0, 0, 0, 0, 128, 128, 1};
    ASSERT_EQ(apply(info), CUDA_SUCCESS);
    EXPECT_EQ(touch(level, 127, 127), CUDA_SUCCESS);
    info.subresource.sparseLevel.level = 2;
    EXPECT_EQ(apply(info), CUDA_ERROR_INVALID_VALUE) << "the tail begins there";
    EXPECT_EQ(release(memory), CUDA_SUCCESS);
    EXPECT_EQ(cu<Cu::cuMipmappedArrayDestroy>(mipmap), CUDA_SUCCESS);
    EXPECT_EQ(booked(Charge::kVmm), 0U);
  });
}

TEST_F(ArrayTiles, InvalidEntries_ChangeNothing) {
  runReady([] {
    const CUarray array = make(shape(256, 256, 0, CUDA_ARRAY3D_SPARSE));
    const CUmemGenericAllocationHandle memory = pool(2 * kMiB);
    const CUarrayMapInfo good = tileEntry(array, 0, 0, memory);
    EXPECT_EQ(apply(tileEntry(array, 0, 0, pool(2 * kMiB, 0))), CUDA_ERROR_INVALID_VALUE)
        << "no tile pool";
    EXPECT_EQ(apply(tileEntry(array, 0, 0, 12345)), CUDA_ERROR_INVALID_HANDLE);
    EXPECT_EQ(apply(tileEntry(make(shape(256, 256, 0, 0)), 0, 0, memory)),
              CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(apply(tileEntry(array, 2, 0, memory)), CUDA_ERROR_INVALID_VALUE) << "beyond it";
    EXPECT_EQ(apply(tileEntry(array, 0, 0, memory, 100)), CUDA_ERROR_INVALID_VALUE);
    for (const auto spoil :
         {+[](CUarrayMapInfo& i) { i.deviceBitMask = 3; }, +[](CUarrayMapInfo& i) { i.flags = 1; },
          +[](CUarrayMapInfo& i) { i.reserved[1] = 1; },
          +[](CUarrayMapInfo& i) { i.subresource.sparseLevel.offsetX = 64; },
          +[](CUarrayMapInfo& i) { i.subresource.sparseLevel.layer = 1; },
          +[](CUarrayMapInfo& i) { i.subresource.sparseLevel.level = 1; }}) {
      CUarrayMapInfo list[] = {good, good};
      spoil(list[1]);
      CUarrayMapInfo* both = list;
      EXPECT_EQ(cu<Cu::cuMemMapArrayAsync>(both, 2U, kNull), CUDA_ERROR_INVALID_VALUE);
    }
    EXPECT_EQ(touch(array, 0, 0), CUDA_ERROR_INVALID_VALUE) << "none of them was taken";
  });
}

TEST_F(ArrayTiles, ContextDestroyed_MappingsFreed) {
  run([] {
    ASSERT_EQ(cu<Cu::cuInit>(0U), CUDA_SUCCESS);
    CUcontext context = nullptr;
    ASSERT_EQ(cu<Cu::cuCtxCreate_v2>(&context, 0U, 0), CUDA_SUCCESS);
    const CUarray array = make(shape(256, 256, 0, CUDA_ARRAY3D_SPARSE));
    const CUmemGenericAllocationHandle memory = pool(2 * kMiB);
    ASSERT_EQ(apply(tileEntry(array, 0, 0, memory)), CUDA_SUCCESS);
    ASSERT_EQ(release(memory), CUDA_SUCCESS);
    EXPECT_EQ(cu<Cu::cuCtxDestroy_v2>(context), CUDA_SUCCESS);
    EXPECT_EQ(booked(Charge::kVmm), 0U);
  });
}

}  // namespace
}  // namespace divvy::simgpu
