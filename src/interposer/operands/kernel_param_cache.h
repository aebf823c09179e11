// The sizes of kernels' parameters, as the driver reported them.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace divvy::interposer {

// Sizes of one kernel's first parameters.
struct ParamSizes {
  static constexpr unsigned kMax = 22;

  std::uint8_t count = 0;
  bool more = false;              // it has more parameters
  std::uint16_t last_offset = 0;  // of the last counted parameter
  std::uint16_t of[kMax] = {};    // bytes

  bool operator==(const ParamSizes&) const = default;
};

// Fixed capacity and no lock: a writer that finds no free place overwrites a place. A handle may
// belong to another kernel by now. So the user of an entry asks the driver whether the last
// parameter is still the same. Any thread and signal handler.
class KernelParamCache {
 public:
  static constexpr std::size_t kRoom = std::size_t{1} << 11;

  // Returns false if there is no entry, or if another thread is writing it.
  bool find(std::uint64_t function, ParamSizes* out) const;
  // Keeps the sizes; no effect while another thread is writing the place.
  void keep(std::uint64_t function, const ParamSizes& sizes);

  void forgetAfterFork();

 private:
  static constexpr unsigned kProbes = 4;
  static constexpr unsigned kWords = sizeof(ParamSizes) / sizeof(std::uint64_t);
  static_assert(sizeof(ParamSizes) == 48);

  struct alignas(64) Entry {
    std::atomic<std::uint32_t> version;  // odd: being written
    std::atomic<std::uint64_t> function;
    std::atomic<std::uint64_t> words[kWords];
  };
  static std::size_t place(std::uint64_t function, unsigned probe);
  bool write(Entry& entry, std::uint64_t function, const ParamSizes& sizes);

  Entry entries_[kRoom] = {};
};

}  // namespace divvy::interposer
