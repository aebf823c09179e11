// Finds and opens the driver library that the loader would choose without the interposer.
#pragma once

#include <stddef.h>

#include "loader/ld_cache.h"
#include "support/fixed_string.h"

namespace divvy::interposer {

using LibraryPath = FixedString<4096>;

// Places to search, in this order. Each member may be null or empty. Held as data so that a test
// can use a private directory tree.
struct LibraryPlaces {
  const char* preferred = nullptr;           // absolute path of the library (from the control page)
  const char* search_path = nullptr;         // in the form of LD_LIBRARY_PATH
  const char* cache = nullptr;               // path of ld.so.cache
  const char* const* directories = nullptr;  // null-terminated
};

// Returns the places of this process: its LD_LIBRARY_PATH (not for a set-uid program), the system's
// cache and usual directories. `preferred` must outlive the result.
LibraryPlaces systemPlaces(const char* preferred);

// Iterates over the candidates for one soname: existing ELF files that Divvy did not make (its
// files carry a note, see support/elf_note.S). A CUDA forward-compatibility directory that the
// search path or the cache names comes before the system's driver, exactly as for the loader.
class LibraryCandidates {
 public:
  LibraryCandidates(const char* soname, const LibraryPlaces& places);

  // Returns the next candidate, valid until the next call; nullptr at the end.
  const char* next();

 private:
  bool advance();
  bool advanceSearchPath();

  enum class Stage { kPreferred, kSearchPath, kCache, kDirectories, kEnd };
  const char* soname_;
  LibraryPlaces places_;
  LdCache cache_;
  Stage stage_ = Stage::kPreferred;
  unsigned index_ = 0;
  LibraryPath path_;
};

// Returns whether the file is an ELF library built by Divvy (any version, any build). False for all
// other files, including unreadable ones.
bool isDivvyLibrary(const char* path);

// Opens the first candidate that loads, past the exported dlopen. Returns its handle and sets
// `path`; nullptr if there is none. May run the library's constructors. Leaves dlerror() clear.
void* openRealLibrary(const char* soname, const LibraryPlaces& places, LibraryPath* path);

}  // namespace divvy::interposer
