// The agent's and its helper's names for the common log. One thread.
#pragma once

#include <string>

#include "log/log.h"

namespace divvy::agent {

using log::info;
using log::warn;

// As log::open.
inline void openLog(const std::string& path) {
  log::open(path);
}

}  // namespace divvy::agent
