// Entry points that load code and find its contents.
#include <cstring>
#include <fstream>
#include <iterator>

#include "cuda/context/api_prologue.h"
#include "cuda/context/variant.h"
#include "cuda/engine/engine_executor.h"
#include "cuda/graph/capture.h"
#include "cuda/kernel/module.h"

namespace divvy::simgpu {
namespace {

CUresult readFile(const char* path, std::string* out) {
  if (path == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::ifstream file(path, std::ios::binary);
  if (!file) return CUDA_ERROR_FILE_NOT_FOUND;
  out->assign(std::istreambuf_iterator<char>(file), {});
  return CUDA_SUCCESS;
}

CUresult imageOf(const void* image, JitLog log, std::shared_ptr<const KernelImage>* out) {
  if (image == nullptr || !log.isComplete()) return CUDA_ERROR_INVALID_VALUE;
  std::string why;
  const CUresult loaded = loadImage(static_cast<const char*>(image), out, &why);
  log.write(why);
  return loaded;
}

CUresult loadModule(Cu id, CUmodule* out, const void* image, JitLog log) {
  return withContext(id, [&](Context& context) -> CUresult {
    if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
    // Loading code may wait for the card, so captures forbid it, as they forbid allocation.
    CUresult result = checkUnsafe();
    std::shared_ptr<const KernelImage> code;
    if (result == CUDA_SUCCESS) result = imageOf(image, log, &code);
    Module* module = nullptr;
    if (result == CUDA_SUCCESS) result = Module::load(execOf(context), code, nullptr, &module);
    if (result == CUDA_SUCCESS) *out = module->handle();
    return result;
  });
}

CUresult loadLibrary(Cu id, CUlibrary* out, const void* image, JitLog log) {
  return withDriver(id, [&]() -> CUresult {
    if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
    std::shared_ptr<const KernelImage> code;
    const CUresult result = imageOf(image, log, &code);
    if (result == CUDA_SUCCESS) *out = LibraryHandles::get().add(new Library(std::move(code)));
    return result;
  });
}

// A library's module in the current context.
template <typename Body>
CUresult withLoaded(Cu id, CUlibrary handle, Body&& body) {
  return withContext(id, [&](Context& context) -> CUresult {
    Library* library = LibraryHandles::get().find(handle);
    if (library == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    Module* module = nullptr;
    const CUresult loaded = library->in(execOf(context), &module);
    return loaded != CUDA_SUCCESS ? loaded : body(*module);
  });
}

CUresult globalOf(Module& module, CUdeviceptr* address, std::size_t* bytes, const char* name) {
  if (name == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CUdeviceptr found = 0;
  std::size_t size = 0;
  if (!module.findGlobal(name, &found, &size)) return CUDA_ERROR_NOT_FOUND;
  if (address != nullptr) *address = found;
  if (bytes != nullptr) *bytes = size;
  return CUDA_SUCCESS;
}

template <typename Body>
CUresult withModule(Cu id, CUmodule handle, Body&& body) {
  return withContext(id, [&](Context&) -> CUresult {
    Module* module = ModuleHandles::get().find(handle);
    return module == nullptr ? CUDA_ERROR_INVALID_HANDLE : body(*module);
  });
}

// For kinds of names that no module has.
CUresult notFound(const void* out, const char* name) {
  return out == nullptr || name == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_NOT_FOUND;
}

template <typename Items, typename Handle>
CUresult enumerate(const Items& items, Handle* out, unsigned room) {
  if (out == nullptr && room != 0) return CUDA_ERROR_INVALID_VALUE;
  for (unsigned i = 0; i < room && i < items.size(); ++i) out[i] = items[i]->handle();
  return CUDA_SUCCESS;
}

CUresult count(std::size_t items, unsigned* out) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *out = static_cast<unsigned>(items);
  return CUDA_SUCCESS;
}

}  // namespace

SIMGPU_IMPL(cuModuleLoad)(CUmodule* out, const char* path) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::string text;
  if (const CUresult read = readFile(path, &text); read != CUDA_SUCCESS) return read;
  return loadModule(Cu::cuModuleLoad, out, text.c_str(), {0, nullptr, nullptr});
}
SIMGPU_IMPL(cuModuleLoadData)(CUmodule* out, const void* image) {
  return loadModule(Cu::cuModuleLoadData, out, image, {0, nullptr, nullptr});
}
SIMGPU_IMPL(cuModuleLoadDataEx)
(CUmodule* out, const void* image, unsigned count, CUjit_option* options, void** values) {
  return loadModule(Cu::cuModuleLoadDataEx, out, image, {count, options, values});
}
SIMGPU_IMPL(cuModuleLoadFatBinary)(CUmodule* out, const void* image) {
  return loadModule(Cu::cuModuleLoadFatBinary, out, image, {0, nullptr, nullptr});
}
SIMGPU_IMPL(cuModuleUnload)(CUmodule handle) {
  return withModule(Cu::cuModuleUnload, handle, [](Module& module) -> CUresult {
    if (module.library != nullptr) return CUDA_ERROR_INVALID_HANDLE;
    const CUresult allowed = checkUnsafe();
    if (allowed != CUDA_SUCCESS) return allowed;
    waitForAll(module.exec);
    {
      const std::lock_guard guard(module.exec.mutex);
      module.exec.modules.erase(&module);
    }
    if (kReentrant) module.freeByName();
    delete &module;
    return CUDA_SUCCESS;
  });
}
SIMGPU_IMPL(cuModuleGetLoadingMode)(CUmoduleLoadingMode* out) {
  return withDriver(Cu::cuModuleGetLoadingMode, [&]() -> CUresult {
    if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const char* wanted = std::getenv("CUDA_MODULE_LOADING");
    const bool eager = wanted != nullptr && std::strcmp(wanted, "EAGER") == 0;
    *out = eager ? CU_MODULE_EAGER_LOADING : CU_MODULE_LAZY_LOADING;
    return CUDA_SUCCESS;
  });
}
SIMGPU_IMPL(cuModuleGetFunction)(CUfunction* out, CUmodule handle, const char* name) {
  return withModule(Cu::cuModuleGetFunction, handle, [&](Module& module) -> CUresult {
    if (out == nullptr || name == nullptr) return CUDA_ERROR_INVALID_VALUE;
    Function* function = module.find(name);
    if (function == nullptr) return CUDA_ERROR_NOT_FOUND;
    *out = function->handle();
    return CUDA_SUCCESS;
  });
}
SIMGPU_IMPL(cuModuleGetFunctionCount)(unsigned* out, CUmodule handle) {
  return withModule(Cu::cuModuleGetFunctionCount, handle,
                    [&](Module& module) { return count(module.functions.size(), out); });
}
SIMGPU_IMPL(cuModuleEnumerateFunctions)(CUfunction* out, unsigned room, CUmodule handle) {
  return withModule(Cu::cuModuleEnumerateFunctions, handle,
                    [&](Module& module) { return enumerate(module.functions, out, room); });
}
SIMGPU_IMPL(cuModuleGetGlobal_v2)
(CUdeviceptr* address, std::size_t* bytes, CUmodule handle, const char* name) {
  return withModule(Cu::cuModuleGetGlobal_v2, handle,
                    [&](Module& module) { return globalOf(module, address, bytes, name); });
}
SIMGPU_IMPL(cuModuleGetTexRef)(CUtexref* out, CUmodule handle, const char* name) {
  return withModule(Cu::cuModuleGetTexRef, handle, [&](Module&) { return notFound(out, name); });
}
SIMGPU_IMPL(cuModuleGetSurfRef)(CUsurfref* out, CUmodule handle, const char* name) {
  return withModule(Cu::cuModuleGetSurfRef, handle, [&](Module&) { return notFound(out, name); });
}

SIMGPU_IMPL(cuLibraryLoadData)
(CUlibrary* out, const void* image, CUjit_option* options, void** values, unsigned count,
 CUlibraryOption*, void**, unsigned) {
  return loadLibrary(Cu::cuLibraryLoadData, out, image, {count, options, values});
}
SIMGPU_IMPL(cuLibraryLoadFromFile)
(CUlibrary* out, const char* path, CUjit_option* options, void** values, unsigned count,
 CUlibraryOption*, void**, unsigned) {
  if (out == nullptr || !JitLog{count, options, values}.isComplete()) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  std::string text;
  if (const CUresult read = readFile(path, &text); read != CUDA_SUCCESS) return read;
  return loadLibrary(Cu::cuLibraryLoadFromFile, out, text.c_str(), {count, options, values});
}
SIMGPU_IMPL(cuLibraryUnload)(CUlibrary handle) {
  return withDriver(Cu::cuLibraryUnload, [&]() -> CUresult {
    Library* library = LibraryHandles::get().find(handle);
    if (library == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    delete library;
    return CUDA_SUCCESS;
  });
}
SIMGPU_IMPL(cuLibraryGetKernel)(CUkernel* out, CUlibrary handle, const char* name) {
  return withDriver(Cu::cuLibraryGetKernel, [&]() -> CUresult {
    Library* library = LibraryHandles::get().find(handle);
    if (library == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    if (out == nullptr || name == nullptr) return CUDA_ERROR_INVALID_VALUE;
    Kernel* kernel = library->find(name);
    if (kernel == nullptr) return CUDA_ERROR_NOT_FOUND;
    *out = kernel->handle();
    return CUDA_SUCCESS;
  });
}
SIMGPU_IMPL(cuLibraryGetKernelCount)(unsigned* out, CUlibrary handle) {
  return withDriver(Cu::cuLibraryGetKernelCount, [&]() -> CUresult {
    Library* library = LibraryHandles::get().find(handle);
    return library == nullptr ? CUDA_ERROR_INVALID_HANDLE : count(library->kernels.size(), out);
  });
}
SIMGPU_IMPL(cuLibraryEnumerateKernels)(CUkernel* out, unsigned room, CUlibrary handle) {
  return withDriver(Cu::cuLibraryEnumerateKernels, [&]() -> CUresult {
    Library* library = LibraryHandles::get().find(handle);
    return library == nullptr ? CUDA_ERROR_INVALID_HANDLE : enumerate(library->kernels, out, room);
  });
}
SIMGPU_IMPL(cuLibraryGetModule)(CUmodule* out, CUlibrary handle) {
  return withLoaded(Cu::cuLibraryGetModule, handle, [&](Module& module) -> CUresult {
    if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *out = module.handle();
    return CUDA_SUCCESS;
  });
}
SIMGPU_IMPL(cuLibraryGetGlobal)
(CUdeviceptr* address, std::size_t* bytes, CUlibrary handle, const char* name) {
  return withLoaded(Cu::cuLibraryGetGlobal, handle,
                    [&](Module& module) { return globalOf(module, address, bytes, name); });
}
SIMGPU_IMPL(cuLibraryGetManaged)
(CUdeviceptr*, std::size_t*, CUlibrary handle, const char* name) {
  return withLoaded(Cu::cuLibraryGetManaged, handle, [&](Module&) { return notFound(name, name); });
}
SIMGPU_IMPL(cuLibraryGetUnifiedFunction)(void** out, CUlibrary handle, const char* name) {
  return withLoaded(Cu::cuLibraryGetUnifiedFunction, handle,
                    [&](Module&) { return notFound(out, name); });
}
SIMGPU_IMPL(cuKernelGetFunction)(CUfunction* out, CUkernel handle) {
  return withContext(Cu::cuKernelGetFunction, [&](Context& context) -> CUresult {
    Kernel* kernel = KernelHandles::get().find(handle);
    if (kernel == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
    Function* function = nullptr;
    const CUresult found =
        findFunction(execOf(context), reinterpret_cast<CUfunction>(handle), &function);
    if (found == CUDA_SUCCESS) *out = function->handle();
    return found;
  });
}
SIMGPU_IMPL(cuKernelGetLibrary)(CUlibrary* out, CUkernel handle) {
  return withDriver(Cu::cuKernelGetLibrary, [&]() -> CUresult {
    Kernel* kernel = KernelHandles::get().find(handle);
    if (kernel == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *out = kernel->library->handle();
    return CUDA_SUCCESS;
  });
}

}  // namespace divvy::simgpu
