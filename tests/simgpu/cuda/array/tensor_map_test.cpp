// Tensor maps: which descriptions are taken.
#include <cstring>
#include <functional>

#include "driver_process.h"

namespace divvy::simgpu {
namespace {

class TensorMap : public DriverTest {
 protected:
  std::string profile() const override { return "h100"; }

  // A matrix of 1024 x 512 halves, in boxes of 64 x 64.
  struct Description {
    CUtensorMapDataType type = CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
    cuuint32_t rank = 2;
    std::uint64_t address = 0x1000;
    cuuint64_t dims[5] = {1024, 512, 4, 4, 4};
    cuuint64_t strides[4] = {2048, 2048 * 512, 1 << 22, 1 << 24};
    cuuint32_t box[5] = {64, 64, 1, 1, 1};
    cuuint32_t steps[5] = {1, 1, 1, 1, 1};
    CUtensorMapInterleave interleave = CU_TENSOR_MAP_INTERLEAVE_NONE;
    CUtensorMapSwizzle swizzle = CU_TENSOR_MAP_SWIZZLE_128B;
    CUtensorMapFloatOOBfill fill = CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE;
  };
  static CUresult encode(CUtensorMap* out, const Description& d) {
    return cu<Cu::cuTensorMapEncodeTiled>(out, d.type, d.rank, reinterpret_cast<void*>(d.address),
                                          &d.dims[0], &d.strides[0], &d.box[0], &d.steps[0],
                                          d.interleave, d.swizzle,
                                          CU_TENSOR_MAP_L2_PROMOTION_L2_128B, d.fill);
  }
};

TEST_F(TensorMap, ValidDescriptions_AreAccepted) {
  runReady([] {
    CUtensorMap map{};
    CUtensorMap other{};
    EXPECT_EQ(encode(&map, {}), CUDA_SUCCESS);
    Description moved;
    moved.address = 0x2000;
    EXPECT_EQ(encode(&other, moved), CUDA_SUCCESS);
    EXPECT_NE(std::memcmp(&map, &other, sizeof map), 0);
    EXPECT_EQ(cu<Cu::cuTensorMapReplaceAddress>(&map, reinterpret_cast<void*>(0x2000)),
              CUDA_SUCCESS);
    EXPECT_EQ(std::memcmp(&map, &other, sizeof map), 0);
    EXPECT_EQ(cu<Cu::cuTensorMapReplaceAddress>(&map, reinterpret_cast<void*>(0x2008)),
              CUDA_ERROR_INVALID_VALUE);
    Description packed;
    packed.type = CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN16B;
    packed.box[0] = 128;
    EXPECT_EQ(encode(&map, packed), CUDA_SUCCESS);
    Description interleaved;
    interleaved.rank = 3;
    interleaved.interleave = CU_TENSOR_MAP_INTERLEAVE_32B;
    interleaved.swizzle = CU_TENSOR_MAP_SWIZZLE_32B;
    EXPECT_EQ(encode(&map, interleaved), CUDA_SUCCESS);
  });
}

TEST_F(TensorMap, EachBrokenRule_IsInvalidValue) {
  runReady([] {
    const std::function<void(Description&)> spoils[] = {
        [](Description& d) { d.rank = 0; },
        [](Description& d) { d.rank = 6; },
        [](Description& d) { d.address += 8; },
        [](Description& d) { d.dims[1] = 0; },
        [](Description& d) { d.dims[1] = (1ULL << 31) + 1; },
        [](Description& d) { d.strides[0] = 2056; },
        [](Description& d) { d.strides[0] = 1ULL << 40; },
        [](Description& d) { d.box[1] = 257; },
        [](Description& d) { d.box[0] = 4; },
        [](Description& d) { d.box[0] = 72; },
        [](Description& d) { d.steps[1] = 9; },
        [](Description& d) { d.interleave = CU_TENSOR_MAP_INTERLEAVE_16B; },
        [](Description& d) { d.type = static_cast<CUtensorMapDataType>(16); },
        [](Description& d) {
          d.type = CU_TENSOR_MAP_DATA_TYPE_UINT16;
          d.fill = CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA;
        },
        [](Description& d) { d.type = CU_TENSOR_MAP_DATA_TYPE_16U6_ALIGN16B; }};
    CUtensorMap map{};
    int which = 0;
    for (const auto& spoil : spoils) {
      Description bad;
      spoil(bad);
      EXPECT_EQ(encode(&map, bad), CUDA_ERROR_INVALID_VALUE) << which;
      ++which;
    }
    EXPECT_EQ(encode(nullptr, {}), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(cu<Cu::cuTensorMapReplaceAddress>(&map, reinterpret_cast<void*>(0x2000)),
              CUDA_ERROR_INVALID_VALUE)
        << "never encoded";
  });
}

TEST_F(TensorMap, OlderCard_IsNotSupported) {
  runReady(
      [] {
        CUtensorMap map{};
        EXPECT_EQ(encode(&map, {}), CUDA_ERROR_NOT_SUPPORTED);
      },
      {{"SIMGPU_PROFILE", "l20"}});
}

}  // namespace
}  // namespace divvy::simgpu
