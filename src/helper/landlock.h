// Limits the files that this process may open (Landlock, Linux 5.13). Without capabilities a
// process of uid 0 still has root's rights on root's files, even on those in /proc of other
// processes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "helper/server.h"

namespace divvy::helper {

// Access rights of Landlock, with the kernel's values.
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

// Rights on a file, or on a folder and everything below it.
struct FileRule {
  std::string path;
  std::uint64_t rights = 0;
};

// Returns the rules for all requests. Paths need not exist.
std::vector<FileRule> fileRules(const ServerOptions& options);

// Returns the kernel's Landlock version; 0: absent or switched off.
int landlockVersion();

// Limits this thread, and threads that it starts, to files that the rules name. Open files stay
// open. Without capabilities they cannot look into other processes either (/proc/PID/root, environ,
// mem). From version 4 on they make no TCP connection; from version 6 on they signal no process
// outside and connect to no abstract socket outside. A path that does not exist gets no rule, even
// if it is made later. kUnsupported: the kernel refuses a step.
Result<void> limitFiles(const std::vector<FileRule>& rules, int version);

}  // namespace divvy::helper
