// How large the parameters of kernels are, as the driver said once.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace divvy::interposer {

// Of one kernel: of its first parameters.
struct ParamSizes {
  static constexpr unsigned kMax = 22;

  std::uint8_t count = 0;
  bool more = false;              // it has others too
  std::uint16_t last_offset = 0;  // of the last that is counted
  std::uint16_t of[kMax] = {};    // bytes

  bool operator==(const ParamSizes&) const = default;
};

// Fixed room, no lock: who finds a place taken overwrites it. A handle may be another kernel's by
// now: who uses what is kept asks the driver for the last parameter, whether it is that still. Any
// thread, any signal handler.
class KernelParamCache {
 public:
  static constexpr std::size_t kRoom = std::size_t{1} << 11;

  // False: nothing is kept of it, or somebody is writing there.
  bool find(std::uint64_t function, ParamSizes* out) const;
  // Nothing happens where somebody else is writing.
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
