// Priority on devices, by a pod's PriorityClass. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "base/result.h"

namespace divvy::scheduler {

// Priorities are words of `divvy run --priority`: high, normal, low.
struct PriorityRules {
  std::map<std::string, std::string> by_class;  // by name of the PriorityClass
  // By lowest value, for pods without a class in `by_class`: the entry with the highest value that
  // is at most the pod's priority applies.
  std::map<std::int64_t, std::string> by_value;
};

// Parse "inference=high,batch=low" or "1000000=high,0=normal" and add it to `rules`. kUsage: an
// item is malformed or repeated; the message names the accepted form.
Result<void> readPriorityClasses(std::string_view text, PriorityRules* rules);
Result<void> readPriorityValues(std::string_view text, PriorityRules* rules);

}  // namespace divvy::scheduler
