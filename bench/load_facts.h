// What a load printed, read back.
#pragma once

#include <string>

#include "card_run.h"

namespace divvy::bench {

// Everything but the spans; `pid` as the load knows itself. Throws std::runtime_error.
TenantRecord readLoadFacts(const std::string& json, int* pid);

// Lines "START END" of CLOCK_MONOTONIC nanoseconds. Throws std::runtime_error.
Spans readSpans(const std::string& path);

}  // namespace divvy::bench
