// Files, number of threads and progress bar of simulations.
#pragma once

#include <chrono>
#include <initializer_list>
#include <string>

#include "base/result.h"
#include "simulator/progress.h"

namespace divvy::cli {

// Reads a regular file; `kind` names the expected content in errors.
Result<std::string> readFile(const std::string& path, const std::string& kind);

// Returns an error that writing would have, before the work begins. Empty paths are ignored.
Result<void> checkWritable(std::initializer_list<std::string> paths);
struct FileText {
  std::string path;  // empty: none
  std::string text;
};
// Writes each file as a whole or not at all. Prints errors and returns the exit status.
int writeFiles(std::initializer_list<FileText> files);

// Returns `given`; for 0 the number of processors.
unsigned jobsOf(unsigned given);

// A line on the terminal that is redrawn, and cleared at the end. Does nothing without a terminal.
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
