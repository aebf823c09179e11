#include "fragment.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace divvy::engine {
namespace {

constexpr std::size_t kMostLevels = 256;

}  // namespace

bool FragmentTable::allows(const TargetClass& target, const ModelName& model) const {
  return target.models.empty() ||
         std::find(target.models.begin(), target.models.end(), model) != target.models.end();
}

void FragmentTable::setTarget(const Target& target) {
  target_ = target;
  weight_ = 0;
  for (const TargetClass& one : target_) weight_ += one.weight;
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
  steps_[49] = 0;  // exactly: what changes nothing
  steps_[99] = INT64_MAX;
}

void FragmentTable::addModel(const ModelName& model) {
  models_.push_back(model);
  Compiled& compiled = compiled_.emplace_back();
  std::vector<std::int32_t> thresholds;
  for (std::size_t i = 0; i < target_.size(); ++i) {
    const TargetClass& one = target_[i];
    const bool allowed = one.count > 0 && one.compute.milli > 0 && allows(one, model);
    allowed_[i].push_back(allowed ? 1 : 0);
    if (allowed) thresholds.push_back(one.compute.milli);
  }
  std::sort(thresholds.begin(), thresholds.end());
  thresholds.erase(std::unique(thresholds.begin(), thresholds.end()), thresholds.end());
  // Of more than that many, neighbours at the top are counted as one: they need the larger of them.
  if (thresholds.size() >= kMostLevels) {
    const std::int32_t last = thresholds.back();
    thresholds.resize(kMostLevels - 1);
    thresholds.back() = last;
  }
  compiled.levels = static_cast<std::uint32_t>(thresholds.size()) + 1;
  for (std::int32_t milli = 0; milli <= kWholeDevice.milli; ++milli) {
    compiled.level[static_cast<std::size_t>(milli)] = static_cast<std::uint8_t>(
        std::upper_bound(thresholds.begin(), thresholds.end(), milli) - thresholds.begin());
  }
  for (std::size_t i = 0; i < target_.size(); ++i) {
    if (allowed_[i].back() == 0) continue;
    const TargetClass& one = target_[i];
    const auto at = std::lower_bound(thresholds.begin(), thresholds.end(), one.compute.milli);
    compiled.expected.push_back({one.cpu.milli, one.weight, one.count,
                                 static_cast<std::uint8_t>(at - thresholds.begin() + 1)});
  }
}

std::int64_t FragmentTable::usable(const FreeView& view, const Compiled& compiled) const {
  std::array<std::int32_t, kMostLevels + 1> sum;
  std::array<std::uint32_t, kMostLevels + 1> count;
  const std::uint32_t levels = compiled.levels;
  std::memset(sum.data(), 0, levels * sizeof(sum[0]));
  std::memset(count.data(), 0, levels * sizeof(count[0]));
  for (std::size_t i = 0; i < view.devices; ++i) {
    const std::uint8_t level = compiled.level[static_cast<std::size_t>(view.compute[i])];
    sum[level] += view.compute[i];
    ++count[level];
  }
  for (std::uint32_t level = levels - 1; level > 1; --level) {
    sum[level - 1] += sum[level];
    count[level - 1] += count[level];
  }
  std::int64_t result = 0;
  for (const Expected& one : compiled.expected) {
    const bool fits = view.cpu >= one.cpu && count[one.level] >= one.count;
    result += fits ? one.weight * sum[one.level] : 0;
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
