// What a day leaves behind: samples, weighted, and what they come to. Private.
#pragma once

#include <utility>
#include <vector>

namespace divvy::simulator {

// Values with weights.
class WeightedSamples {
 public:
  void add(double value, double weight = 1) { samples_.emplace_back(value, weight); }
  bool empty() const { return samples_.empty(); }
  // The least value such that `part` of all weight has it or less; `otherwise` where there is none.
  double at(double part, double otherwise) const;

 private:
  mutable std::vector<std::pair<double, double>> samples_;
};

}  // namespace divvy::simulator
