// How far long work is.
#pragma once

#include <cstddef>
#include <functional>

namespace divvy::simulator {

// Called now and then from the caller's thread with how many runs are done.
using Progress = std::function<void(std::size_t done, std::size_t all)>;

}  // namespace divvy::simulator
