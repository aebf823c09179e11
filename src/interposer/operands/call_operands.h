// The memory that a gated call names, read from its arguments and passed to AccessRecency.
#pragma once

#include <cstdint>

#include "cuda/call_work.h"

namespace divvy::interposer {
namespace named_detail {

// Collects the operands, one argument at a time, by their types.
struct Reader {
  CUfunction function = nullptr;
  void** lists[2] = {};  // kernelParams, extra
  unsigned listed = 0;
  const CUDA_LAUNCH_PARAMS* launches = nullptr;  // one for each device
  unsigned count = 0;
  std::uint64_t ranges[2] = {};  // of device addresses
  std::uint64_t bytes[2] = {};   // 0: as many as the call moves
  unsigned ranged = 0;

  void read(CUfunction value) { function = value; }
  void read(void** value) {
    if (listed < 2) lists[listed++] = value;
  }
  void read(CUDA_LAUNCH_PARAMS* value) { launches = value; }
  void read(unsigned value) {
    if (launches != nullptr && count == 0) count = value;
  }
  void read(CUdeviceptr value) { add(value, 0); }
  template <typename Box>
  requires requires(const Box& b) { b.srcDevice + b.dstDevice + b.srcPitch + b.Height; }
  void read(const Box* value) {
    if (value == nullptr) return;
    std::uint64_t rows = value->Height;
    std::uint64_t from_rows = rows, to_rows = rows;
    if constexpr (requires { value->Depth; }) {
      const std::uint64_t planes = value->Depth < 1 ? 1 : value->Depth;
      from_rows = (value->srcHeight < rows ? rows : value->srcHeight) * planes;
      to_rows = (value->dstHeight < rows ? rows : value->dstHeight) * planes;
    }
    if (value->srcMemoryType != CU_MEMORYTYPE_HOST && value->srcMemoryType != CU_MEMORYTYPE_ARRAY) {
      add(value->srcDevice, pitchOf(value->srcPitch, value->WidthInBytes) * from_rows);
    }
    if (value->dstMemoryType != CU_MEMORYTYPE_HOST && value->dstMemoryType != CU_MEMORYTYPE_ARRAY) {
      add(value->dstDevice, pitchOf(value->dstPitch, value->WidthInBytes) * to_rows);
    }
  }
  template <typename Other>
  void read(const Other&) {}

 private:
  static std::uint64_t pitchOf(std::uint64_t pitch, std::uint64_t width) {
    return pitch < width ? width : pitch;
  }
  void add(std::uint64_t address, std::uint64_t moved) {
    if (ranged == 2) return;
    ranges[ranged] = address;
    bytes[ranged++] = moved;
  }
};

}  // namespace named_detail

// As the functions of AccessRecency, for this process's.
void noteLaunchUse(CUfunction function, void* const* params, void* const* extra);
void noteRangeUse(std::uint64_t address, std::uint64_t bytes);
void noteUnknownUse();

// Notes the memory that a call uses. For kernels: the memory that their arguments name. For copies
// and fills: their ranges, if device addresses are among the arguments themselves. To be called
// where memory can be swapped, by a thread outside of the hooks.
template <abi::Cu kId, typename... Arguments>
__attribute__((noinline)) void noteUse(Arguments... arguments) {
  named_detail::Reader reader;
  (reader.read(arguments), ...);
  if constexpr (work_detail::kindOf<kId>() == WorkKind::kKernel) {
    for (unsigned i = 0; i < reader.count; ++i) {
      noteLaunchUse(reader.launches[i].function, reader.launches[i].kernelParams, nullptr);
    }
    if (reader.launches == nullptr && reader.listed != 0) {
      noteLaunchUse(reader.function, reader.lists[0], reader.lists[1]);
    } else if (reader.launches == nullptr) {
      noteUnknownUse();  // set earlier, by calls such as cuParamSetv
    }
  } else {
    work_detail::Reader sizes;
    (sizes.read(arguments), ...);
    const std::uint64_t bytes = work_detail::bytesOf<kId>(sizes);
    for (unsigned i = 0; i < reader.ranged; ++i) {
      noteRangeUse(reader.ranges[i], reader.bytes[i] != 0 ? reader.bytes[i] : bytes);
    }
  }
}

}  // namespace divvy::interposer
