// The C library's dlopen, past the exported dlopen.
#pragma once

namespace divvy::interposer {

using DlopenFn = void*(const char* name, int flags);

// Calls dlopen of the C library, or of the next preloaded library that wraps it. Returns nullptr,
// as dlopen does, if it fails or is not found.
void* realDlopen(const char* name, int flags);

}  // namespace divvy::interposer
