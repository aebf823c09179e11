// Atomic replacement of files that other processes read meanwhile.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/result.h"

namespace divvy {

// Writes `text` to the file `folder`/`name` with permissions `mode`, and replaces an existing file.
// Readers see the old or the new contents, never a part. The contents are synchronised to disk
// before the return. Until then they are in a file with a hidden name in `folder`.
// kIo: the file could not be written; its old contents stay. The message names it. Blocks for I/O.
Result<void> replaceFile(const std::string& folder, const std::string& name,
                         const std::string& text, mode_t mode);

}  // namespace divvy
