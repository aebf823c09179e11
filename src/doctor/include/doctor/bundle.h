// An archive for whoever is asked for help: what is in it, what is not and why, and how it comes to
// be on disk.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace divvy::doctor {

struct BundleFile {
  std::string name;  // in the archive; 100 characters at most
  std::string text;
  std::string what;  // for the manifest
};
struct LeftOut {
  std::string what;
  std::string why;
};

struct Bundle {
  std::string version;  // of this program
  std::int64_t written_ms = 0;
  bool redacted = false;  // numbers are in place of names
  std::vector<BundleFile> files;
  std::vector<LeftOut> left_out;
};

// Each file with its size, and what was left out: "manifest.json", which comes first.
std::string manifestOf(const Bundle& bundle);

// A gzip-compressed tar archive, the same bytes for the same bundle. kInternal: a name or a size
// that has no place in it.
Result<std::string> archiveOf(const Bundle& bundle);

// Whole or not at all, for its owner alone (0600); what is there already is left as it is unless
// `force`. kUsage: something is there; kIo.
Result<void> writeBundle(const std::string& path, const std::string& bytes, bool force);
// Whether writeBundle would refuse it now: said before the work, not after it.
Result<void> mayWriteBundle(const std::string& path, bool force);

}  // namespace divvy::doctor
