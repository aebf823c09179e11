// Estimates the bandwidth between one device and the host from the swaps that processes report.
#pragma once

#include <algorithm>
#include <cstdint>

#include "arbiter/residency.h"

namespace divvy::arbiter {

// Growth of swap counters.
struct SwapWork {
  std::uint64_t out_bytes = 0;
  std::uint64_t out_ns = 0;
  std::uint64_t in_bytes = 0;
  std::uint64_t in_ns = 0;
  std::uint64_t drains = 0;
  std::uint64_t drain_ns = 0;

  void add(const SwapWork& more) {
    out_bytes += more.out_bytes;
    out_ns += more.out_ns;
    in_bytes += more.in_bytes;
    in_ns += more.in_ns;
    drains += more.drains;
    drain_ns += more.drain_ns;
  }
};

// Counters may be forged. So rates are clamped to 0.1 to 1000 GB/s, and a drain to 1 s.
class BandwidthEstimator {
 public:
  void note(const SwapWork& work) { pending_.add(work); }

  // Updates `cost` from the noted work. A rate changes only after kEnough bytes in its direction.
  void measure(SwapCost* cost) {
    if (pending_.out_bytes >= kEnough) {
      learn(rateOf(pending_.out_bytes, pending_.out_ns), &cost->out_bps, &out_known_);
      pending_.out_bytes = pending_.out_ns = 0;
    }
    if (pending_.in_bytes >= kEnough) {
      learn(rateOf(pending_.in_bytes, pending_.in_ns), &cost->in_bps, &in_known_);
      pending_.in_bytes = pending_.in_ns = 0;
    }
    if (pending_.drains == 0) return;
    const double each =
        static_cast<double>(pending_.drain_ns) / static_cast<double>(pending_.drains);
    double drain = static_cast<double>(cost->drain);
    learn(std::min(each, static_cast<double>(kSecond)), &drain, &drain_known_);
    cost->drain = static_cast<Nanos>(drain);
    pending_.drains = pending_.drain_ns = 0;
  }

 private:
  static constexpr std::uint64_t kEnough = std::uint64_t{64} << 20;

  static double rateOf(std::uint64_t bytes, std::uint64_t nanos) {
    const double time = static_cast<double>(std::max<std::uint64_t>(nanos, 1));
    return std::clamp(static_cast<double>(bytes) / time * 1e9, 0.1e9, 1000e9);
  }
  static void learn(double seen, double* value, bool* known) {
    *value += (*known ? 0.3 : 1.0) * (seen - *value);
    *known = true;
  }

  SwapWork pending_;
  bool out_known_ = false;
  bool in_known_ = false;
  bool drain_known_ = false;
};

}  // namespace divvy::arbiter
