#include "driver/library.h"

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

namespace divvy::driver {

Result<Library> Library::open(const std::string& path) {
  Library library;
  library.handle_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library.handle_ == nullptr) {
    const char* why = dlerror();
    return Error{ErrorCode::kUnavailable,
                 why == nullptr ? path + ": cannot be opened" : std::string(why)};
  }
  link_map* map = nullptr;
  const bool known = dlinfo(library.handle_, RTLD_DI_LINKMAP, &map) == 0 && map != nullptr;
  library.path_ = known && map->l_name[0] == '/' ? map->l_name : path;
  return library;
}

void* Library::address(const char* symbol) const {
  return dlsym(handle_, symbol);
}

std::string findIn(const std::vector<std::string>& dirs, const std::string& soname) {
  for (const std::string& dir : dirs) {
    const std::string path = dir + "/" + soname;
    if (!dir.empty() && access(path.c_str(), R_OK) == 0) return path;
  }
  return soname;
}

}  // namespace divvy::driver
