// The view of the agents of one machine. Pure.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "console/node_source.h"
#include "view/console_view.h"

namespace divvy::console {

// Builds views from readings. Keeps the last snapshot of an agent that does not answer: its rows
// stay, and its source says since when they are old. Not thread-safe.
class ViewBuilder {
 public:
  // Older events are dropped.
  static constexpr std::size_t kMaxEvents = 2000;
  explicit ViewBuilder(WhySlow why_slow) : why_slow_(why_slow) {}

  // Returns the view after `readings`, which were taken at `now_ms`. An agent without a reading has
  // ended: its rows are gone.
  // `before`: the view before it, to share rows with; null: none.
  ConsoleView build(const std::vector<NodeReading>& readings, std::int64_t now_ms,
                    const ConsoleView* before = nullptr);

 private:
  struct Known {
    SourceState source;
    agent::Snapshot snapshot;
  };

  void take(const NodeReading& reading, std::int64_t now_ms);
  struct Lists {
    Rows nodes, devices, shares, waiting, events;
  };
  void addRows(const agent::Snapshot& node, Lists& lists) const;

  WhySlow why_slow_;
  std::map<std::string, Known> known_;
  std::deque<Row> events_;
  std::int64_t data_ms_ = 0;
};

// Returns the first page: totals, devices, and findings that need attention.
Row overviewRow(const std::vector<const agent::Snapshot*>& nodes, const ConsoleView& view);

}  // namespace divvy::console
