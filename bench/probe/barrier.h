// A meeting point of several processes in shared memory.
#pragma once

#include <atomic>
#include <cstdint>

namespace divvy::bench {

// Lies in memory shared by all parties (fork of an anonymous mapping, or a memfd); all-zero bytes
// are a barrier before its first meeting. Reusable: each meeting is a new generation.
class Barrier {
 public:
  // Returns when `parties` processes have called it, false when 60 s were not enough. Sleeps in
  // the kernel, so that waiting costs no processor time.
  bool meet(std::uint32_t parties);

 private:
  std::atomic<std::uint32_t> arrived_{0};
  std::atomic<std::uint32_t> generation_{0};
};

}  // namespace divvy::bench
