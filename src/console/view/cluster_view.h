// The view of a cluster. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "console/cluster_source.h"
#include "view/console_view.h"
#include "view/share_index.h"

namespace divvy::console {

// Builds views from readings. Not thread-safe.
class ClusterViewBuilder {
 public:
  // Returns the view after a reading, which was taken at `now_ms`.
  ConsoleView build(const ShareIndex& shares, std::int64_t now_ms,
                    const EarlierViews& earlier = {});
  ConsoleView build(const ClusterReading& reading, std::int64_t now_ms);

 private:
  void addAgents(const ClusterAgents& agents, std::int64_t now_ms, ConsoleView& view);

  std::map<std::string, SourceState> sources_;  // by collection
  std::int64_t data_ms_ = 0;
};

// Returns the first page: totals, devices, and findings that need attention.
Row clusterOverviewRow(const ClusterReading& reading, const ConsoleView& view);

}  // namespace divvy::console
