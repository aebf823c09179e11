// The work that a call at the gate gives to a device, read from its arguments.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "abi/cuda_entries.h"
#include "abi/cuda_ids.h"
#include "abi/cuda_types.h"

namespace divvy::interposer {

enum class WorkKind : std::uint8_t {
  kKernel,
  kGraph,
  kCopy,
  kSet,
  kMemop,  // stream memory operations: writes and waits, nearly free
};

// Handles of default streams, beside null: CU_STREAM_LEGACY and CU_STREAM_PER_THREAD.
inline constexpr std::uintptr_t kLegacyStream = 1;
inline constexpr std::uintptr_t kPerThreadStream = 2;

// The work of one call. Handles serve as names only and are never followed.
struct CallWork {
  WorkKind kind = WorkKind::kKernel;
  bool per_thread = false;    // the calling thread's own default stream
  bool synchronous = false;   // a copy or fill that may return only when it is done
  CUstream stream = nullptr;  // null: a default stream, the legacy stream unless per_thread
  std::uint64_t key = 0;      // equal for work that is likely to take equally long; never 0
  std::uint64_t bytes = 0;    // moved, if that is cheap to compute; else 0

  bool legacy() const { return stream == nullptr && !per_thread; }
};

// Inlined by attribute: the compiler does not inline these in a file with over a hundred hooks.
namespace work_detail {

// Fibonacci hashing: the high bits depend on all bits, and different values stay different.
__attribute__((always_inline)) constexpr std::uint64_t mix(std::uint64_t value) {
  return value * 0x9E3779B97F4A7C15u;
}

__attribute__((always_inline)) constexpr std::uint64_t logarithm(std::uint64_t value) {
  return value == 0 ? 0 : 64 - static_cast<std::uint64_t>(__builtin_clzll(value));
}

// Quarters of octaves: sizes with the same step differ by less than a fifth.
__attribute__((always_inline)) constexpr std::uint64_t sizeStep(std::uint64_t bytes) {
  const std::uint64_t octave = logarithm(bytes);
  return octave < 3 ? bytes : octave << 2 | (bytes >> (octave - 3) & 3);
}

__attribute__((always_inline)) constexpr std::uint64_t keyOf(std::uint64_t handle,
                                                             std::uint64_t step) {
  const std::uint64_t key = mix(handle ^ step << 56);
  return key == 0 ? 1 : key;
}

__attribute__((always_inline)) inline std::uint64_t keyOf(const void* handle, std::uint64_t step) {
  return keyOf(reinterpret_cast<std::uint64_t>(handle), step);
}

template <abi::Cu kId>
constexpr const abi::Entry& entryOf() {
  return abi::kCuEntries[static_cast<unsigned>(kId)];
}

// Collects the arguments, one at a time, by their types.
struct Reader {
  CUstream stream = nullptr;
  bool has_stream = false;
  const void* handle = nullptr;     // of the launched function or graph
  std::uint64_t blocks = 1;         // of a grid
  unsigned sides = 0;               // of the grid that were read
  std::uint64_t sizes[2] = {1, 1};  // the last two sizes
  std::uint64_t box = 0;            // bytes of a two- or three-dimensional copy
  std::uint64_t element = 1;        // bytes of a fill's value

  __attribute__((always_inline)) void read(CUstream value) {
    stream = value;
    has_stream = true;
  }
  __attribute__((always_inline)) void read(CUfunction value) { handle = value; }
  __attribute__((always_inline)) void read(CUgraphExec value) { handle = value; }
  __attribute__((always_inline)) void read(const CUlaunchConfig* config) {
    if (config == nullptr) return;
    stream = config->hStream;
    has_stream = true;
    blocks = std::uint64_t{config->gridDimX} * config->gridDimY * config->gridDimZ;
    sides = 3;
  }
  __attribute__((always_inline)) void read(CUDA_LAUNCH_PARAMS* list) {
    if (list == nullptr) return;
    stream = list->hStream;
    has_stream = true;
    handle = list->function;
    blocks = std::uint64_t{list->gridDimX} * list->gridDimY * list->gridDimZ;
    sides = 3;
  }
  __attribute__((always_inline)) void read(unsigned value) {
    size(value);
    if (handle != nullptr && sides++ < 3) blocks *= value;
  }
  __attribute__((always_inline)) void read(int value) {  // cuLaunchGrid
    if (handle != nullptr && sides++ < 3) blocks *= static_cast<unsigned>(value);
  }
  __attribute__((always_inline)) void read(std::size_t value) { size(value); }
  __attribute__((always_inline)) void read(unsigned char) { element = 1; }
  __attribute__((always_inline)) void read(unsigned short) { element = 2; }
  template <typename Box>
  requires requires(const Box& b) { b.WidthInBytes* b.Height; }
  __attribute__((always_inline)) void read(const Box* value) {
    if (value == nullptr) return;
    box = value->WidthInBytes * value->Height;
    if constexpr (requires { value->Depth; }) box *= value->Depth;
  }
  template <typename Other>
  __attribute__((always_inline)) void read(const Other&) {}

  __attribute__((always_inline)) void size(std::uint64_t value) {
    sizes[0] = sizes[1];
    sizes[1] = value;
  }
};

constexpr bool startsWith(const char* text, const char* prefix) {
  while (*prefix != '\0' && *text == *prefix) {
    ++text;
    ++prefix;
  }
  return *prefix == '\0';
}

constexpr bool contains(const char* text, const char* part) {
  for (; *text != '\0'; ++text) {
    if (startsWith(text, part)) return true;
  }
  return false;
}

template <abi::Cu kId>
constexpr WorkKind kindOf() {
  constexpr const abi::Entry& kEntry = entryOf<kId>();
  switch (kEntry.cls) {
    case abi::Class::kGraph:
      return WorkKind::kGraph;
    case abi::Class::kSet:
      return WorkKind::kSet;
    case abi::Class::kLaunch:
      return startsWith(kEntry.symbol, "cuStream") ? WorkKind::kMemop : WorkKind::kKernel;
    default:
      return WorkKind::kCopy;
  }
}

// Returns the bytes that a copy or a fill moves; 0 if that is not cheap to compute. Decides by
// name, because the parameter lists of such calls differ only in their last numbers.
template <abi::Cu kId>
__attribute__((always_inline)) constexpr std::uint64_t bytesOf(const Reader& reader) {
  constexpr const char* kName = entryOf<kId>().symbol;
  if (contains(kName, "Batch")) return 0;
  if (contains(kName, "cpy2D") || contains(kName, "cpy3D")) return reader.box;
  if (contains(kName, "Prefetch")) return reader.sizes[0] == 1 ? reader.sizes[1] : reader.sizes[0];
  if constexpr (kindOf<kId>() == WorkKind::kSet) {
    constexpr bool kFlat = !contains(kName, "MemsetD2D");
    const std::uint64_t element = contains(kName, "D32") ? 4 : reader.element;
    return element * reader.sizes[1] * (kFlat ? 1 : reader.sizes[0]);
  }
  return reader.sizes[1];
}

// Returns whether the call is a copy or fill without a stream argument.
template <abi::Cu kId, typename... Arguments>
constexpr bool isSynchronous() {
  constexpr WorkKind kKind = kindOf<kId>();
  return (kKind == WorkKind::kCopy || kKind == WorkKind::kSet) &&
         !(std::is_same_v<Arguments, CUstream> || ...);
}

}  // namespace work_detail

// Returns the work that the call kId with these arguments starts. Does not call the driver. Follows
// pointers to structures of the call that are not null.
template <abi::Cu kId, typename... Arguments>
__attribute__((always_inline)) inline CallWork workOf(Arguments... arguments) {
  using namespace work_detail;
  constexpr WorkKind kKind = kindOf<kId>();
  constexpr abi::StreamMode kMode = entryOf<kId>().mode;
  Reader reader;
  (reader.read(arguments), ...);
  CallWork work;
  work.kind = kKind;
  const auto handle = reinterpret_cast<std::uintptr_t>(reader.stream);
  work.per_thread = handle == kPerThreadStream || (handle == 0 && kMode != abi::StreamMode::kPlain);
  if (handle > kPerThreadStream) work.stream = reader.stream;
  if constexpr (kKind == WorkKind::kKernel) {
    work.key = keyOf(reader.handle, logarithm(reader.blocks));
  } else if constexpr (kKind == WorkKind::kGraph) {
    work.key = keyOf(reader.handle, 0);
  } else {
    constexpr std::uint64_t kFamily = std::uint64_t{entryOf<kId>().family} << 32;
    if constexpr (kKind != WorkKind::kMemop) work.bytes = bytesOf<kId>(reader);
    work.synchronous = isSynchronous<kId, Arguments...>();
    work.key = keyOf(kFamily, sizeStep(work.bytes));
  }
  return work;
}

}  // namespace divvy::interposer
