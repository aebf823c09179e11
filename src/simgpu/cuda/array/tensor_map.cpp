// Tensor maps (CUDA Driver API, "Tensor Map Object Management"): checked as documented, and stored
// in 128 bytes of our own layout. Kernels here do not read them.
#include <algorithm>
#include <cstring>

#include "cuda/context/api_prologue.h"

namespace divvy::simgpu {
namespace {

constexpr unsigned kMaxRank = 5;
constexpr std::uint64_t kTensorMagic = 0x31304d54475344ULL;  // "DSGTM01"

// Layout of a map's bytes.
struct EncodedMap {
  std::uint64_t magic;
  std::uint64_t address;
  std::uint64_t strides[kMaxRank - 1];
  std::uint32_t dims[kMaxRank];
  std::uint16_t box[kMaxRank];
  std::uint8_t steps[kMaxRank];
  std::uint8_t rank, type, interleave, swizzle, promotion, fill;
};
static_assert(sizeof(EncodedMap) <= sizeof(CUtensorMap));

struct Tiling {
  CUtensorMapDataType type;
  unsigned rank;
  std::uint64_t address;
  const cuuint64_t* dims;
  const cuuint64_t* strides;
  const cuuint32_t* box;
  const cuuint32_t* steps;
  CUtensorMapInterleave interleave;
  CUtensorMapSwizzle swizzle;
  CUtensorMapL2promotion promotion;
  CUtensorMapFloatOOBfill fill;
};

// Values of 4 or 6 bits, padded to 16 bytes in shared memory.
bool isPadded(CUtensorMapDataType type) {
  return type == CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN16B ||
         type == CU_TENSOR_MAP_DATA_TYPE_16U6_ALIGN16B;
}

unsigned bitsOf(CUtensorMapDataType type) {
  static constexpr unsigned kBits[] = {8, 16, 32, 32, 64, 64, 16, 32, 64, 16, 32, 32, 32, 4, 4, 6};
  return kBits[type];
}

bool isFloat(CUtensorMapDataType type) {
  return type >= CU_TENSOR_MAP_DATA_TYPE_FLOAT16 && type <= CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ;
}

bool knownKinds(const Tiling& t) {
  return t.type <= CU_TENSOR_MAP_DATA_TYPE_16U6_ALIGN16B &&
         t.interleave <= CU_TENSOR_MAP_INTERLEAVE_32B &&
         t.swizzle <= CU_TENSOR_MAP_SWIZZLE_128B_ATOM_64B &&
         t.promotion <= CU_TENSOR_MAP_L2_PROMOTION_L2_256B &&
         t.fill <= CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA &&
         (t.fill == CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE || isFloat(t.type));
}

bool fitsSwizzle(const Tiling& t) {
  if (t.interleave == CU_TENSOR_MAP_INTERLEAVE_32B) return t.swizzle == CU_TENSOR_MAP_SWIZZLE_32B;
  if (t.interleave != CU_TENSOR_MAP_INTERLEAVE_NONE) return true;
  const std::uint64_t inner = std::uint64_t{t.box[0]} * bitsOf(t.type) / 8;
  // Padded values take 16 bytes for each 16 of them in shared memory, whatever their size in global
  // memory.
  if (t.swizzle == CU_TENSOR_MAP_SWIZZLE_NONE || isPadded(t.type)) return inner % 16 == 0;
  const std::uint64_t span = t.swizzle == CU_TENSOR_MAP_SWIZZLE_32B   ? 32
                             : t.swizzle == CU_TENSOR_MAP_SWIZZLE_64B ? 64
                                                                      : 128;
  return inner % 16 == 0 && inner <= span;
}

bool fitsType(const Tiling& t) {
  if (t.type == CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN8B) return t.dims[0] % 2 == 0;
  if (!isPadded(t.type)) return true;
  const bool swizzles = t.swizzle == CU_TENSOR_MAP_SWIZZLE_NONE ||
                        t.swizzle == CU_TENSOR_MAP_SWIZZLE_128B ||
                        t.swizzle == CU_TENSOR_MAP_SWIZZLE_128B_ATOM_32B ||
                        (t.swizzle == CU_TENSOR_MAP_SWIZZLE_128B_ATOM_64B &&
                         t.type == CU_TENSOR_MAP_DATA_TYPE_16U6_ALIGN16B);
  const bool flat = t.type != CU_TENSOR_MAP_DATA_TYPE_16U6_ALIGN16B ||
                    t.interleave == CU_TENSOR_MAP_INTERLEAVE_NONE;
  return swizzles && flat && t.dims[0] % 128 == 0 && t.box[0] == 128;
}

bool valid(const Tiling& t) {
  if (!knownKinds(t) || t.rank == 0 || t.rank > kMaxRank) return false;
  if (t.interleave != CU_TENSOR_MAP_INTERLEAVE_NONE && t.rank < 3) return false;
  const bool wide = t.interleave == CU_TENSOR_MAP_INTERLEAVE_32B || isPadded(t.type);
  const std::uint64_t unit = wide ? 32 : 16;
  if (t.address % unit != 0) return false;
  for (unsigned i = 0; i < t.rank; ++i) {
    // The step along the innermost dimension is ignored without interleaving.
    const bool stepped = i != 0 || t.interleave != CU_TENSOR_MAP_INTERLEAVE_NONE;
    if (t.dims[i] == 0 || t.dims[i] > 1ULL << 31 || t.box[i] == 0 || t.box[i] > 256 ||
        (stepped && (t.steps[i] == 0 || t.steps[i] > 8))) {
      return false;
    }
  }
  for (unsigned i = 0; i + 1 < t.rank; ++i) {
    if (t.strides[i] % unit != 0 || t.strides[i] >= 1ULL << 40) return false;
  }
  return fitsSwizzle(t) && fitsType(t);
}

EncodedMap encode(const Tiling& t) {
  EncodedMap map{};
  map.magic = kTensorMagic;
  map.address = t.address;
  map.rank = static_cast<std::uint8_t>(t.rank);
  map.type = static_cast<std::uint8_t>(t.type);
  map.interleave = static_cast<std::uint8_t>(t.interleave);
  map.swizzle = static_cast<std::uint8_t>(t.swizzle);
  map.promotion = static_cast<std::uint8_t>(t.promotion);
  map.fill = static_cast<std::uint8_t>(t.fill);
  for (unsigned i = 0; i < t.rank; ++i) {
    map.dims[i] = static_cast<std::uint32_t>(t.dims[i]);
    map.box[i] = static_cast<std::uint16_t>(t.box[i]);
    map.steps[i] = static_cast<std::uint8_t>(t.steps[i]);
    if (i + 1 < t.rank) map.strides[i] = t.strides[i];
  }
  return map;
}

// Maps are for cards of compute capability 9.0 and later.
bool anyCardReadsMaps() {
  const auto& devices = Runtime::get().devices();
  return std::any_of(devices.begin(), devices.end(),
                     [](const auto& device) { return device->profile->cc_major >= 9; });
}

bool aligned(const CUtensorMap* map) {
  return map != nullptr && reinterpret_cast<std::uintptr_t>(map) % 64 == 0;
}

}  // namespace

SIMGPU_IMPL(cuTensorMapEncodeTiled)
(CUtensorMap* out, CUtensorMapDataType type, cuuint32_t rank, void* address, const cuuint64_t* dims,
 const cuuint64_t* strides, const cuuint32_t* box, const cuuint32_t* steps,
 CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion,
 CUtensorMapFloatOOBfill fill) {
  return withDriver(Cu::cuTensorMapEncodeTiled, [&]() -> CUresult {
    if (!anyCardReadsMaps()) return CUDA_ERROR_NOT_SUPPORTED;
    const bool given =
        dims != nullptr && box != nullptr && steps != nullptr && (strides != nullptr || rank == 1);
    const Tiling tiling{.type = type,
                        .rank = rank,
                        .address = reinterpret_cast<std::uint64_t>(address),
                        .dims = dims,
                        .strides = strides,
                        .box = box,
                        .steps = steps,
                        .interleave = interleave,
                        .swizzle = swizzle,
                        .promotion = promotion,
                        .fill = fill};
    if (!aligned(out) || !given || !valid(tiling)) return CUDA_ERROR_INVALID_VALUE;
    const EncodedMap map = encode(tiling);
    std::memset(static_cast<void*>(out), 0, sizeof *out);
    std::memcpy(static_cast<void*>(out), &map, sizeof map);
    return CUDA_SUCCESS;
  });
}
SIMGPU_IMPL(cuTensorMapReplaceAddress)(CUtensorMap* map, void* address) {
  return withDriver(Cu::cuTensorMapReplaceAddress, [&]() -> CUresult {
    if (!anyCardReadsMaps()) return CUDA_ERROR_NOT_SUPPORTED;
    if (!aligned(map)) return CUDA_ERROR_INVALID_VALUE;
    EncodedMap known;
    std::memcpy(&known, map, sizeof known);
    const auto type = static_cast<CUtensorMapDataType>(known.type);
    const bool wide = known.interleave == CU_TENSOR_MAP_INTERLEAVE_32B || isPadded(type);
    known.address = reinterpret_cast<std::uint64_t>(address);
    if (known.magic != kTensorMagic || known.address % (wide ? 32 : 16) != 0) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    std::memcpy(static_cast<void*>(map), &known, sizeof known);
    return CUDA_SUCCESS;
  });
}

}  // namespace divvy::simgpu
