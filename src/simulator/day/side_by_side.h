// Independent jobs on several processors.
#pragma once

#include <cstddef>
#include <functional>

#include "base/result.h"
#include "simulator/progress.h"

namespace divvy::simulator {

// job(i) for each i below `count`, on `threads` threads (at least one, at most a job each), with
// news to `progress` in between. The first error ends it: jobs that have not begun never do.
Result<void> sideBySide(std::size_t count, unsigned threads,
                        const std::function<Result<void>(std::size_t)>& job,
                        const Progress& progress);

}  // namespace divvy::simulator
