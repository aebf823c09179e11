// Which files this process may open from now on (Landlock, Linux 5.13). A user of the machine's own
// that has no capability is root to files that belong to root, those in /proc of others included.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "helper/server.h"

namespace divvy::helper {

// Rights of Landlock's, by the kernel's numbers.
enum FileRight : std::uint64_t {
  kWriteFile = 1u << 1,
  kReadFile = 1u << 2,
  kReadFolder = 1u << 3,
  kRemoveFolder = 1u << 4,
  kRemoveFile = 1u << 5,
  kMakeFolder = 1u << 7,
  kMakeFile = 1u << 8,
  kMakeSocket = 1u << 9,
  kTruncate = 1u << 14,
  kDeviceCall = 1u << 15,
};

// Rights on a file, or on a folder and all below it.
struct FileRule {
  std::string path;
  std::uint64_t rights = 0;
};

// All that answering takes. Paths need not exist.
std::vector<FileRule> fileRules(const ServerOptions& terms);

// The version that the kernel has; 0: none, or it is switched off.
int landlockVersion();

// This thread, and those that it starts, may open what the rules name and nothing else. What is
// open already stays open. Without capabilities it may not look into other processes either
// (/proc/PID/root, environ, mem). From version 4 on it makes no connection by TCP; from 6 on it
// signals no process outside and connects to no abstract socket outside. A path that does not exist
// has no rule, also if it is made later.
Result<void> limitFiles(const std::vector<FileRule>& rules, int version);

}  // namespace divvy::helper
