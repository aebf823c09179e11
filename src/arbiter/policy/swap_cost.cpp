#include "policy/swap_cost.h"

#include <algorithm>
#include <cmath>

namespace divvy::arbiter {
namespace {

constexpr double kMax = 1e15;  // nanoseconds: eleven days

double timeOf(std::uint64_t bytes, double bps) {
  return static_cast<double>(bytes) / std::max(bps, 1.0) * static_cast<double>(kSecond);
}

}  // namespace

Nanos swapTime(const SwapCost& cost, std::uint64_t out, std::uint64_t in) {
  const std::uint64_t most = std::max(out, in);
  if (most == 0) return 0;
  const double copies = std::max(timeOf(out, cost.out_bps), timeOf(in, cost.in_bps));
  const std::uint64_t chunk = std::max<std::uint64_t>(cost.chunk, 1);
  const double chunks = static_cast<double>((most - 1) / chunk + 1);
  const double all = copies + chunks * static_cast<double>(cost.per_chunk);
  return static_cast<Nanos>(std::min(all, kMax)) + cost.drain;
}

double lossTarget(double ratio, bool latency) {
  if (latency) return 0.10;
  return std::clamp(0.03 + (ratio - 1.3) / 0.7 * 0.05, 0.03, 0.08);
}

Nanos turnFor(Nanos swap, double loss) {
  return static_cast<Nanos>(std::min(static_cast<double>(swap) * (1 / loss - 1), kMax));
}

Nanos quantumFor(const ResidencyConstants& constants, Nanos swap, double loss, double part) {
  const auto bounded = [&](double turn) {
    return std::clamp(turn, static_cast<double>(constants.quantum_min),
                      static_cast<double>(constants.quantum_max));
  };
  if (constants.quantum > 0) return constants.quantum;
  const double turn = bounded(static_cast<double>(turnFor(swap, loss)));
  return static_cast<Nanos>(bounded(turn * part));
}

}  // namespace divvy::arbiter
