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
  kDivvy,       // as kFgd; of equals the one with least left over
};

inline constexpr std::array<Policy, 7> kPolicies{
    Policy::kRandom,  Policy::kDotProduct, Policy::kClustering, Policy::kPacking,
    Policy::kBestFit, Policy::kFgd,        Policy::kDivvy};

std::string_view nameOf(Policy policy);
// kUsage lists the names.
Result<Policy> parsePolicy(std::string_view name);

}  // namespace divvy::engine
