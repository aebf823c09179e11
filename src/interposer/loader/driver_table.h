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
  // Opens the library on first use. False: there is none. Takes no lock of ours, because the loader
  // has its own: threads that come at the same time do the same work and agree on the result.
  bool open() { return handle_.load(std::memory_order_acquire) != nullptr || openLibrary(); }

  // The driver's own address of an entry point, or nullptr where it has none.
  void* symbol(abi::Cu id);

  bool has(abi::Cu id) { return symbol(id) != nullptr; }
  // It tells how large a kernel's parameters are (12.4).
  bool saysParams() {
    const Answer known = says_params_.load(std::memory_order_relaxed);
    return known == Answer::kUnknown ? askForParams() : known == Answer::kYes;
  }

  // Whether code lies in the driver's library: a hook that returns there was called by the driver,
  // which was not linked symbolically. False where that cannot be told.
  bool holds(const void* code);

  // Entry points that were called although the driver lacks them.
  std::uint64_t missingCalls() const { return missing_calls_.load(std::memory_order_relaxed); }
  void countMissing() { missing_calls_.fetch_add(1, std::memory_order_relaxed); }

  // Where the driver was found; empty before.
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
  // Of the library in memory, as one knows it who sees `measured_`.
  std::atomic<bool> measured_{false};
  std::atomic<std::uint64_t> begin_{0};
  std::atomic<std::uint64_t> end_{0};
};

}  // namespace divvy::interposer
