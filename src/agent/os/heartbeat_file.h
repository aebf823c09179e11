// When an agent last watched a node's tenants: the next agent cannot know their activity after
// that. Private.
#pragma once

#include <string>

namespace divvy::agent {

// Longer than an agent takes to restart.
inline constexpr int kWatchGapSeconds = 30;

// Records that the agent watches now. A failed write counts as no record.
void markWatch(const std::string& file);
// Whether an agent watched within kWatchGapSeconds.
bool watchedLately(const std::string& file);

}  // namespace divvy::agent
