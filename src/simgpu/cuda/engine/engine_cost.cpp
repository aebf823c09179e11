#include "cuda/engine/engine_cost.h"

#include <algorithm>

namespace divvy::simgpu {
namespace {

// Fixed costs as usually measured on data-centre cards.
constexpr Nanos kCopyLatency = 1'500;
constexpr Nanos kKernelFloor = 2'000;
constexpr double kNanosPerSecond = 1e9;

Nanos transfer(double bytes, std::uint64_t per_second) {
  if (per_second == 0) return 0;
  return static_cast<Nanos>(bytes * kNanosPerSecond / static_cast<double>(per_second));
}

}  // namespace

// A switch costs 50 to 200 us on real cards.
EngineConfig engineConfig(const Profile& profile) {
  EngineConfig config;
  config.duplex_permille = profile.duplex_permille;
  if (profile.answers_at_once) config.switch_cost = 0;
  return config;
}

Nanos CostModel::hostCopy(std::uint64_t bytes) const {
  return kCopyLatency + transfer(static_cast<double>(bytes), profile_.host_link);
}

Nanos CostModel::hostAccess(std::uint64_t bytes) const {
  return transfer(static_cast<double>(bytes), profile_.host_link);
}

Nanos CostModel::deviceCopy(std::uint64_t bytes) const {
  return kCopyLatency + transfer(2.0 * static_cast<double>(bytes), profile_.memory_link);
}

Nanos CostModel::peerCopy(std::uint64_t bytes) const {
  return kCopyLatency + transfer(static_cast<double>(bytes), profile_.peer_link);
}

Nanos CostModel::memset(std::uint64_t bytes) const {
  return kKernelFloor + transfer(static_cast<double>(bytes), profile_.memory_link);
}

Nanos CostModel::kernel(double flops, std::uint64_t bytes) const {
  const double peak = profile_.peakFlops();
  const Nanos compute = peak > 0 ? static_cast<Nanos>(flops * kNanosPerSecond / peak) : 0;
  return std::max(
      {kKernelFloor, compute, transfer(static_cast<double>(bytes), profile_.memory_link)});
}

}  // namespace divvy::simgpu
