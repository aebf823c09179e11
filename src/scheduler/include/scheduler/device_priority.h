// What a pod's PriorityClass says of its priority on devices. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "base/result.h"

namespace divvy::scheduler {

// Words as `divvy run --priority` takes them: high, normal, low.
struct PriorityRules {
  std::map<std::string, std::string> by_class;  // by the name of a PriorityClass
  // Of pods whose class is not among these: the word of the highest of these values that theirs is
  // not below.
  std::map<std::int64_t, std::string> by_value;
};

// "inference=high,batch=low" and "1000000=high,0=normal". kUsage: what is accepted.
Result<void> readPriorityClasses(std::string_view text, PriorityRules* rules);
Result<void> readPriorityValues(std::string_view text, PriorityRules* rules);

}  // namespace divvy::scheduler
