// Files of a tenant's that its processes write: they may grow as long as their file system has
// room, and it is the node's. What is more than the agent made is cut. Private.
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
  Bytes has;   // what it is, or has of storage beyond its end
  Bytes made;  // what it may be
};

// The first of a tenant's files that has grown; none: all are as large as they may be, or cannot be
// looked at. `dir`: the tenant's folder, which only the agent writes.
std::optional<GrownFile> grownIn(const std::string& dir);

// Cuts files on a thread of its own: to free gigabytes takes a file system longer than a loop may
// wait. At most kMaxWaiting are kept for it; what is not taken is found again.
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
  std::thread thread_;  // begun with the first file
};

// "its file report has 3 GiB, and may have 8.1 MiB".
std::string describe(const GrownFile& file);

}  // namespace divvy::agent
