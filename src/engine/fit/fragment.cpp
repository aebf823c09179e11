#include "fit/fragment.h"

#include <algorithm>
#include <cmath>

namespace divvy::engine {
bool FragmentTable::allows(const TargetClass& target, const ModelName& model) const {
  return target.models.empty() ||
         std::find(target.models.begin(), target.models.end(), model) != target.models.end();
}

void FragmentTable::setTarget(const Target& target) {
  target_ = target;
  weight_ = 0;
  names_models_ = false;
  for (const TargetClass& one : target_) {
    weight_ += one.weight;
    names_models_ = names_models_ || !one.models.empty();
  }
  weight_ = std::max<std::int64_t>(weight_, 1);
  allowed_.assign(target_.size(), {});
  compiled_.clear();
  std::vector<ModelName> models;
  models.swap(models_);
  for (const ModelName& model : models) addModel(model);
  // 100 * sigmoid(x) >= k where x >= ln(k / (100 - k)); never 100.
  for (int k = 1; k < 100; ++k) {
    const double from = 1000 * std::log(k / (100.0 - k)) * static_cast<double>(weight_);
    steps_[static_cast<std::size_t>(k - 1)] = static_cast<std::int64_t>(std::ceil(from));
  }
  steps_[49] = 0;  // exact for no change
  steps_[99] = INT64_MAX;
}

// For requests for one device: sums of weights up to each level, for each amount of processors that
// makes a difference.
void FragmentTable::addPrefixes(const std::vector<ExpectedRequest>& single, ModelLevels& compiled) {
  for (const ExpectedRequest& one : single) compiled.cpus.push_back(one.cpu);
  std::sort(compiled.cpus.begin(), compiled.cpus.end());
  compiled.cpus.erase(std::unique(compiled.cpus.begin(), compiled.cpus.end()), compiled.cpus.end());
  compiled.prefix.assign((compiled.cpus.size() + 1) * compiled.levels, 0);
  for (std::size_t bucket = 1; bucket <= compiled.cpus.size(); ++bucket) {
    std::int64_t* row = compiled.prefix.data() + bucket * compiled.levels;
    for (const ExpectedRequest& one : single) {
      if (one.cpu <= compiled.cpus[bucket - 1]) row[one.level] += one.weight;
    }
    for (std::size_t level = 1; level < compiled.levels; ++level) row[level] += row[level - 1];
  }
}

void FragmentTable::addModel(const ModelName& model) {
  models_.push_back(model);
  ModelLevels& compiled = compiled_.emplace_back();
  std::vector<std::int32_t> thresholds;
  for (std::size_t i = 0; i < target_.size(); ++i) {
    const TargetClass& one = target_[i];
    const bool allowed = one.count > 0 && one.compute.milli > 0 && allows(one, model);
    allowed_[i].push_back(allowed ? 1 : 0);
    if (allowed) thresholds.push_back(one.compute.milli);
  }
  std::sort(thresholds.begin(), thresholds.end());
  thresholds.erase(std::unique(thresholds.begin(), thresholds.end()), thresholds.end());
  compiled.levels = thresholds.size() + 1;
  for (std::int32_t milli = 0; milli <= kWholeDevice.milli; ++milli) {
    compiled.level[static_cast<std::size_t>(milli)] = static_cast<std::uint16_t>(
        std::upper_bound(thresholds.begin(), thresholds.end(), milli) - thresholds.begin());
  }
  std::vector<ExpectedRequest> single;
  for (std::size_t i = 0; i < target_.size(); ++i) {
    if (allowed_[i].back() == 0) continue;
    const TargetClass& one = target_[i];
    const auto level = compiled.level[static_cast<std::size_t>(one.compute.milli)];
    (one.count == 1 ? single : compiled.several)
        .push_back({one.cpu.milli, one.weight, one.compute.milli, one.count, level});
  }
  addPrefixes(single, compiled);
  std::stable_sort(
      compiled.several.begin(), compiled.several.end(),
      [](const ExpectedRequest& a, const ExpectedRequest& b) { return a.compute < b.compute; });
}

// Requests for one device can use every device with enough compute. So each device counts for the
// weight of all requests that it has enough for.
std::int64_t FragmentTable::usable(const FreeView& view, const ModelLevels& compiled) const {
  const auto bucket = static_cast<std::size_t>(
      std::upper_bound(compiled.cpus.begin(), compiled.cpus.end(), view.cpu) -
      compiled.cpus.begin());
  const std::int64_t* row = compiled.prefix.data() + bucket * compiled.levels;
  std::int64_t result = 0;
  std::int32_t largest = 0;
  for (std::size_t i = 0; i < view.devices; ++i) {
    const std::int32_t free = view.compute[i];
    result += free * row[compiled.level[static_cast<std::size_t>(free)]];
    largest = std::max(largest, free);
  }
  for (const ExpectedRequest& one : compiled.several) {
    if (one.compute > largest) break;  // later ones find no device either
    if (view.cpu < one.cpu) continue;
    std::int64_t sum = 0;
    std::uint32_t count = 0;
    for (std::size_t i = 0; i < view.devices; ++i) {
      if (view.compute[i] < one.compute) continue;
      sum += view.compute[i];
      ++count;
    }
    if (count >= one.count) result += one.weight * sum;
  }
  return result;
}

std::int64_t FragmentTable::usableMixed(const FreeView& view, const ModelId* models) const {
  std::int64_t result = 0;
  for (std::size_t c = 0; c < target_.size(); ++c) {
    const TargetClass& one = target_[c];
    if (view.cpu < one.cpu.milli) continue;
    std::int64_t sum = 0;
    std::uint32_t count = 0;
    for (std::size_t i = 0; i < view.devices; ++i) {
      if (allowed_[c][models[i]] == 0 || view.compute[i] < one.compute.milli) continue;
      sum += view.compute[i];
      ++count;
    }
    if (one.count > 0 && count >= one.count) result += one.weight * sum;
  }
  return result;
}

std::int64_t FragmentTable::weighted(const FreeView& view, ModelId model,
                                     const ModelId* models) const {
  std::int64_t idle = 0;
  for (std::size_t i = 0; i < view.devices; ++i) idle += view.compute[i];
  if (idle == 0) return 0;
  return idle * weight_ -
         (model == kMixed ? usableMixed(view, models) : usable(view, compiled_[model]));
}

std::uint32_t FragmentTable::score(std::int64_t before, std::int64_t after) const {
  const std::int64_t difference = before - after;
  const auto at = std::upper_bound(steps_.begin(), steps_.end(), difference);
  return static_cast<std::uint32_t>(at - steps_.begin());
}

}  // namespace divvy::engine
