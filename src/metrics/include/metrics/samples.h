// Reads Prometheus' text format. Source: Prometheus' text-based exposition format 0.0.4.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace divvy::metrics {

struct Sample {
  std::string_view name;  // in the text
  std::vector<std::pair<std::string, std::string>> labels;
  double value = 0;

  // Returns the value of the label; empty: there is none.
  std::string_view label(std::string_view name_of_label) const;
};

// Calls `each` for each sample of `wanted` names, in the order of the text. Lines that are no
// samples are left out: comments, and lines with another grammar. Timestamps are ignored. Takes
// time in proportion to the text.
void readSamples(std::string_view text, const std::vector<std::string_view>& wanted,
                 const std::function<void(const Sample&)>& each);

}  // namespace divvy::metrics
