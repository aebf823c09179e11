// Which of several nodes that fit. Published ones are as their authors' programs compute them.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "base/result.h"

namespace divvy::engine {

enum class Policy : std::uint8_t {
  kRandom,      // any that fits; drawn from the request's id, so that asking again says the same
  kDotProduct,  // least of what is left in the direction of what is asked (Tetris)
  kClustering,  // with requests of the same kind, then idle nodes
  kPacking,     // devices in use, then nodes in use
  kBestFit,     // least left over
  kFgd,         // grows fragmentation least (Weng et al. 2023)
  kDivvy,       // as kFgd; of equals one that is fuller, by eighths
  kBinpack,     // most used: processors, memory, and its devices' compute and memory
  kSpread,      // least used, by the same measure
  kWeighted,    // by Weights
};

inline constexpr std::array<Policy, 6> kPublished{Policy::kRandom,     Policy::kDotProduct,
                                                  Policy::kClustering, Policy::kPacking,
                                                  Policy::kBestFit,    Policy::kFgd};
inline constexpr std::array<Policy, 10> kPolicies{
    Policy::kRandom, Policy::kDotProduct, Policy::kClustering, Policy::kPacking, Policy::kBestFit,
    Policy::kFgd,    Policy::kDivvy,      Policy::kBinpack,    Policy::kSpread,  Policy::kWeighted};

// How much each counts for Policy::kWeighted; below 0: the less of it the better.
struct Weights {
  std::int32_t cpu = 0;            // used, the request included
  std::int32_t memory = 0;         // the same
  std::int32_t compute = 1;        // of all devices, the same
  std::int32_t device_memory = 1;  // the same
  std::int32_t fragment = 0;       // the score of Policy::kFgd
  std::int32_t links = 0;          // of the devices it gets, pairs that are linked directly
  friend auto operator<=>(const Weights&, const Weights&) = default;
};
inline constexpr std::int32_t kMaxWeight = 1000;  // to either side

std::string_view nameOf(Policy policy);
// kUsage lists the names.
Result<Policy> parsePolicy(std::string_view name);

}  // namespace divvy::engine
