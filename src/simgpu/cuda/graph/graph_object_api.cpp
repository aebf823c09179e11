// Entry points about objects of the program that graphs keep alive.
#include "cuda/context/api_prologue.h"
#include "cuda/graph/graph.h"

namespace divvy::simgpu {
namespace {

template <typename Body>
CUresult withObject(Cu id, CUuserObject handle, unsigned count, Body&& body) {
  return withDriver(id, [&]() -> CUresult {
    UserObject* object = UserObjectHandles::get().find(handle);
    if (object == nullptr || count == 0) return CUDA_ERROR_INVALID_VALUE;
    return body(*object);
  });
}

}  // namespace

SIMGPU_IMPL(cuUserObjectCreate)
(CUuserObject* out, void* object, CUhostFn destroy, unsigned count, unsigned flags) {
  return withDriver(Cu::cuUserObjectCreate, [&]() -> CUresult {
    if (out == nullptr || destroy == nullptr || count == 0 ||
        flags != CU_USER_OBJECT_NO_DESTRUCTOR_SYNC) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    *out = UserObjectHandles::get().add(new UserObject(object, destroy, count));
    return CUDA_SUCCESS;
  });
}
SIMGPU_IMPL(cuUserObjectRetain)(CUuserObject handle, unsigned count) {
  return withObject(Cu::cuUserObjectRetain, handle, count, [&](UserObject& object) {
    object.retain(count);
    return CUDA_SUCCESS;
  });
}
SIMGPU_IMPL(cuUserObjectRelease)(CUuserObject handle, unsigned count) {
  return withObject(Cu::cuUserObjectRelease, handle, count, [&](UserObject& object) {
    object.release(count);
    return CUDA_SUCCESS;
  });
}
SIMGPU_IMPL(cuGraphRetainUserObject)
(CUgraph graph_handle, CUuserObject handle, unsigned count, unsigned flags) {
  return withObject(Cu::cuGraphRetainUserObject, handle, count,
                    [&](UserObject& object) -> CUresult {
                      Graph* graph = GraphHandles::get().find(graph_handle);
                      if (graph == nullptr) return CUDA_ERROR_INVALID_VALUE;
                      if ((flags & CU_GRAPH_USER_OBJECT_MOVE) == 0) object.retain(count);
                      graph->user_objects[&object] += count;
                      return CUDA_SUCCESS;
                    });
}
SIMGPU_IMPL(cuGraphReleaseUserObject)
(CUgraph graph_handle, CUuserObject handle, unsigned count) {
  return withObject(Cu::cuGraphReleaseUserObject, handle, count,
                    [&](UserObject& object) -> CUresult {
                      Graph* graph = GraphHandles::get().find(graph_handle);
                      if (graph == nullptr) return CUDA_ERROR_INVALID_VALUE;
                      const auto held = graph->user_objects.find(&object);
                      if (held == graph->user_objects.end() || held->second < count) {
                        return CUDA_ERROR_INVALID_VALUE;
                      }
                      held->second -= count;
                      if (held->second == 0) graph->user_objects.erase(held);
                      object.release(count);
                      return CUDA_SUCCESS;
                    });
}

}  // namespace divvy::simgpu
