// The published scores, straight from their definitions.
#include <algorithm>
#include <cmath>

#include "brute.h"

namespace divvy::engine::brute {
namespace {

struct Free {
  double cpu;
  std::string model;
  std::vector<double> gpus;
};

double fragmentOf(const Free& free, const Target& target) {
  double weights = 0;
  double result = 0;
  for (const TargetClass& one : target) {
    double idle = 0;
    double too_small = 0;
    unsigned enough = 0;
    for (const double gpu : free.gpus) {
      idle += gpu;
      if (gpu < one.compute.milli) {
        too_small += gpu;
      } else {
        ++enough;
      }
    }
    const bool model = one.models.empty() ||
                       std::count(one.models.begin(), one.models.end(), ModelName(free.model)) > 0;
    const bool usable = one.compute.milli > 0 && model &&
                        free.cpu >= static_cast<double>(one.cpu.milli) && enough >= one.count;
    weights += one.weight;
    result += one.weight * (usable ? too_small : idle);
  }
  return result / weights;
}

double scored(double before, double after) {
  return 100 / (1 + std::exp((after - before) / 1000));
}

Free freeOf(const Machine& machine) {
  Free free{static_cast<double>(machine.is.cpu.milli - machine.cpu), "", {}};
  for (const Card& card : machine.cards) {
    free.model = card.is.model.text;
    const bool open = card.is.health == Health::kHealthy && !card.is.cordoned &&
                      card.is.mode != Mode::kExternal && card.is.mode != Mode::kMig;
    free.gpus.push_back(open ? static_cast<double>(card.computeLeft()) : 0);
  }
  return free;
}

}  // namespace

double fgdScore(const Machine& machine, const Shape& shape, const Target& target) {
  const Container& one = shape.containers.front();
  const Free before = freeOf(machine);
  const double fragments = fragmentOf(before, target);
  const double milli = one.devices.compute.milli;
  double best = -1;
  for (std::size_t i = 0; i < before.gpus.size() && one.devices.count == 1; ++i) {
    if (!willDo(machine.cards[i], one.devices, shape.selector)) continue;
    Free after = before;
    after.cpu -= static_cast<double>(one.cpu.milli);
    after.gpus[i] -= milli;
    best = std::max(best, scored(fragments, fragmentOf(after, target)));
  }
  if (one.devices.count == 1) return best;
  Free after = before;
  after.cpu -= static_cast<double>(one.cpu.milli);
  std::uint32_t left = one.devices.count;
  for (std::size_t i = 0; i < after.gpus.size() && left > 0; ++i) {
    if (!willDo(machine.cards[i], one.devices, shape.selector)) continue;
    after.gpus[i] -= milli;
    --left;
  }
  return scored(fragments, fragmentOf(after, target));
}

double bestFitScore(const Machine& machine, const Shape& shape) {
  const Container& one = shape.containers.front();
  const Free free = freeOf(machine);
  double gpus = 0;
  for (const double gpu : free.gpus) gpus += gpu;
  gpus -= one.devices.count * one.devices.compute.milli;
  const double cpu = free.cpu - static_cast<double>(one.cpu.milli);
  return 100 * (1 - 0.5 * cpu / 128000 - 0.5 * gpus / 8000);
}

}  // namespace divvy::engine::brute
