// The number of different shares that a pod requests. Many different shares make the search for a
// placement slow. Pure. Private.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "base/result.h"
#include "engine/request.h"

namespace divvy::scheduler {

inline constexpr std::size_t kMaxDifferentShares = 8;

// Returns a refusal if containers that run at the same time request more than `most` different
// shares; none: they do not. Init containers that end do not count. `most`: 0: no limit.
std::optional<std::string> tooManyDifferentShares(const engine::Shape& shape, std::size_t most);

// The same for a request. None also if it is unreadable or empty, which is handled elsewhere.
inline std::optional<std::string> tooManyDifferentShares(
    const Result<std::optional<engine::Request>>& request, std::size_t most) {
  if (!request || !*request) return std::nullopt;
  return tooManyDifferentShares((*request)->shape, most);
}

}  // namespace divvy::scheduler
