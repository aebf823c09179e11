// From the driver's copy structures to plans.
#include "cuda/copy/copy.h"
#include "cuda/copy/copy_array.h"

namespace divvy::simgpu {
namespace {

// One side of a structured copy, from any of the structures.
struct CopySide {
  CUmemorytype type;
  const void* host;
  CUdeviceptr device;
  CUarray array;
  CUcontext context;
  std::size_t x, y, z, lod;
  std::size_t pitch, height;
};

struct CopyBox {
  std::size_t width, height, depth;
};

// Pitch and height may be 0, meaning "as large as the box".
CUresult linearEnd(const CopySide& side, const CopyBox& box, CopyEnd* out) {
  const std::size_t pitch = side.pitch == 0 ? side.x + box.width : side.pitch;
  const std::size_t rows = side.height == 0 ? side.y + box.height : side.height;
  const bool many_rows = box.height > 1 || box.depth > 1 || side.y != 0;
  if (many_rows && pitch < side.x + box.width) return CUDA_ERROR_INVALID_VALUE;
  if ((box.depth > 1 || side.z != 0) && rows < side.y + box.height) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const std::size_t offset = (side.z * rows + side.y) * pitch + side.x;
  switch (side.type) {
    case CU_MEMORYTYPE_HOST:
      *out = hostEnd(static_cast<const char*>(side.host) + offset);
      break;
    case CU_MEMORYTYPE_DEVICE:
      *out = deviceEnd(side.device + offset, side.context);
      break;
    case CU_MEMORYTYPE_UNIFIED: {
      const CUresult known = unifiedEnd(side.device + offset, out);
      if (known != CUDA_SUCCESS) return known;
      if (out->space == CopySpace::kDevice) out->context = side.context;
      break;
    }
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
  out->pitch = pitch;
  out->slice = pitch * rows;
  return CUDA_SUCCESS;
}

CUresult endOf(const CopySide& side, const CopyBox& box, CopyEnd* out) {
  if (side.type != CU_MEMORYTYPE_ARRAY) return linearEnd(side, box, out);
  const ArrayBox within{side.x, side.y, side.z, box.width, box.height, box.depth};
  return arrayEnd(side.array, side.lod, within, out);
}

CUresult plan(const CopySide& to, const CopySide& from, const CopyBox& box, CopyPlan* out) {
  out->width = box.width;
  out->height = box.height;
  out->depth = box.depth;
  if (out->bytes() == 0) return CUDA_SUCCESS;
  const CUresult source = endOf(from, box, &out->from);
  return source == CUDA_SUCCESS ? endOf(to, box, &out->to) : source;
}

// A unified side keeps its address in the device member.
template <typename Copy>
CopySide sourceOf(const Copy& c) {
  return {c.srcMemoryType, c.srcHost, c.srcDevice, c.srcArray, nullptr, c.srcXInBytes,
          c.srcY,          0,         0,           c.srcPitch, 0};
}
template <typename Copy>
CopySide targetOf(const Copy& c) {
  return {c.dstMemoryType, c.dstHost, c.dstDevice, c.dstArray, nullptr, c.dstXInBytes,
          c.dstY,          0,         0,           c.dstPitch, 0};
}

template <typename Copy>
void addDepth(const Copy& c, CopySide* to, CopySide* from) {
  from->z = c.srcZ;
  from->lod = c.srcLOD;
  from->height = c.srcHeight;
  to->z = c.dstZ;
  to->lod = c.dstLOD;
  to->height = c.dstHeight;
}

CUresult batchEnd(const CUmemcpy3DOperand& operand, const CUextent3D& extent, CopyEnd* out) {
  if (operand.type == CU_MEMCPY_OPERAND_TYPE_ARRAY) {
    const CUoffset3D& at = operand.op.array.offset;
    std::size_t element = 0;
    const CUresult known = arrayElementBytes(operand.op.array.array, &element);
    if (known != CUDA_SUCCESS) return known;
    const ArrayBox box{at.x * element,         at.y,          at.z,
                       extent.width * element, extent.height, extent.depth};
    return arrayEnd(operand.op.array.array, 0, box, out);
  }
  if (operand.type != CU_MEMCPY_OPERAND_TYPE_POINTER) return CUDA_ERROR_INVALID_VALUE;
  const CUresult known = unifiedEnd(operand.op.ptr.ptr, out);
  if (known != CUDA_SUCCESS) return known;
  const std::size_t row = operand.op.ptr.rowLength != 0 ? operand.op.ptr.rowLength : extent.width;
  const std::size_t layer =
      operand.op.ptr.layerHeight != 0 ? operand.op.ptr.layerHeight : extent.height;
  if (row < extent.width || layer < extent.height) return CUDA_ERROR_INVALID_VALUE;
  out->pitch = row;
  out->slice = row * layer;
  return CUDA_SUCCESS;
}

}  // namespace

CUresult planCopy2D(const CUDA_MEMCPY2D& copy, CopyPlan* out) {
  return plan(targetOf(copy), sourceOf(copy), {copy.WidthInBytes, copy.Height, 1}, out);
}

CUresult planCopy3D(const CUDA_MEMCPY3D& copy, CopyPlan* out) {
  CopySide to = targetOf(copy);
  CopySide from = sourceOf(copy);
  addDepth(copy, &to, &from);
  return plan(to, from, {copy.WidthInBytes, copy.Height, copy.Depth}, out);
}

CUresult planCopy3DPeer(const CUDA_MEMCPY3D_PEER& copy, CopyPlan* out) {
  CopySide to = targetOf(copy);
  CopySide from = sourceOf(copy);
  addDepth(copy, &to, &from);
  to.context = copy.dstContext;
  from.context = copy.srcContext;
  return plan(to, from, {copy.WidthInBytes, copy.Height, copy.Depth}, out);
}

// Extents and row lengths count elements: bytes, unless an array has larger ones.
CUresult planBatchCopy(const CUDA_MEMCPY3D_BATCH_OP& operation, CopyPlan* out) {
  CUextent3D extent = operation.extent;
  std::size_t element = 1;
  for (const CUmemcpy3DOperand* side : {&operation.src, &operation.dst}) {
    if (side->type != CU_MEMCPY_OPERAND_TYPE_ARRAY) continue;
    const CUresult known = arrayElementBytes(side->op.array.array, &element);
    if (known != CUDA_SUCCESS) return known;
  }
  out->width = extent.width * element;
  out->height = extent.height;
  out->depth = extent.depth;
  if (out->bytes() == 0) return CUDA_SUCCESS;
  for (const bool source : {true, false}) {
    CopyEnd* end = source ? &out->from : &out->to;
    const CUresult known = batchEnd(source ? operation.src : operation.dst, extent, end);
    if (known != CUDA_SUCCESS) return known;
    const auto type = (source ? operation.src : operation.dst).type;
    if (type == CU_MEMCPY_OPERAND_TYPE_POINTER) {
      end->pitch *= element;
      end->slice *= element;
    }
  }
  return CUDA_SUCCESS;
}

}  // namespace divvy::simgpu
