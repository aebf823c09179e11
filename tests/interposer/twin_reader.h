// A second process of the tenant, to which twins show their memory: it reads all of it, and writes
// a part.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "abi/cuda_types.h"

namespace divvy::interposer {

class TwinReader {
 public:
  // What is shown, and what it is to do with it.
  struct Shown {
    bool by_descriptor;  // which comes beside; else by the legacy handle
    CUipcMemHandle handle;
    std::uint64_t mapped;  // bytes of the descriptor's memory
    std::uint64_t bytes;
    std::uint64_t from;  // of what it sets
    std::uint64_t set;
    unsigned char value;
  };

  // Forks it: to be called before this process uses the driver.
  TwinReader();
  ~TwinReader();
  TwinReader(const TwinReader&) = delete;
  TwinReader& operator=(const TwinReader&) = delete;

  // Waits until it is done. What went wrong; empty: it found `expected`, and has set its part.
  std::uint64_t visits() const { return visits_; }
  // Blocks that could not be shown, for want of room.
  void countRefused() { ++refused_; }
  std::uint64_t refused() const { return refused_; }
  std::string show(const Shown& shown, int descriptor, const std::vector<unsigned char>& expected);

 private:
  [[noreturn]] static void run(int socket);

  std::mutex one_;
  std::atomic<std::uint64_t> visits_{0};
  std::atomic<std::uint64_t> refused_{0};
  int socket_ = -1;
  pid_t child_ = -1;
};

}  // namespace divvy::interposer
