// An archive for support: its files, omitted files with reasons, and writing it to disk.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace divvy::doctor {

struct BundleFile {
  std::string name;  // in the archive; at most 100 characters
  std::string text;
  std::string what;  // for the manifest
};
struct OmittedFile {
  std::string what;
  std::string why;
};

struct Bundle {
  std::string version;  // of this program
  std::int64_t written_ms = 0;
  bool redacted = false;  // names are replaced by numbers
  std::vector<BundleFile> files;
  std::vector<OmittedFile> omitted;
};

// Returns "manifest.json", the archive's first file: each file with its size, and the omitted
// files.
std::string manifestOf(const Bundle& bundle);

// Returns a gzip-compressed tar archive; equal bundles give equal bytes. kInternal: a name or size
// that does not fit its format.
Result<std::string> archiveOf(const Bundle& bundle);

// Writes the file as a whole or not at all, readable by its owner only (0600). kUsage: the file
// exists and `force` is false. kIo: it cannot be written.
Result<void> writeBundle(const std::string& path, const std::string& bytes, bool force);
// Returns the error that writeBundle() would return now for an existing file, so that the caller
// can stop before the work.
Result<void> mayWriteBundle(const std::string& path, bool force);

}  // namespace divvy::doctor
