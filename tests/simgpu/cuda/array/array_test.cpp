// CUDA arrays: shapes and what they cost.
#include <cstring>

#include "driver_process.h"

namespace divvy::simgpu {
namespace {

class Arrays : public DriverTest {
 protected:
  static CUDA_ARRAY3D_DESCRIPTOR shape(size_t width, size_t height, size_t depth, unsigned flags) {
    return {width, height, depth, CU_AD_FORMAT_FLOAT, 4, flags};
  }
  static const CUDA_ARRAY3D_DESCRIPTOR* at(const CUDA_ARRAY3D_DESCRIPTOR& d) { return &d; }
};

TEST_F(Arrays, EachShape_ChargedAsRequirementsSay) {
  runReady([] {
    struct Case {
      size_t width, height, depth;
      std::uint64_t bytes;
    };
    for (const Case& c : {Case{1, 0, 0, 65536}, Case{4096, 0, 0, 65536}, Case{4097, 0, 0, 131072},
                          Case{1024, 1024, 0, 16 * kMiB}, Case{64, 64, 64, 4 * kMiB}}) {
      const auto plain = shape(c.width, c.height, c.depth, 0);
      CUarray array = nullptr;
      ASSERT_EQ(cu<Cu::cuArray3DCreate_v2>(&array, at(plain)), CUDA_SUCCESS);
      EXPECT_EQ(booked(Charge::kArray), c.bytes) << c.width;
      CUDA_ARRAY_MEMORY_REQUIREMENTS needs{};
      EXPECT_EQ(cu<Cu::cuArrayGetMemoryRequirements>(&needs, array, 0), CUDA_ERROR_INVALID_VALUE)
          << "only for deferred mapping";
      EXPECT_EQ(cu<Cu::cuArrayDestroy>(array), CUDA_SUCCESS);
      EXPECT_EQ(booked(Charge::kArray), 0U);
      const auto deferred = shape(c.width, c.height, c.depth, CUDA_ARRAY3D_DEFERRED_MAPPING);
      ASSERT_EQ(cu<Cu::cuArray3DCreate_v2>(&array, at(deferred)), CUDA_SUCCESS);
      EXPECT_EQ(booked(Charge::kArray), 0U) << "mapped later";
      EXPECT_EQ(cu<Cu::cuArrayGetMemoryRequirements>(&needs, array, 0), CUDA_SUCCESS);
      EXPECT_EQ(needs.size, c.bytes);
      EXPECT_EQ(cu<Cu::cuArrayDestroy>(array), CUDA_SUCCESS);
      EXPECT_EQ(cu<Cu::cuArrayDestroy>(array), CUDA_ERROR_INVALID_HANDLE);
    }
  });
}

TEST_F(Arrays, Mipmap_AllLevelsCharged) {
  runReady([] {
    const auto base = shape(256, 256, 0, 0);
    CUmipmappedArray mipmap = nullptr;
    ASSERT_EQ(cu<Cu::cuMipmappedArrayCreate>(&mipmap, at(base), 3U), CUDA_SUCCESS);
    EXPECT_EQ(booked(Charge::kArray), kMiB + kMiB / 4 + kMiB / 16);
    CUarray level = nullptr;
    ASSERT_EQ(cu<Cu::cuMipmappedArrayGetLevel>(&level, mipmap, 2U), CUDA_SUCCESS);
    CUDA_ARRAY3D_DESCRIPTOR got{};
    EXPECT_EQ(cu<Cu::cuArray3DGetDescriptor_v2>(&got, level), CUDA_SUCCESS);
    EXPECT_EQ(got.Width, 64U);
    EXPECT_EQ(got.Height, 64U);
    EXPECT_EQ(cu<Cu::cuMipmappedArrayGetLevel>(&level, mipmap, 3U), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(cu<Cu::cuMipmappedArrayDestroy>(mipmap), CUDA_SUCCESS);
    EXPECT_EQ(booked(Charge::kArray), 0U);
  });
}

TEST_F(Arrays, ImpossibleShape_IsRefused) {
  runReady([] {
    CUarray array = nullptr;
    for (const auto& bad : {shape(0, 1, 1, 0), shape(1, 0, 5, 0), shape(1 << 20, 1, 1, 0),
                            shape(4, 5, 6, CUDA_ARRAY3D_CUBEMAP)}) {
      EXPECT_EQ(cu<Cu::cuArray3DCreate_v2>(&array, at(bad)), CUDA_ERROR_INVALID_VALUE);
    }
    CUDA_ARRAY3D_DESCRIPTOR three = shape(4, 4, 0, 0);
    three.NumChannels = 3;
    EXPECT_EQ(cu<Cu::cuArray3DCreate_v2>(&array, at(three)), CUDA_ERROR_INVALID_VALUE);
    const auto huge = shape(131072, 65536, 16384, 0);
    EXPECT_EQ(cu<Cu::cuArray3DCreate_v2>(&array, at(huge)), CUDA_ERROR_OUT_OF_MEMORY);
  });
}

TEST_F(Arrays, BoxCopies_ExactAndBounded) {
  runReady([] {
    constexpr size_t kWidth = 10, kHeight = 3, kDepth = 2;  // elements of 16 bytes
    const auto box = shape(kWidth, kHeight, kDepth, 0);
    CUarray array = nullptr;
    ASSERT_EQ(cu<Cu::cuArray3DCreate_v2>(&array, at(box)), CUDA_SUCCESS);
    unsigned char in[kWidth * 16 * kHeight * kDepth];
    unsigned char out[sizeof in] = {};
    for (size_t i = 0; i < sizeof in; ++i) in[i] = static_cast<unsigned char>(i * 7);
    CUDA_MEMCPY3D copy{};
    copy.srcMemoryType = CU_MEMORYTYPE_HOST;
    copy.srcHost = in;
    copy.srcPitch = kWidth * 16;
    copy.srcHeight = kHeight;
    copy.dstMemoryType = CU_MEMORYTYPE_ARRAY;
    copy.dstArray = array;
    copy.WidthInBytes = kWidth * 16;
    copy.Height = kHeight;
    copy.Depth = kDepth;
    EXPECT_EQ(cu<Cu::cuMemcpy3D_v2>(static_cast<const CUDA_MEMCPY3D*>(&copy)), CUDA_SUCCESS);
    CUDA_MEMCPY3D back{};
    back.srcMemoryType = CU_MEMORYTYPE_ARRAY;
    back.srcArray = array;
    back.dstMemoryType = CU_MEMORYTYPE_HOST;
    back.dstHost = out;
    back.dstPitch = kWidth * 16;
    back.dstHeight = kHeight;
    back.WidthInBytes = kWidth * 16;
    back.Height = kHeight;
    back.Depth = kDepth;
    EXPECT_EQ(cu<Cu::cuMemcpy3D_v2>(static_cast<const CUDA_MEMCPY3D*>(&back)), CUDA_SUCCESS);
    EXPECT_EQ(memcmp(in, out, sizeof in), 0);
    back.srcZ = 1;
    EXPECT_EQ(cu<Cu::cuMemcpy3D_v2>(static_cast<const CUDA_MEMCPY3D*>(&back)),
              CUDA_ERROR_INVALID_VALUE)
        << "beyond the last plane";
  });
}

TEST_F(Arrays, TextureObject_ReturnsItsDescriptor) {
  runReady([] {
    const auto plain = shape(64, 64, 0, CUDA_ARRAY3D_SURFACE_LDST);
    CUarray array = nullptr;
    ASSERT_EQ(cu<Cu::cuArray3DCreate_v2>(&array, at(plain)), CUDA_SUCCESS);
    CUDA_RESOURCE_DESC resource{};
    resource.resType = CU_RESOURCE_TYPE_ARRAY;
    resource.res.array.hArray = array;
    CUDA_TEXTURE_DESC texture{};
    texture.maxAnisotropy = 3;
    CUtexObject object = 0;
    const CUDA_RESOURCE_DESC* of = &resource;
    const CUDA_TEXTURE_DESC* as = &texture;
    const CUDA_RESOURCE_VIEW_DESC* whole = nullptr;
    ASSERT_EQ(cu<Cu::cuTexObjectCreate>(&object, of, as, whole), CUDA_SUCCESS);
    CUDA_TEXTURE_DESC got{};
    EXPECT_EQ(cu<Cu::cuTexObjectGetTextureDesc>(&got, object), CUDA_SUCCESS);
    EXPECT_EQ(got.maxAnisotropy, 3U);
    EXPECT_EQ(cu<Cu::cuTexObjectDestroy>(object), CUDA_SUCCESS);
    EXPECT_EQ(cu<Cu::cuTexObjectDestroy>(object), CUDA_ERROR_INVALID_VALUE);
    resource.res.array.hArray = nullptr;
    EXPECT_EQ(cu<Cu::cuTexObjectCreate>(&object, of, as, whole), CUDA_ERROR_INVALID_VALUE);
  });
}

TEST_F(Arrays, ContextDestroyed_ArraysFreed) {
  run([] {
    ASSERT_EQ(cu<Cu::cuInit>(0U), CUDA_SUCCESS);
    CUcontext context = nullptr;
    ASSERT_EQ(cu<Cu::cuCtxCreate_v2>(&context, 0U, 0), CUDA_SUCCESS);
    const auto plain = shape(1024, 1024, 0, 0);
    CUarray array = nullptr;
    ASSERT_EQ(cu<Cu::cuArray3DCreate_v2>(&array, at(plain)), CUDA_SUCCESS);
    EXPECT_EQ(cu<Cu::cuCtxDestroy_v2>(context), CUDA_SUCCESS);
    EXPECT_EQ(booked(Charge::kArray), 0U);
  });
}

}  // namespace
}  // namespace divvy::simgpu
