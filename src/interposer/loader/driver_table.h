// The real driver: its library and the table of its entry points.
#pragma once

#include <atomic>

#include "abi/cuda_entries.h"
#include "abi/cuda_ids.h"
#include "interposer/cuda_hooks.h"
#include "loader/driver_locator.h"

namespace divvy::interposer {

using abi::real;  // real<Cu::cuX>()(...) calls the driver, from the first moment on

// One per process, in static storage. Any thread.
class Driver {
 public:
  // Opens the library on first use. Returns false if there is none. Takes no lock, because the
  // loader has its own. Concurrent threads do the same work and agree on the result.
  bool open() { return handle_.load(std::memory_order_acquire) != nullptr || openLibrary(); }

  // Returns the driver's own address of an entry point; nullptr if the driver lacks it.
  void* symbol(abi::Cu id);

  bool has(abi::Cu id) { return symbol(id) != nullptr; }
  // Returns whether the driver reports the sizes of kernels' parameters (12.4).
  bool saysParams() {
    const Answer known = says_params_.load(std::memory_order_relaxed);
    return known == Answer::kUnknown ? askForParams() : known == Answer::kYes;
  }

  // Returns whether code lies in the driver's library. A hook that returns there was called by the
  // driver, which was not linked symbolically. Returns false if that is unknown.
  bool holds(const void* code);

  // Returns the number of calls of entry points that the driver lacks.
  std::uint64_t missingCalls() const { return missing_calls_.load(std::memory_order_relaxed); }
  void countMissing() { missing_calls_.fetch_add(1, std::memory_order_relaxed); }

  // Returns the path of the driver; empty before it was found.
  const char* path() const;

 private:
  enum class Answer : std::uint8_t { kUnknown, kYes, kNo };

  bool openLibrary();
  bool askForParams();
  void measure();

  std::atomic<void*> handle_{nullptr};
  std::atomic<bool> absent_{false};
  std::atomic<Answer> says_params_{Answer::kUnknown};
  std::atomic<std::uint64_t> missing_calls_{0};
  // The library's bounds in memory; valid once `measured_` is observed.
  std::atomic<bool> measured_{false};
  std::atomic<std::uint64_t> begin_{0};
  std::atomic<std::uint64_t> end_{0};
};

}  // namespace divvy::interposer
