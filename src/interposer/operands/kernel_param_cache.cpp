#include "operands/kernel_param_cache.h"

namespace divvy::interposer {

// Fibonacci hashing: handles are addresses.
std::size_t KernelParamCache::place(std::uint64_t function, unsigned probe) {
  return ((function * 0x9E3779B97F4A7C15u >> 32) + probe) % kRoom;
}

bool KernelParamCache::find(std::uint64_t function, ParamSizes* out) const {
  for (unsigned probe = 0; probe < kProbes; ++probe) {
    const Entry& entry = entries_[place(function, probe)];
    if (entry.function.load(std::memory_order_relaxed) != function) continue;
    const std::uint32_t version = entry.version.load(std::memory_order_acquire);
    std::uint64_t words[kWords];
    for (unsigned i = 0; i < kWords; ++i) {
      words[i] = entry.words[i].load(std::memory_order_relaxed);
    }
    const bool same = entry.function.load(std::memory_order_relaxed) == function;
    std::atomic_thread_fence(std::memory_order_acquire);
    if (!same || version % 2 != 0 || entry.version.load(std::memory_order_relaxed) != version) {
      return false;
    }
    __builtin_memcpy(out, words, sizeof *out);
    return true;
  }
  return false;
}

bool KernelParamCache::write(Entry& entry, std::uint64_t function, const ParamSizes& sizes) {
  std::uint32_t version = entry.version.load(std::memory_order_relaxed);
  if (version % 2 != 0 ||
      !entry.version.compare_exchange_strong(version, version + 1, std::memory_order_acquire)) {
    return false;
  }
  std::uint64_t words[kWords];
  __builtin_memcpy(words, &sizes, sizeof words);
  std::atomic_thread_fence(std::memory_order_release);
  entry.function.store(function, std::memory_order_relaxed);
  for (unsigned i = 0; i < kWords; ++i) entry.words[i].store(words[i], std::memory_order_relaxed);
  entry.version.store(version + 2, std::memory_order_release);
  return true;
}

void KernelParamCache::keep(std::uint64_t function, const ParamSizes& sizes) {
  Entry* into = nullptr;
  for (unsigned probe = 0; probe < kProbes; ++probe) {
    Entry& entry = entries_[place(function, probe)];
    const std::uint64_t there = entry.function.load(std::memory_order_relaxed);
    if (there == function) {
      into = &entry;
      break;
    }
    if (there == 0 && into == nullptr) into = &entry;
  }
  write(into != nullptr ? *into : entries_[place(function, 0)], function, sizes);
}

// A thread of the parent may have been writing.
void KernelParamCache::forgetAfterFork() {
  for (Entry& entry : entries_) {
    if (entry.version.load(std::memory_order_relaxed) == 0) continue;
    entry.function.store(0, std::memory_order_relaxed);
    entry.version.store(0, std::memory_order_relaxed);
  }
}

}  // namespace divvy::interposer
