// A libcuda.so.1 that counts the calls which reach the driver and passes them on. It opens the
// driver that COUNTING_DRIVER names and counts in the first word of the file COUNTING_FILE, which
// all processes share. For `driver_calls_per_1000` of the data-plane bench.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>

#include "abi/cuda_entries.h"

using divvy::abi::kCuEntries;

constexpr unsigned kEntries = static_cast<unsigned>(divvy::abi::Cu::kCount);
static_assert(kEntries <= COUNTING_THUNKS, "one thunk per entry: raise it in bench/CMakeLists.txt");

extern "C" {
[[gnu::visibility("hidden")]] extern char counting_thunks[];
[[gnu::visibility("hidden")]] extern void* simgpu_cuda_table[];  // of the generated exports
[[gnu::visibility("hidden")]] void* counting_real[COUNTING_THUNKS];
[[gnu::visibility("hidden")]] std::uint64_t* counting_word;

// Where the generated exports send an entry that has no body here, which is each of them until the
// constructor has run: there is no driver to go to.
[[gnu::visibility("hidden")]] unsigned long simgpu_cuda_missing(unsigned) {
  return 999;
}
[[gnu::visibility("hidden")]] const char* simgpu_cuda_missing_text(unsigned) {
  return "unknown";
}
}

namespace {

constexpr int kThunkBytes = 32;

std::uint64_t* sharedWord() {
  static std::uint64_t unshared = 0;
  const char* path = std::getenv("COUNTING_FILE");
  const int file = path == nullptr ? -1 : open(path, O_RDWR | O_CLOEXEC);
  if (file < 0) return &unshared;
  void* page = mmap(nullptr, sizeof(std::uint64_t), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  return page == MAP_FAILED ? &unshared : static_cast<std::uint64_t*>(page);
}

[[gnu::constructor]] void openCounted() {
  const char* path = std::getenv("COUNTING_DRIVER");
  void* driver = path == nullptr ? nullptr : dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (driver == nullptr) return;
  counting_word = sharedWord();
  for (unsigned i = 0; i < kEntries; ++i) {
    counting_real[i] = dlsym(driver, kCuEntries[i].symbol);
    if (counting_real[i] != nullptr) simgpu_cuda_table[i] = counting_thunks + i * kThunkBytes;
  }
}

}  // namespace
