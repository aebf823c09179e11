// Entry points of the linker: several "simgpu-builtin" texts become one, PTX stays alone.
#include <fstream>
#include <iterator>
#include <memory>
#include <utility>

#include "cuda/context/api_prologue.h"
#include "cuda/engine/engine_handles.h"
#include "cuda/kernel/module.h"

namespace divvy::simgpu {
namespace {

// The target of a CUlinkState. The linked image is part of it, as the driver documents.
struct LinkState {
  JitLog log;
  std::string text = std::string(kBuiltinMagic) + " 1\n";
  bool empty = true;
};

using LinkHandles = HandleSet<LinkState, CUlinkState>;

CUresult create(Cu id, unsigned count, CUjit_option* options, void** values, CUlinkState* out) {
  return withContext(id, [&](Context&) -> CUresult {
    if (out == nullptr || !JitLog{count, options, values}.isComplete()) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    *out = LinkHandles::get().add(new LinkState{.log = {count, options, values}});
    return CUDA_SUCCESS;
  });
}

// Appends everything after the first line to the former text.
CUresult addText(LinkState& state, const std::string& text) {
  std::shared_ptr<const KernelImage> checked;
  std::string why;
  const CUresult known = loadImage(text.c_str(), &checked, &why);
  state.log.write(why);
  if (known != CUDA_SUCCESS) return known;
  const bool was_empty = std::exchange(state.empty, false);
  if (!text.starts_with(kBuiltinMagic)) {
    // PTX, because no other form is known: symbols of one text do not reach another.
    if (!was_empty) return CUDA_ERROR_NOT_SUPPORTED;
    state.text = text;
    return CUDA_SUCCESS;
  }
  const std::size_t body = text.find('\n');
  if (body != std::string::npos) state.text += text.substr(body + 1) + "\n";
  return CUDA_SUCCESS;
}

CUresult add(Cu id, CUlinkState handle, const void* data, std::size_t bytes) {
  return withDriver(id, [&]() -> CUresult {
    LinkState* state = LinkHandles::get().find(handle);
    if (state == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    if (data == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return addText(*state, std::string(static_cast<const char*>(data), bytes));
  });
}

CUresult addFile(Cu id, CUlinkState handle, const char* path) {
  return withDriver(id, [&]() -> CUresult {
    LinkState* state = LinkHandles::get().find(handle);
    if (state == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    if (path == nullptr) return CUDA_ERROR_INVALID_VALUE;
    std::ifstream file(path, std::ios::binary);
    if (!file) return CUDA_ERROR_FILE_NOT_FOUND;
    return addText(*state, std::string(std::istreambuf_iterator<char>(file), {}));
  });
}

}  // namespace

SIMGPU_IMPL(cuLinkCreate)
(unsigned count, CUjit_option* options, void** values, CUlinkState* out) {
  return create(Cu::cuLinkCreate, count, options, values, out);
}
SIMGPU_IMPL(cuLinkCreate_v2)
(unsigned count, CUjit_option* options, void** values, CUlinkState* out) {
  return create(Cu::cuLinkCreate_v2, count, options, values, out);
}
SIMGPU_IMPL(cuLinkAddData)
(CUlinkState state, CUjitInputType, void* data, std::size_t bytes, const char*, unsigned,
 CUjit_option*, void**) {
  return add(Cu::cuLinkAddData, state, data, bytes);
}
SIMGPU_IMPL(cuLinkAddData_v2)
(CUlinkState state, CUjitInputType, void* data, std::size_t bytes, const char*, unsigned,
 CUjit_option*, void**) {
  return add(Cu::cuLinkAddData_v2, state, data, bytes);
}
SIMGPU_IMPL(cuLinkAddFile)
(CUlinkState state, CUjitInputType, const char* path, unsigned, CUjit_option*, void**) {
  return addFile(Cu::cuLinkAddFile, state, path);
}
SIMGPU_IMPL(cuLinkAddFile_v2)
(CUlinkState state, CUjitInputType, const char* path, unsigned, CUjit_option*, void**) {
  return addFile(Cu::cuLinkAddFile_v2, state, path);
}
SIMGPU_IMPL(cuLinkComplete)(CUlinkState handle, void** image, std::size_t* bytes) {
  return withDriver(Cu::cuLinkComplete, [&]() -> CUresult {
    LinkState* state = LinkHandles::get().find(handle);
    if (state == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    if (image == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *image = state->text.data();
    if (bytes != nullptr) *bytes = state->text.size();
    return CUDA_SUCCESS;
  });
}
SIMGPU_IMPL(cuLinkDestroy)(CUlinkState handle) {
  return withDriver(Cu::cuLinkDestroy, [&]() -> CUresult {
    LinkState* state = LinkHandles::get().find(handle);
    if (state == nullptr || !LinkHandles::get().remove(state)) return CUDA_ERROR_INVALID_HANDLE;
    delete state;
    return CUDA_SUCCESS;
  });
}

}  // namespace divvy::simgpu
