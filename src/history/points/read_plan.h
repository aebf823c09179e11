// Which points answer a read. Pure.
#pragma once

#include <vector>

#include "history/series.h"
#include "points/memory_tier.h"

namespace divvy::history {

// The tier to read, and its points: `count` groups of `factor` points each, from `start`.
struct ReadPlan {
  Tier tier = Tier::kFiveSeconds;
  Instant start{};
  std::size_t count = 0;
  std::int64_t factor = 1;

  Span step() const { return stepOf(tier) * factor; }
  Instant end() const { return start + step() * static_cast<std::int64_t>(count); }
};

// Chooses the coarsest tier that still gives max_points, or a coarser one if that does not reach
// back to range.from. `fine_since`: 5-second points exist from then on. The range is cut to what
// tiers can have.
ReadPlan planRead(const ReadRange& range, Instant now, Instant fine_since);

// The points of one series for a plan; later calls of put() win.
class PlannedColumn {
 public:
  explicit PlannedColumn(const ReadPlan& plan);

  void put(Instant time, const Point& point);
  // Returns a value for each group of points.
  SeriesColumn column(bool known) const;

 private:
  ReadPlan plan_;
  std::vector<Point> points_;
};

}  // namespace divvy::history
