// Libraries of collectives, by whose code memory is told apart that has to stay where it is.
#pragma once

#include <atomic>
#include <cstdint>

#include "abi/cuda_types.h"

struct dl_phdr_info;

namespace divvy::interposer {

// One per process, in static storage. Any thread.
class Collectives {
 public:
  // Whether that code is a loaded library's that is named libnccl.so*. The buffers that it asks for
  // are what its peers map, and network cards write into, without a call that we see. Takes the
  // loader's lock of its list for a moment, and walks the list only if that changed.
  bool holds(const void* code);

 private:
  static constexpr unsigned kMax = 8;
  // Guarded by that lock; a signal handler that comes in between may find them half written, and
  // is answered wrongly then.
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
  std::atomic<std::uint64_t> loaded_{0};  // libraries ever, when the list was walked
  std::atomic<std::uint64_t> unloaded_{0};
};

}  // namespace divvy::interposer
