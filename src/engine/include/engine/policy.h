// Which of the nodes that fit is taken. Published policies are as their authors' programs compute
// them.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "base/result.h"

namespace divvy::engine {

enum class Policy : std::uint8_t {
  // Any that fits; drawn from the request's ID, so that the same query gives the same answer.
  kRandom,
  kDotProduct,  // least left in the direction of the request (Tetris)
  kClustering,  // with requests of the same kind, then idle nodes
  kPacking,     // devices in use first, then nodes in use
  kBestFit,     // least left over
  kFgd,         // grows fragmentation least (Weng et al. 2023)
  kDivvy,       // like kFgd; among equals the fuller node, by eighths
  kBinpack,     // most used: processors, memory, and the devices' compute and memory
  kSpread,      // least used, by the same measure
  kWeighted,    // by Weights
};

inline constexpr std::array<Policy, 6> kPublished{Policy::kRandom,     Policy::kDotProduct,
                                                  Policy::kClustering, Policy::kPacking,
                                                  Policy::kBestFit,    Policy::kFgd};
inline constexpr std::array<Policy, 10> kPolicies{
    Policy::kRandom, Policy::kDotProduct, Policy::kClustering, Policy::kPacking, Policy::kBestFit,
    Policy::kFgd,    Policy::kDivvy,      Policy::kBinpack,    Policy::kSpread,  Policy::kWeighted};

// Weights of Policy::kWeighted; negative: less is better.
struct Weights {
  std::int32_t cpu = 0;            // used, including the request
  std::int32_t memory = 0;         // used, including the request
  std::int32_t compute = 1;        // used, of all devices, including the request
  std::int32_t device_memory = 1;  // used, of all devices, including the request
  std::int32_t fragment = 0;       // the score of Policy::kFgd
  // The directly linked part of all pairs of the devices that it gets.
  std::int32_t links = 0;
  friend auto operator<=>(const Weights&, const Weights&) = default;
};
inline constexpr std::int32_t kMaxWeight = 1000;  // in either direction

std::string_view nameOf(Policy policy);
// kUsage: the message lists the names.
Result<Policy> parsePolicy(std::string_view name);

}  // namespace divvy::engine
