// Files that a tenant's processes write. They may grow until the node's file system is full; bytes
// beyond the size that the agent made are cut. Private.
#pragma once

#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "base/bytes.h"
#include "base/fd.h"

namespace divvy::agent {

struct GrownFile {
  Fd fd;  // open for writing
  std::string name;
  Bytes has;   // its size, or its storage beyond its end
  Bytes made;  // its permitted size
};

// The first of a tenant's files that has grown. Nothing: none has, or they cannot be examined.
// `dir`: the tenant's directory, which only the agent writes.
std::optional<GrownFile> grownIn(const std::string& dir);

// Cuts files on its own thread: a file system takes longer to free gigabytes than a loop may block.
// At most kMaxWaiting files wait; a file beyond them is dropped, and found again later.
class FileTruncator {
 public:
  static constexpr std::size_t kMaxWaiting = 64;
  FileTruncator() = default;
  FileTruncator(const FileTruncator&) = delete;
  FileTruncator& operator=(const FileTruncator&) = delete;
  // Waits for the file that is being cut.
  ~FileTruncator();

  void cut(GrownFile file);

 private:
  void run();

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<GrownFile> waiting_;
  bool ending_ = false;
  std::thread thread_;  // started with the first file
};

// "its file report has 3 GiB, and may have 8.1 MiB".
std::string describe(const GrownFile& file);

}  // namespace divvy::agent
