#include "day/day_marks.h"

#include <algorithm>

namespace divvy::simulator {

double Marks::at(double part, double otherwise) const {
  if (marks_.empty()) return otherwise;
  std::sort(marks_.begin(), marks_.end());
  double all = 0;
  for (const auto& mark : marks_) all += mark.second;
  double sum = 0;
  for (const auto& mark : marks_) {
    sum += mark.second;
    if (sum >= part * all) return mark.first;
  }
  return marks_.back().first;
}

}  // namespace divvy::simulator
