// Collectives libraries, found by their code: their memory has to stay where it is.
#pragma once

#include <atomic>
#include <cstdint>

#include "abi/cuda_types.h"

struct dl_phdr_info;

namespace divvy::interposer {

// One per process, in static storage. Any thread.
class Collectives {
 public:
  // Returns whether the code belongs to a loaded library that is named libnccl.so*. Peers map the
  // buffers of such a library and network cards write into them, without a call that this library
  // sees. Briefly takes the loader's lock of its list, and walks the list only if it changed.
  bool holds(const void* code);

 private:
  static constexpr unsigned kMax = 8;
  // Guarded by that lock. A signal handler that interrupts the walk may read a half-written list
  // and get a wrong answer.
  struct Code {
    std::atomic<std::uint64_t> begin;
    std::atomic<std::uint64_t> end;
  };
  struct Question;

  static int look(dl_phdr_info* info, std::size_t bytes, void* question);
  bool isCurrent(const dl_phdr_info& info) const;
  void add(const dl_phdr_info& info);
  bool among(std::uint64_t code) const;

  Code of_[kMax] = {};
  std::atomic<unsigned> count_{0};
  std::atomic<std::uint64_t> loaded_{0};  // libraries loaded so far at the latest walk
  std::atomic<std::uint64_t> unloaded_{0};
};

}  // namespace divvy::interposer
