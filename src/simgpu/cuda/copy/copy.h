// Copies and memsets: their sides, checked against memory, and their duration.
#pragma once

#include "abi/cuda_types.h"

#include <memory>
#include <vector>

#include "cuda/context/context.h"
#include "cuda/engine/engine.h"

namespace divvy::simgpu {

// kHost: an address that this process dereferences. kDevice: an address that only the card does
// (which may be of pinned or managed memory all the same).
enum class CopySpace { kHost, kDevice };

// One side of a copy: a box of rows in memory.
struct CopyEnd {
  CopySpace space = CopySpace::kDevice;
  std::uintptr_t address = 0;   // of the box's first byte
  std::size_t pitch = 0;        // from row to row
  std::size_t slice = 0;        // from plane to plane
  CUcontext context = nullptr;  // in which a device address has its meaning; nullptr: the stream's
  Device* array_device = nullptr;  // set for the inside of a CUDA array
};

struct CopyPlan {
  CopyEnd to;
  CopyEnd from;
  std::size_t width = 0;  // bytes
  std::size_t height = 1;
  std::size_t depth = 1;
  std::shared_ptr<std::vector<std::byte>> staged;  // holds what `from` points to, once copied

  std::size_t bytes() const { return width * height * depth; }
  // From the first to behind the last byte touched.
  std::size_t span(const CopyEnd& end) const {
    return bytes() == 0 ? 0 : (depth - 1) * end.slice + (height - 1) * end.pitch + width;
  }
};

// A plain run of bytes.
CopyPlan linearCopy(CopyEnd to, CopyEnd from, std::size_t bytes);
CopyEnd hostEnd(const void* address);
CopyEnd deviceEnd(CUdeviceptr address, CUcontext context = nullptr);
// The meaning of an address under unified addressing. CUDA_ERROR_INVALID_VALUE for one that is
// neither memory of the card nor possibly of the host.
CUresult unifiedEnd(CUdeviceptr address, CopyEnd* out);

// Plans of the structured calls. CUDA_ERROR_INVALID_VALUE for boxes that do not fit their pitch,
// row or array.
CUresult planCopy2D(const CUDA_MEMCPY2D& copy, CopyPlan* out);
CUresult planCopy3D(const CUDA_MEMCPY3D& copy, CopyPlan* out);
CUresult planCopy3DPeer(const CUDA_MEMCPY3D_PEER& copy, CopyPlan* out);
CUresult planBatchCopy(const CUDA_MEMCPY3D_BATCH_OP& operation, CopyPlan* out);

// Whether both sides exist now: CUDA_ERROR_INVALID_VALUE otherwise.
CUresult checkCopy(Context& context, const CopyPlan& plan);
// Copies the source aside, so that the caller may change it at once.
void stageSource(CopyPlan* plan);
bool isPageable(const CopyEnd& end);
// Moves the bytes. CUDA_ERROR_ILLEGAL_ADDRESS when a side is not mapped.
CUresult runCopy(Context& context, const CopyPlan& plan);
// Engine, kind and duration.
OpSpec copySpec(ExecContext& exec, const CopyPlan& plan);

// Memory filled with a value of 1, 2 or 4 bytes. width in elements, pitch in bytes.
struct MemsetPlan {
  CUdeviceptr address = 0;
  std::size_t pitch = 0;
  unsigned value = 0;
  unsigned element = 1;
  std::size_t width = 0;
  std::size_t height = 1;

  std::size_t bytes() const { return width * element * height; }
  std::size_t span() const { return bytes() == 0 ? 0 : (height - 1) * pitch + width * element; }
};

CUresult checkMemset(Context& context, const MemsetPlan& plan);
CUresult runMemset(Context& context, const MemsetPlan& plan);
OpSpec memsetSpec(ExecContext& exec, const MemsetPlan& plan);

}  // namespace divvy::simgpu
