// Loaded code: modules, libraries, and the handles of their contents.
#pragma once

#include "abi/cuda_types.h"

#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "cuda/engine/engine.h"
#include "cuda/engine/engine_handles.h"
#include "cuda/kernel/kernel_image.h"

namespace divvy::simgpu {

class Library;
class Module;

// Settable attributes of a function or kernel, and the state of the launch calls of before CUDA 4.
struct FunctionSettings {
  int max_dynamic_shared = 48 << 10;
  int shared_carveout = -1;
  int cluster_required = 0;
  std::array<int, 3> cluster{};
  int non_portable_cluster = 0;
  int cluster_policy = 0;
  Dim3 block;
  unsigned shared_bytes = 0;
  std::vector<std::byte> params;
};

struct Function {
  Module* module = nullptr;
  const KernelCode* code = nullptr;
  FunctionSettings settings;

  CUfunction handle() { return reinterpret_cast<CUfunction>(this); }
};

// An image in one context. Its functions live as long as it does; the image outlives it while
// launches of it are pending.
class Module {
 public:
  // Charges the context for code and globals and fills the globals.
  static CUresult load(ExecContext& exec, std::shared_ptr<const KernelImage> image,
                       Library* library, Module** out);
  ~Module();
  // Frees the globals by the driver's public name, as they were made (kReentrant).
  void freeByName();
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  // nullptr when there is none of that name.
  Function* find(std::string_view name);
  // The address and size of a global; false when there is none.
  bool findGlobal(std::string_view name, CUdeviceptr* address, std::size_t* bytes) const;

  CUmodule handle() { return reinterpret_cast<CUmodule>(this); }

  ExecContext& exec;
  const std::shared_ptr<const KernelImage> image;
  Library* const library;  // it was loaded for; nullptr: cuModuleLoad
  std::shared_ptr<GlobalAddresses> globals = std::make_shared<GlobalAddresses>();
  std::vector<std::unique_ptr<Function>> functions;

 private:
  Module(ExecContext& e, std::shared_ptr<const KernelImage> i, Library* l);
  CUresult placeGlobals();
  CUresult linkGlobals();
  std::size_t charged_ = 0;
};

// A kernel of a library: a function in whichever context is current.
struct Kernel {
  Library* library = nullptr;
  const KernelCode* code = nullptr;
  FunctionSettings settings;

  CUkernel handle() { return reinterpret_cast<CUkernel>(this); }
};

// An image without a context; loaded into each on first use.
class Library {
 public:
  explicit Library(std::shared_ptr<const KernelImage> i);
  ~Library();
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  // The library's module in a context.
  CUresult in(ExecContext& exec, Module** out);
  void unloadFrom(ExecContext& exec);
  Kernel* find(std::string_view name);

  CUlibrary handle() { return reinterpret_cast<CUlibrary>(this); }

  const std::shared_ptr<const KernelImage> image;
  std::vector<std::unique_ptr<Kernel>> kernels;

 private:
  std::mutex mutex_;
  std::map<ExecContext*, Module*> loaded_;
};

using ModuleHandles = HandleSet<Module, CUmodule>;
using FunctionHandles = HandleSet<Function, CUfunction>;
using LibraryHandles = HandleSet<Library, CUlibrary>;
using KernelHandles = HandleSet<Kernel, CUkernel>;

// A function handle, or a kernel passed as one (its function in `exec`). INVALID_HANDLE otherwise.
CUresult findFunction(ExecContext& exec, CUfunction handle, Function** out);
// A context ends: its modules go.
void unloadModulesOf(ExecContext& exec);

// Text buffers that a program handed in with its image (CU_JIT_ERROR_LOG_BUFFER and its like).
class JitLog {
 public:
  JitLog(unsigned count, const CUjit_option* options, void** values);
  // Writes what fits and stores the length where the size stood.
  void write(const std::string& text);
  // False: options were counted, and their names or values are missing.
  bool isComplete() const { return complete_; }

 private:
  bool complete_;
  char* buffer_ = nullptr;
  std::size_t room_ = 0;
  void** size_ = nullptr;
};

}  // namespace divvy::simgpu
