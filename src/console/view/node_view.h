// All rows that viewers see at one instant. Pure.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "console/node_source.h"
#include "rows/rows.h"

namespace divvy::console {

// Whether and since when an agent answers.
struct SourceState {
  std::string node;
  bool reached = false;       // its agent has answered at least once
  std::int64_t since_ms = 0;  // of the present state; milliseconds since 1970
  std::string failure;        // empty: the agent answers
  Row row() const;
};

// What viewers see: rows by list, ascending by identifier. A value that is never changed once it is
// published, so that readers need no lock.
struct NodeView {
  std::int64_t data_ms = 0;  // of the last reading in which an agent answered; 0: none has
  std::vector<SourceState> sources;
  std::map<std::string, Row, std::less<>> nodes, devices, shares, waiting, events;
  Row overview;
};

// Builds views from readings. Keeps the last snapshot of an agent that does not answer: its rows
// stay, and its source says since when they are old. Not thread-safe.
class ViewBuilder {
 public:
  // Older events are dropped.
  static constexpr std::size_t kMaxEvents = 2000;
  explicit ViewBuilder(WhySlow why_slow) : why_slow_(why_slow) {}

  // Returns the view after `readings`, which were taken at `now_ms`. An agent without a reading has
  // ended: its rows are gone.
  NodeView build(const std::vector<NodeReading>& readings, std::int64_t now_ms);

 private:
  struct Known {
    SourceState source;
    agent::Snapshot snapshot;
  };

  void take(const NodeReading& reading, std::int64_t now_ms);
  void addRows(const agent::Snapshot& node, NodeView& view) const;

  WhySlow why_slow_;
  std::map<std::string, Known> known_;
  std::deque<Row> events_;
  std::int64_t data_ms_ = 0;
};

// Returns the first page: totals, devices, and findings that need attention.
Row overviewRow(const std::vector<const agent::Snapshot*>& nodes, const NodeView& view);

}  // namespace divvy::console
