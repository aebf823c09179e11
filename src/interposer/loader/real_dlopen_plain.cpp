// For libraries that export no dlopen of their own (libdivvy-nvml.so). Should the one in front be
// libdivvy-cuda.so's, it knows a Divvy library by its note and replaces nothing.
#include <dlfcn.h>

#include "loader/real_dlopen.h"

namespace divvy::interposer {

void* realDlopen(const char* name, int flags) {
  return ::dlopen(name, flags);
}

}  // namespace divvy::interposer
