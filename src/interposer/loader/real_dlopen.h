// The C library's dlopen, past the one that we export.
#pragma once

namespace divvy::interposer {

using DlopenFn = void*(const char* name, int flags);

// dlopen of the C library (or of the next preloaded library that wraps it). Returns nullptr, as
// dlopen does, when it fails or cannot be found.
void* realDlopen(const char* name, int flags);

}  // namespace divvy::interposer
