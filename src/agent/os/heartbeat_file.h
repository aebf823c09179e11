// When an agent last watched a node's tenants, for the next one: what they did meanwhile nobody
// saw. Private.
#pragma once

#include <string>

namespace divvy::agent {

// Longer than an agent takes to begin anew.
inline constexpr int kWatchGapSeconds = 30;

// It watches now. What cannot be written is as if it did not.
void markWatch(const std::string& file);
// One did within kWatchGapSeconds.
bool watchedLately(const std::string& file);

}  // namespace divvy::agent
