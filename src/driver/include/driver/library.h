// A shared library opened at run time: never linked, never visible to anyone else.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace divvy::driver {

// Owns one dlopen handle (RTLD_NOW | RTLD_LOCAL). Movable; closes nothing on destruction: drivers
// do not survive being unloaded.
class Library {
 public:
  // `path` is absolute or a bare soname (then the loader's own search applies).
  static Result<Library> open(const std::string& path);

  // The function, or nullptr where this version of the library lacks it. The caller names its type.
  template <typename Function>
  Function* find(const char* symbol) const {
    return reinterpret_cast<Function*>(address(symbol));
  }

  // The absolute path the library came from.
  const std::string& path() const { return path_; }

 private:
  void* address(const char* symbol) const;

  void* handle_ = nullptr;
  std::string path_;
};

// The first of `dirs` that holds a readable file `soname`, as an absolute path; else `soname`
// itself.
std::string findIn(const std::vector<std::string>& dirs, const std::string& soname);

}  // namespace divvy::driver
