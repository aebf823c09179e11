// How many different shares a pod asks for: placing many of them together is what a search costs.
// Pure. Private.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "base/result.h"
#include "engine/request.h"

namespace divvy::scheduler {

inline constexpr std::size_t kMaxDifferentShares = 8;

// Of containers that run at the same time (init containers that end are not among them). `most` 0:
// no bound. None: no more than that; else the refusal.
std::optional<std::string> tooManyDifferentShares(const engine::Shape& shape, std::size_t most);

// Of what a pod was read to ask for; what cannot be read, or is nothing, is refused elsewhere.
inline std::optional<std::string> tooManyDifferentShares(
    const Result<std::optional<engine::Request>>& request, std::size_t most) {
  if (!request || !*request) return std::nullopt;
  return tooManyDifferentShares((*request)->shape, most);
}

}  // namespace divvy::scheduler
