// For libraries without a dlopen of their own (libdivvy-nvml.so). If libdivvy-cuda.so's dlopen is
// called, it recognises a Divvy library by its note and replaces nothing.
#include <dlfcn.h>

#include "loader/real_dlopen.h"

namespace divvy::interposer {

void* realDlopen(const char* name, int flags) {
  return ::dlopen(name, flags);
}

}  // namespace divvy::interposer
