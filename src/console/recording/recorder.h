// Writes readings of agents into the history.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "console/node_source.h"
#include "history/store.h"
#include "recording/workload_recorder.h"

namespace divvy::console {

// The metrics that series exist for, by kind of object.
const std::vector<std::string_view>& deviceMetrics();
const std::vector<std::string_view>& shareMetrics();
const std::vector<std::string_view>& overviewMetrics();

// Records what agents report: series, usage and events. An agent that does not answer leaves a gap.
// Not thread-safe.
class Recorder {
 public:
  // `store` must outlive this object.
  explicit Recorder(history::Store& store);

  void record(const std::vector<NodeReading>& readings, history::Instant now);

 private:
  // What an interval of usage begins with.
  struct LastReading {
    history::Instant time{};
    std::uint64_t throttled_ms = 0;
    std::string name;              // as the store has it
    history::Instant name_seen{};  // when the store was told so last
  };
  using Samples = std::vector<history::Sample>;

  void put(Samples& samples, const char* kind, const std::string& object, std::string_view metric,
           std::int64_t value);
  void recordDevices(const agent::Snapshot& node, Samples& samples);
  void recordShares(const agent::Snapshot& node, Samples& samples);
  void recordWorkloads(const std::vector<NodeReading>& readings, history::Instant now);
  void recordOverview(const std::vector<NodeReading>& readings, Samples& samples);
  void recordUsage(const agent::Snapshot& node, history::Instant now);
  void recordEvents(const NodeReading& reading);
  void recordObjects(const agent::Snapshot& node, history::Instant now);
  void forgetOld(history::Instant now);

  history::Store& store_;
  WorkloadRecorder workloads_{store_};
  std::map<history::SeriesKey, history::SeriesId> ids_;
  std::map<std::string, LastReading> last_;                // by share
  history::Instant kept_until_ = history::Instant::min();  // earlier events are in the store
  std::map<std::string, history::Instant> devices_;        // last reading, by UUID
  std::map<std::string, history::Instant> named_;          // last record of a device's names
};

}  // namespace divvy::console
