#include "cuda/kernel/module.h"

#include <algorithm>
#include <cstring>

#include "cuda/context/variant.h"
#include "cuda/memory/memory.h"

namespace divvy::simgpu {
namespace {

// Size of a kernel's machine code on the card, roughly that of small real ones.
constexpr std::size_t kCodeBytes = 4096;

}  // namespace

Module::Module(ExecContext& e, std::shared_ptr<const KernelImage> i, Library* l)
    : exec(e), image(std::move(i)), library(l) {
  for (const auto& kernel : image->kernels) {
    auto function = std::make_unique<Function>();
    function->module = this;
    function->code = kernel.get();
    FunctionHandles::get().add(function.get());
    functions.push_back(std::move(function));
  }
}

CUresult Module::load(ExecContext& exec, std::shared_ptr<const KernelImage> image, Library* library,
                      Module** out) {
  std::unique_ptr<Module> module(new Module(exec, std::move(image), library));
  const std::size_t bytes = module->functions.size() * kCodeBytes;
  CUresult result = chargeOpaque(exec.context, Charge::kModule, bytes);
  if (result != CUDA_SUCCESS) return result;
  module->charged_ = bytes;
  result = module->placeGlobals();
  if (result != CUDA_SUCCESS) return result;
  {
    const std::lock_guard guard(exec.mutex);
    exec.modules.insert(module.get());
  }
  ModuleHandles::get().add(module.get());
  *out = module.release();
  return CUDA_SUCCESS;
}

CUresult Module::placeGlobals() {
  for (const ImageGlobal& global : image->globals) {
    CUdeviceptr address = 0;
    CUresult result = kReentrant
                          ? ::cuMemAlloc_v2(&address, global.bytes)
                          : allocateOwned(exec.context, Charge::kModule, global.bytes, &address);
    if (result != CUDA_SUCCESS) return result;
    globals->push_back(address);
    std::byte* host = nullptr;
    result = translate(exec.context, address, global.bytes, Access::kWrite, &host);
    if (result != CUDA_SUCCESS) return result;
    std::memset(host, 0, global.bytes);
    std::copy_n(global.initial.begin(), std::min(global.bytes, global.initial.size()), host);
  }
  return linkGlobals();
}

// Globals that point to others get their contents when all have a place.
CUresult Module::linkGlobals() {
  for (std::size_t i = 0; i < image->globals.size(); ++i) {
    for (const GlobalAddress& address : image->globals[i].addresses) {
      const CUdeviceptr value = ((*globals)[address.global] + address.addend) >> address.shift;
      std::byte* host = nullptr;
      const CUresult result = translate(exec.context, (*globals)[i] + address.offset, address.bytes,
                                        Access::kWrite, &host);
      if (result != CUDA_SUCCESS) return result;
      std::memcpy(host, &value, address.bytes);
    }
  }
  return CUDA_SUCCESS;
}

void Module::freeByName() {
  for (const CUdeviceptr address : *globals) ::cuMemFree_v2(address);
  globals->clear();
}

Module::~Module() {
  ModuleHandles::get().remove(this);
  for (const auto& function : functions) FunctionHandles::get().remove(function.get());
  for (const CUdeviceptr address : *globals) freeOwned(address);
  if (charged_ != 0) refundOpaque(exec.context, Charge::kModule, charged_);
}

Function* Module::find(std::string_view name) {
  for (const auto& function : functions) {
    if (function->code->name == name) return function.get();
  }
  return nullptr;
}

bool Module::findGlobal(std::string_view name, CUdeviceptr* address, std::size_t* bytes) const {
  for (std::size_t i = 0; i < image->globals.size(); ++i) {
    if (image->globals[i].name != name) continue;
    *address = (*globals)[i];
    *bytes = image->globals[i].bytes;
    return true;
  }
  return false;
}

Library::Library(std::shared_ptr<const KernelImage> i) : image(std::move(i)) {
  for (const auto& code : image->kernels) {
    auto kernel = std::make_unique<Kernel>();
    kernel->library = this;
    kernel->code = code.get();
    KernelHandles::get().add(kernel.get());
    kernels.push_back(std::move(kernel));
  }
}

Library::~Library() {
  LibraryHandles::get().remove(this);
  for (const auto& kernel : kernels) KernelHandles::get().remove(kernel.get());
  for (const auto& [exec, module] : loaded_) {
    const std::lock_guard guard(exec->mutex);
    exec->modules.erase(module);
    delete module;
  }
}

CUresult Library::in(ExecContext& exec, Module** out) {
  const std::lock_guard guard(mutex_);
  const auto known = loaded_.find(&exec);
  if (known != loaded_.end()) {
    *out = known->second;
    return CUDA_SUCCESS;
  }
  const CUresult result = Module::load(exec, image, this, out);
  if (result == CUDA_SUCCESS) loaded_.emplace(&exec, *out);
  return result;
}

void Library::unloadFrom(ExecContext& exec) {
  const std::lock_guard guard(mutex_);
  loaded_.erase(&exec);
}

Kernel* Library::find(std::string_view name) {
  for (const auto& kernel : kernels) {
    if (kernel->code->name == name) return kernel.get();
  }
  return nullptr;
}

CUresult findFunction(ExecContext& exec, CUfunction handle, Function** out) {
  *out = FunctionHandles::get().find(handle);
  if (*out != nullptr) return CUDA_SUCCESS;
  Kernel* kernel = KernelHandles::get().find(reinterpret_cast<CUkernel>(handle));
  if (kernel == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  Module* module = nullptr;
  const CUresult loaded = kernel->library->in(exec, &module);
  if (loaded != CUDA_SUCCESS) return loaded;
  *out = module->find(kernel->code->name);
  return CUDA_SUCCESS;
}

void unloadModulesOf(ExecContext& exec) {
  std::set<Module*> modules;
  {
    const std::lock_guard guard(exec.mutex);
    modules.swap(exec.modules);
  }
  for (Module* module : modules) {
    if (module->library != nullptr) module->library->unloadFrom(exec);
    delete module;
  }
}

JitLog::JitLog(unsigned count, const CUjit_option* options, void** values)
    : complete_(count == 0 || (options != nullptr && values != nullptr)) {
  for (unsigned i = 0; complete_ && i < count; ++i) {
    if (options[i] == CU_JIT_ERROR_LOG_BUFFER) buffer_ = static_cast<char*>(values[i]);
    if (options[i] == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES) {
      size_ = &values[i];
      room_ = reinterpret_cast<std::uintptr_t>(values[i]);
    }
  }
}

void JitLog::write(const std::string& text) {
  std::size_t length = 0;
  if (buffer_ != nullptr && room_ != 0) {
    length = std::min(text.size(), room_ - 1);
    text.copy(buffer_, length);
    buffer_[length] = 0;
  }
  if (size_ != nullptr) *size_ = reinterpret_cast<void*>(static_cast<std::uintptr_t>(length));
}

}  // namespace divvy::simgpu
