// Sums of amounts.
#pragma once

#include "engine/quota.h"

namespace divvy::engine {

inline std::int64_t of(const Amounts& amounts, const ResourceName& resource) {
  const auto found = amounts.find(resource);
  return found == amounts.end() ? 0 : found->second;
}

// Adds `sign` * `more`. Amounts that become zero are removed.
inline void addTo(Amounts* to, const Amounts& more, int sign) {
  for (const auto& [resource, amount] : more) {
    const auto at = to->emplace(resource, 0).first;
    at->second += sign * amount;
    if (at->second == 0) to->erase(at);
  }
}

}  // namespace divvy::engine
