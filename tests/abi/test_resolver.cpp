// The part of the interposer that stubs_test replaces: where a call goes on. Wipes every register
// that arguments travel in, because a real resolver may.
#include <dlfcn.h>

#include "abi/cuda_entries.h"
#include "interposer/cuda_hooks.h"

DIVVY_HIDDEN extern unsigned last_hook;

namespace {

unsigned resolved_count;
const char* driver_path;

CUresult notFound() {
  return CUDA_ERROR_NOT_FOUND;
}

void wipeArgumentRegisters() {
#if defined(__x86_64__)
  asm volatile(
      "xor %%edi, %%edi\n xor %%esi, %%esi\n xor %%edx, %%edx\n xor %%ecx, %%ecx\n"
      "xor %%r8d, %%r8d\n xor %%r9d, %%r9d\n pxor %%xmm0, %%xmm0\n pxor %%xmm1, %%xmm1\n"
      "pxor %%xmm2, %%xmm2\n pxor %%xmm3, %%xmm3\n pxor %%xmm4, %%xmm4\n pxor %%xmm5, %%xmm5\n"
      "pxor %%xmm6, %%xmm6\n pxor %%xmm7, %%xmm7\n" ::
          : "rdi", "rsi", "rdx", "rcx", "r8", "r9", "r10", "r11", "rax", "xmm0", "xmm1", "xmm2",
            "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "cc");
#endif
}

}  // namespace

extern "C" void* divvy_cuda_resolve(unsigned id) {
  static void* const driver = dlopen(driver_path, RTLD_NOW | RTLD_LOCAL);
  void* found = driver ? dlsym(driver, divvy::abi::kCuEntries[id].symbol) : nullptr;
  if (!found) found = reinterpret_cast<void*>(&notFound);
  __atomic_store_n(&divvy_cuda_real[id], found, __ATOMIC_RELAXED);
  __atomic_fetch_add(&resolved_count, 1U, __ATOMIC_RELAXED);
  wipeArgumentRegisters();
  return found;
}

// The one further name that the version script lets out; the test looks inside through it.
extern "C" __attribute__((visibility("default"))) const void* divvy_control(unsigned what,
                                                                            unsigned id) {
  using divvy::abi::Cu;
  switch (what) {
    case 0:
      return &resolved_count;
    case 1:
      return &last_hook;
    case 2:
      return divvy::abi::kCuHooks[id];
    case 3:
      return divvy::abi::kCuExports[id];
    case 4:
      return reinterpret_cast<const void*>(divvy::abi::real<Cu::cuMemAlloc_v2>());
    case 5:
      return &driver_path;
    default:
      return nullptr;
  }
}
