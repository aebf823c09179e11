// Progress of long work.
#pragma once

#include <cstddef>
#include <functional>

namespace divvy::simulator {

// Called repeatedly, in the thread that started the work, with the number of completed runs and of
// all runs.
using Progress = std::function<void(std::size_t done, std::size_t all)>;

}  // namespace divvy::simulator
