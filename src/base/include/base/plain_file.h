// Bounded reads of files in directories that other users can write.
#pragma once

#include <cstddef>
#include <string>

#include "base/fd.h"
#include "base/result.h"

namespace divvy {

// Returns the contents of a regular file of at most `most` bytes. Opens no pipe, socket, device,
// directory or symbolic link, so it never waits for a writer.
// kNotFound: there is no such file; kCorrupt: it is not a regular file, or larger; kIo: opening or
// reading fails. Messages name the path.
Result<std::string> readPlainFile(const std::string& path, std::size_t most);
// Does the same for a file that the caller opened with O_NONBLOCK. `path` is for messages only.
Result<std::string> readPlainFile(const Fd& file, const std::string& path, std::size_t most);

}  // namespace divvy
