#include "loader/dlopen_name.h"

#include <dlfcn.h>

#include <atomic>

#include "loader/driver_locator.h"
#include "loader/real_dlopen.h"
#include "support/fixed_string.h"
#include "support/syscalls.h"
#include "tenant/tenant.h"

// Read by dlopen.S. Every writer stores the same address, so a race is harmless.
extern "C" {
__attribute__((visibility("hidden"))) constinit std::atomic<void*> divvy_dlopen_next{nullptr};
}

namespace divvy::interposer {
namespace {

constexpr char kCuda[] = "libcuda.so.1";
constexpr char kNvml[] = "libnvidia-ml.so.1";

DlopenFn* nextDlopen() {
  void* next = divvy_dlopen_next.load(std::memory_order_relaxed);
  if (next == nullptr) {
    next = ::dlsym(RTLD_NEXT, "dlopen");
    divvy_dlopen_next.store(next, std::memory_order_relaxed);
  }
  return reinterpret_cast<DlopenFn*>(next);
}

// A full path must not become a soname that the loader then fails to find. So the name is replaced
// only if an object of that soname (ours, preloaded) is loaded.
bool isLoaded(const char* soname) {
  void* handle = realDlopen(soname, RTLD_LAZY | RTLD_NOLOAD);
  if (handle == nullptr) {
    ::dlerror();
    return false;
  }
  ::dlclose(handle);
  return true;
}

bool isInDivvyLibrary(void* address) {
  Dl_info info;
  return ::dladdr(address, &info) != 0 && info.dli_fname != nullptr &&
         isDivvyLibrary(info.dli_fname);
}

}  // namespace

const char* driverSoname(const char* name) {
  if (name == nullptr) return nullptr;
  const char* base = baseName(name);
  if (base[0] != 'l' || base[1] != 'i' || base[2] != 'b') return nullptr;
  if (::strcmp(base, kCuda) == 0 || ::strcmp(base, "libcuda.so") == 0) return kCuda;
  if (::strcmp(base, kNvml) == 0 || ::strcmp(base, "libnvidia-ml.so") == 0) return kNvml;
  return nullptr;
}

void* realDlopen(const char* name, int flags) {
  DlopenFn* next = nextDlopen();
  return next == nullptr ? nullptr : next(name, flags);
}

}  // namespace divvy::interposer

// The name that dlopen.S passes to the C library in place of `name`. `caller` is an address in the
// caller: a Divvy library that names the driver means the real one.
extern "C" __attribute__((visibility("hidden"))) const char* divvy_dlopen_name(const char* name,
                                                                               void* caller) {
  using namespace divvy::interposer;
  const ErrnoKeeper keeper;
  nextDlopen();
  const char* soname = driverSoname(name);
  if (soname == nullptr || !tenantNamed() || isInDivvyLibrary(caller)) return name;
  return isLoaded(soname) ? soname : name;
}
