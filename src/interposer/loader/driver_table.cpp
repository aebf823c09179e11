#include "loader/driver_table.h"

#include <dlfcn.h>
#include <link.h>

#include "runtime.h"
#include "support/syscalls.h"
#include "threads/thread_state.h"

namespace divvy::interposer {
namespace {

// Used if the driver has no such entry. Called with any arguments: on the supported architectures a
// callee may ignore them.
CUresult missingEntry() {
  runtime().driver.countMissing();
  return CUDA_ERROR_NOT_FOUND;
}

CUresult noDevice() {
  return CUDA_ERROR_NO_DEVICE;
}

CUresult notInitialized() {
  return CUDA_ERROR_NOT_INITIALIZED;
}

// Written by the thread that publishes the handle.
constinit LibraryPath driver_path;
constinit std::atomic<bool> driver_path_ready{false};

}  // namespace

const char* Driver::path() const {
  return driver_path_ready.load(std::memory_order_acquire) ? driver_path.c_str() : "";
}

bool Driver::openLibrary() {
  // A driver's constructor that calls this library finds it not loaded yet.
  if (absent_.load(std::memory_order_relaxed) || divvy_thread.opening) return false;
  const ErrnoKeeper keeper;
  Tenant& tenant = runtime().tenant;
  const char* preferred = tenant.ready() ? tenant.control().header.driver_path : nullptr;
  LibraryPath path;
  divvy_thread.opening = true;
  void* handle = openRealLibrary("libcuda.so.1", systemPlaces(preferred), &path);
  divvy_thread.opening = false;
  if (handle == nullptr) {
    absent_.store(true, std::memory_order_relaxed);
    return false;
  }
  void* expected = nullptr;
  if (handle_.compare_exchange_strong(expected, handle, std::memory_order_acq_rel)) {
    driver_path = path;
    driver_path_ready.store(true, std::memory_order_release);
  }
  return true;
}

void* Driver::symbol(abi::Cu id) {
  if (!open()) return nullptr;
  void* address = ::dlsym(handle_.load(std::memory_order_acquire),
                          abi::kCuEntries[static_cast<unsigned>(id)].symbol);
  if (address == nullptr) ::dlerror();
  return address;
}

bool Driver::askForParams() {
  const ErrnoKeeper keeper;
  const bool says = has(abi::Cu::cuFuncGetParamInfo) && has(abi::Cu::cuKernelGetParamInfo);
  says_params_.store(says ? Answer::kYes : Answer::kNo, std::memory_order_relaxed);
  return says;
}

// Concurrent threads find the same values.
void Driver::measure() {
  struct Search {
    std::uint64_t inside, begin, end;
  } search{reinterpret_cast<std::uint64_t>(symbol(abi::Cu::cuInit)), 0, 0};
  ::dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* argument) {
        Search& wanted = *static_cast<Search*>(argument);
        std::uint64_t begin = UINT64_MAX, end = 0;
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          const auto& header = info->dlpi_phdr[i];
          if (header.p_type != PT_LOAD) continue;
          const std::uint64_t at = info->dlpi_addr + header.p_vaddr;
          if (at < begin) begin = at;
          if (at + header.p_memsz > end) end = at + header.p_memsz;
        }
        if (wanted.inside < begin || wanted.inside >= end) return 0;
        wanted.begin = begin;
        wanted.end = end;
        return 1;
      },
      &search);
  begin_.store(search.begin, std::memory_order_relaxed);
  end_.store(search.end, std::memory_order_relaxed);
  measured_.store(true, std::memory_order_release);
}

bool Driver::holds(const void* code) {
  if (!measured_.load(std::memory_order_acquire)) measure();
  const auto at = reinterpret_cast<std::uint64_t>(code);
  return at >= begin_.load(std::memory_order_relaxed) && at < end_.load(std::memory_order_relaxed);
}

}  // namespace divvy::interposer

// Called by the generated stubs at the first call of an entry point; returns the address to jump
// to.
extern "C" __attribute__((visibility("hidden"))) void* divvy_cuda_resolve(unsigned id) {
  using namespace divvy::interposer;
  const ErrnoKeeper keeper;
  Driver& driver = runtime().driver;
  if (!driver.open()) {
    return reinterpret_cast<void*>(
        static_cast<divvy::abi::Cu>(id) == divvy::abi::Cu::cuInit ? &noDevice : &notInitialized);
  }
  void* address = driver.symbol(static_cast<divvy::abi::Cu>(id));
  if (address == nullptr) address = reinterpret_cast<void*>(&missingEntry);
  __atomic_store_n(&divvy_cuda_real[id], address, __ATOMIC_RELAXED);
  return address;
}
