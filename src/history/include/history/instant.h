// The time of history.
#pragma once

#include <chrono>
#include <functional>

namespace divvy::history {

// An instant in milliseconds since 1970, UTC.
using Instant = std::chrono::sys_time<std::chrono::milliseconds>;
// A length of time in milliseconds.
using Span = std::chrono::milliseconds;

// Returns the present. A caller that replays time passes its own.
using Clock = std::function<Instant()>;

}  // namespace divvy::history
