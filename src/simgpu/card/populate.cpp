#include "card/populate.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

namespace divvy::simgpu {

bool populate(void* at, std::size_t bytes) {
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<std::uintptr_t>(at) & ~(page - 1);
  const auto end = reinterpret_cast<std::uintptr_t>(at) + bytes;
#ifdef MADV_POPULATE_WRITE
  if (madvise(reinterpret_cast<void*>(begin), end - begin, MADV_POPULATE_WRITE) == 0) return true;
  return errno == EINVAL;
#else
  return end > begin;
#endif
}

}  // namespace divvy::simgpu
