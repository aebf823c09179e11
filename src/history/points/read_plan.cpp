#include "points/read_plan.h"

#include <algorithm>

namespace divvy::history {
namespace {

constexpr std::array kTiers{Tier::kFiveSeconds, Tier::kMinute, Tier::kFiveMinutes, Tier::kHour};
// Points may lie this far in the future of a clock that was set back.
constexpr Span kFuture{3'600'000};

__extension__ using Wide = __int128;

std::int64_t ceilDivided(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

}  // namespace

ReadPlan planRead(const ReadRange& range, Instant now, Instant fine_since) {
  const Instant from =
      std::max(range.from, floorTo(now - retentionOf(Tier::kHour), stepOf(Tier::kHour)));
  const Instant to = std::min(range.to, now + kFuture);
  ReadPlan plan;
  if (from >= to) {
    plan.start = floorTo(from, stepOf(plan.tier));
    return plan;
  }
  const auto max_points = static_cast<std::int64_t>(range.max_points);
  const Span wanted(ceilDivided((to - from).count(), max_points));
  plan.tier = Tier::kHour;
  for (const Tier tier : kTiers) {
    const Instant oldest = tier == Tier::kFiveSeconds
                               ? std::max(now - retentionOf(tier), fine_since)
                               : now - retentionOf(tier);
    if (from < oldest) continue;
    // The first one that reaches back is the finest possible; coarser ones while they suffice.
    plan.tier = tier;
    for (const Tier coarser : kTiers)
      if (coarser > tier && stepOf(coarser) <= wanted) plan.tier = coarser;
    break;
  }
  plan.factor = std::max<std::int64_t>(1, ceilDivided(wanted.count(), stepOf(plan.tier).count()));
  const auto count = [&] {
    plan.start = floorTo(from, plan.step());
    return ceilDivided((to - plan.start).count(), plan.step().count());
  };
  while (count() > max_points) ++plan.factor;
  plan.count = static_cast<std::size_t>(count());
  return plan;
}

PlannedColumn::PlannedColumn(const ReadPlan& plan)
    : plan_(plan), points_(plan.count * static_cast<std::size_t>(plan.factor)) {}

void PlannedColumn::put(Instant time, const Point& point) {
  if (time < plan_.start || time >= plan_.end()) return;
  points_[static_cast<std::size_t>((time - plan_.start) / stepOf(plan_.tier))] = point;
}

SeriesColumn PlannedColumn::column(bool known) const {
  SeriesColumn column;
  column.known = known;
  const auto factor = static_cast<std::size_t>(plan_.factor);
  for (std::size_t at = 0; at < points_.size(); at += factor) {
    Wide sum = 0;
    std::int64_t weight = 0, max = -kMaxValue;
    for (std::size_t of = at; of < at + factor; ++of) {
      const Point& point = points_[of];
      if (point.weight == 0) continue;
      sum += Wide(point.mean) * point.weight;
      weight += point.weight;
      max = std::max(max, point.max);
    }
    if (weight == 0) {
      column.mean.emplace_back();
      column.max.emplace_back();
    } else {
      const auto half = (sum < 0 ? -weight : weight) / 2;
      column.mean.emplace_back(static_cast<std::int64_t>((sum + half) / weight));
      column.max.emplace_back(max);
    }
  }
  return column;
}

}  // namespace divvy::history
