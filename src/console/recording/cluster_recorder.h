// Writes readings of a cluster into the history.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "console/cluster_source.h"
#include "history/store.h"
#include "recording/workload_recorder.h"
#include "view/console_view.h"

namespace divvy::console {

// Records allocation, and use where agents report it: series of devices and of the whole cluster,
// usage of shares. Not thread-safe.
class ClusterRecorder {
 public:
  // `store` must outlive this object.
  explicit ClusterRecorder(history::Store& store) : store_(store) {}

  // Readings in which a collection fails are left out: a part of a sum would look like a fall.
  void record(const ClusterReading& reading, const ConsoleView& view, history::Instant now);

 private:
  using Samples = std::vector<history::Sample>;

  void put(Samples& samples, const char* kind, const std::string& object, std::string_view metric,
           std::int64_t value);
  void recordSeries(const ClusterReading& reading, const ConsoleView& view, history::Instant now);
  void recordDevices(const ClusterReading& reading, history::Instant now);
  void recordShares(const ConsoleView& view, history::Instant now);
  void recordWorkloads(const ConsoleView& view, history::Instant now);

  history::Store& store_;
  WorkloadRecorder workloads_{store_};
  std::map<history::SeriesKey, history::SeriesId> ids_;
  history::Instant last_{};  // reading before
  // Share, and device: when the store was told its name.
  std::map<std::string, history::Instant> recorded_, recorded_devices_;
};

}  // namespace divvy::console
