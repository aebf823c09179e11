// Possible addresses among the arguments of a launch: values of 8 bytes, examined one by one. Which
// of them are pointers is unknown, and so are the targets of pointers in memory.
#pragma once

#include <cstddef>
#include <cstdint>

#include "operands/kernel_param_cache.h"

namespace divvy::interposer {

// Limit for one launch; bytes beyond are not examined.
inline constexpr std::size_t kMaxArgumentBytes = 4096;

// Calls visit(value) for the value at every multiple of 4 bytes; packed structures have pointers
// there too. `at` need not be aligned. Returns the number of bytes examined.
template <typename Visit>
std::size_t scanValues(const void* at, std::size_t bytes, std::size_t most, Visit visit) {
  const std::size_t end = bytes < most ? bytes : most;
  const char* const from = static_cast<const char*>(at);
  for (std::size_t offset = 0; offset + sizeof(std::uint64_t) <= end; offset += 4) {
    std::uint64_t value;
    __builtin_memcpy(&value, from + offset, sizeof value);
    visit(value);
  }
  return end;
}

// Scans the arguments of cuLaunchKernel's `kernelParams`: one address for each parameter. Returns
// false if not all were examined.
template <typename Visit>
bool scanParams(const ParamSizes& sizes, void* const* params, Visit visit) {
  std::size_t left = kMaxArgumentBytes;
  for (unsigned i = 0; i < sizes.count; ++i) {
    if (sizes.of[i] < sizeof(std::uint64_t) || params[i] == nullptr) continue;
    left -= scanValues(params[i], sizes.of[i], left, visit);
  }
  return !sizes.more && left != 0;
}

// Scans the buffer that `extra` names. The driver takes the number of bytes in `extra`, whatever
// the kernel's parameters. Returns false if there is no buffer, or if it exceeds the limit.
template <typename Visit>
bool scanExtra(void* const* extra, Visit visit) {
  constexpr int kMaxPairs = 8;
  constexpr std::uintptr_t kEnd = 0, kPointer = 1, kSize = 2;  // CU_LAUNCH_PARAM_*
  const void* buffer = nullptr;
  const std::size_t* bytes = nullptr;
  for (int i = 0; i < kMaxPairs; ++i) {
    const auto what = reinterpret_cast<std::uintptr_t>(extra[2 * i]);
    if (what == kEnd) break;
    if (what == kPointer) buffer = extra[2 * i + 1];
    if (what == kSize) bytes = static_cast<const std::size_t*>(extra[2 * i + 1]);
  }
  if (buffer == nullptr || bytes == nullptr) return false;
  return scanValues(buffer, *bytes, kMaxArgumentBytes, visit) == *bytes;
}

}  // namespace divvy::interposer
