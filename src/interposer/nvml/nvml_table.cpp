// Finds the driver's functions. Needs nothing of the application but its memory.
#include <dlfcn.h>
#include <elf.h>

#include "abi/nvml_entries.h"
#include "loader/driver_locator.h"
#include "nvml/nvml_table.h"
#include "nvml/tenant.h"
#include "support/syscalls.h"

extern "C" {
constinit thread_local divvy::interposer::ThreadState divvy_thread{};
}

namespace divvy::interposer {
namespace {

constexpr char kSoname[] = "libnvidia-ml.so.1";

// The driver's library and its position in memory. Set once, before its first function is called.
struct Library {
  std::atomic<void*> handle{nullptr};
  std::atomic<std::uintptr_t> start{0};
  std::atomic<std::uintptr_t> size{0};
};
constinit Library library;

// Stubs for missing entry points. They take any arguments and read none.
nvmlReturn_t noLibrary() {
  return NVML_ERROR_LIBRARY_NOT_FOUND;
}
nvmlReturn_t notInitialised() {
  return NVML_ERROR_UNINITIALIZED;
}
nvmlReturn_t noFunction() {
  return NVML_ERROR_FUNCTION_NOT_FOUND;
}
const char* noText() {
  return "NVML's library was not found";
}

// The extent of the library that holds `address`, read from its own headers.
void noteExtent(const void* address) {
  Dl_info info;
  if (::dladdr(const_cast<void*>(address), &info) == 0) return;
  const char* start = static_cast<const char*>(info.dli_fbase);
  Elf64_Ehdr elf;
  ::memcpy(&elf, start, sizeof elf);
  std::uintptr_t size = 0;
  for (unsigned i = 0; i < elf.e_phnum; ++i) {
    Elf64_Phdr segment;
    ::memcpy(&segment, start + elf.e_phoff + i * sizeof segment, sizeof segment);
    const std::uintptr_t end = segment.p_vaddr + segment.p_memsz;
    if (segment.p_type == PT_LOAD && end > size) size = end;
  }
  library.start.store(reinterpret_cast<std::uintptr_t>(start), std::memory_order_relaxed);
  library.size.store(size, std::memory_order_release);
}

// Several threads may do this at once; the loader gives all of them the same library.
void* openLibrary() {
  void* handle = library.handle.load(std::memory_order_acquire);
  if (handle != nullptr) return handle;
  LibraryPath path;
  handle = openRealLibrary(kSoname, systemPlaces(preferredNvmlPath()), &path);
  if (handle == nullptr) return nullptr;
  const void* any = ::dlsym(handle, "nvmlShutdown");
  if (any != nullptr) noteExtent(any);
  library.handle.store(handle, std::memory_order_release);
  return handle;
}

void* withoutDriver(Nv id) {
  if (id == Nv::nvmlErrorString) return reinterpret_cast<void*>(noText);
  const bool starts = id == Nv::nvmlInit || id == Nv::nvmlInit_v2 || id == Nv::nvmlInitWithFlags;
  return starts ? reinterpret_cast<void*>(noLibrary) : reinterpret_cast<void*>(notInitialised);
}

}  // namespace

NvmlTenant* viewerFor(const void* caller) {
  const std::uintptr_t at = reinterpret_cast<std::uintptr_t>(caller);
  const bool from_driver = at - library.start.load(std::memory_order_relaxed) <
                           library.size.load(std::memory_order_relaxed);
  return from_driver || divvy_thread.depth > 0 ? nullptr : nvmlTenant();
}

}  // namespace divvy::interposer

// See interposer/nvml_hooks.h. Without a driver nothing is stored, so that one that is installed
// later is found, as by a program that opens it again.
void* divvy_nvml_resolve(unsigned id) {
  using namespace divvy::interposer;
  const ErrnoKeeper keeper;
  void* handle = openLibrary();
  if (handle == nullptr) return withoutDriver(static_cast<Nv>(id));
  void* entry = ::dlsym(handle, divvy::abi::kNvEntries[id].symbol);
  if (entry == nullptr) {
    ::dlerror();
    entry = reinterpret_cast<void*>(noFunction);
  }
  __atomic_store_n(&divvy_nvml_real[id], entry, __ATOMIC_RELAXED);
  return entry;
}
