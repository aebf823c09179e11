#include "day/day_marks.h"

#include <algorithm>

namespace divvy::simulator {

double WeightedSamples::at(double part, double otherwise) const {
  if (samples_.empty()) return otherwise;
  std::sort(samples_.begin(), samples_.end());
  double all = 0;
  for (const auto& mark : samples_) all += mark.second;
  double sum = 0;
  for (const auto& mark : samples_) {
    sum += mark.second;
    if (sum >= part * all) return mark.first;
  }
  return samples_.back().first;
}

}  // namespace divvy::simulator
