// Finding and opening the driver library that the loader would have chosen without us.
#pragma once

#include <stddef.h>

#include "loader/ld_cache.h"
#include "support/fixed_string.h"

namespace divvy::interposer {

using LibraryPath = FixedString<4096>;

// Where to look, in this order. Every field may be null or empty. Held as data so that a test can
// give it a private tree.
struct LibraryPlaces {
  const char* preferred = nullptr;           // absolute path of the library (from the control page)
  const char* search_path = nullptr;         // LD_LIBRARY_PATH's form
  const char* cache = nullptr;               // path of ld.so.cache
  const char* const* directories = nullptr;  // null-terminated
};

// The places of this process: its LD_LIBRARY_PATH (not for a set-uid program), the system's cache
// and usual directories. `preferred` must outlive the result.
LibraryPlaces systemPlaces(const char* preferred);

// Walks the candidates for one soname: existing ELF files that are not of Divvy's own making (they
// carry a note, see note.S). A CUDA forward-compatibility directory is met wherever the search path
// or the cache names it, ahead of the system's driver exactly as the loader would meet it.
class LibraryCandidates {
 public:
  LibraryCandidates(const char* soname, const LibraryPlaces& places);

  // The next candidate, or nullptr at the end; valid until the next call.
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

// True if the file is an ELF library built by Divvy (any version, any build). False for anything
// else, unreadable files included.
bool isDivvyLibrary(const char* path);

// Opens the first candidate that loads, past our own dlopen. Returns its handle and fills `path`,
// or returns nullptr. May run the library's constructors. Leaves dlerror() clear.
void* openRealLibrary(const char* soname, const LibraryPlaces& places, LibraryPath* path);

}  // namespace divvy::interposer
