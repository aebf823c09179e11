// How many different shares a pod asks for: placing many of them together is what a search costs.
// Pure. Private.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "engine/request.h"

namespace divvy::scheduler {

inline constexpr std::size_t kMostDifferentShares = 8;

// Of containers that run at the same time (init containers that end are not among them). `most` 0:
// no bound. None: no more than that; else the refusal.
std::optional<std::string> tooManyDifferentShares(const engine::Shape& shape, std::size_t most);

}  // namespace divvy::scheduler
