// What simulations have in common: files, processors, and a bar while they work.
#pragma once

#include <chrono>
#include <initializer_list>
#include <string>

#include "base/result.h"
#include "simulator/progress.h"

namespace divvy::cli {

// All of a plain file; `kind` is what it should be, for the message.
Result<std::string> readFile(const std::string& path, const std::string& kind);

// Said before the work, not after it. Empty paths are none.
Result<void> checkWritable(std::initializer_list<std::string> paths);
struct FileText {
  std::string path;  // empty: none
  std::string text;
};
// Each all of it or what was there before. The exit status; errors have been printed.
int writeFiles(std::initializer_list<FileText> files);

// 0: as many as there are processors.
unsigned jobsOf(unsigned given);

// One line on the terminal, drawn anew; nothing where there is none. Gone when it ends.
class ProgressBar {
 public:
  ProgressBar();
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  simulator::Progress progress();

 private:
  void draw(std::size_t done, std::size_t all);

  bool shown_;
  bool drawn_ = false;
  std::chrono::steady_clock::time_point began_;
};

}  // namespace divvy::cli
