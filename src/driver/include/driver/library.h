// A shared library opened at run time: not linked, and not visible to other libraries.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace divvy::driver {

// Owns one dlopen handle (RTLD_NOW | RTLD_LOCAL). Movable. Does not close the handle on
// destruction, because drivers cannot be unloaded.
class Library {
 public:
  // `path` is absolute or a bare soname, which the loader searches for.
  static Result<Library> open(const std::string& path);

  // Returns the function, or nullptr if this version of the library lacks it. The caller states its
  // type.
  template <typename Function>
  Function* find(const char* symbol) const {
    return reinterpret_cast<Function*>(address(symbol));
  }

  // The absolute path of the library.
  const std::string& path() const { return path_; }

 private:
  void* address(const char* symbol) const;

  void* handle_ = nullptr;
  std::string path_;
};

// Returns the absolute path of the first readable file `soname` in `dirs`; else `soname` itself.
std::string findIn(const std::vector<std::string>& dirs, const std::string& soname);

}  // namespace divvy::driver
