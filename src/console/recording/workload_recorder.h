// Writes the use of workloads into the history, for the report "right-sizing".
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "history/store.h"

namespace divvy::console {

// The use of a workload in one reading. Absent figures are not known.
struct WorkloadUse {
  std::int64_t shares = 0;                    // that run
  std::optional<std::int64_t> memory_bytes;   // on one device, of the share with the most
  std::optional<std::int64_t> busy_permille;  // of one device, of the share with the most

  // Takes the larger figures.
  void addPart(std::optional<std::int64_t> memory, std::optional<std::int64_t> busy);
};
using WorkloadUses = std::map<std::string, WorkloadUse>;  // by key (rows/workload_key.h)

// Not thread-safe.
class WorkloadRecorder {
 public:
  // More workloads at a time have no series: each needs three.
  static constexpr std::size_t kMaxWorkloads = 20'000;

  // `store` must outlive this object.
  explicit WorkloadRecorder(history::Store& store) : store_(store) {}

  // `uses`: all workloads with shares that run. The time since the reading before counts as running
  // if it is at most CounterReadings::kMaxGap.
  void record(const WorkloadUses& uses, history::Instant now);

 private:
  struct Line {
    std::optional<history::SeriesId> id;
    history::Instant asked{}, put{};
  };
  struct Workload {
    Line peak, busy, running;
    history::Instant seen{};
    std::int64_t hour = 0, running_ms = 0;    // of the hour
    std::int64_t busy_sum = 0, readings = 0;  // since the last mean
  };
  using Samples = std::vector<history::Sample>;

  void put(Samples& samples, Line& line, const std::string& object, std::string_view metric,
           std::int64_t value, history::Instant now);
  void add(Samples& samples, const std::string& key, const WorkloadUse& use, history::Instant now);
  void putMeans(Samples& samples, history::Instant now);

  history::Store& store_;
  std::map<std::string, Workload> workloads_;
  history::Instant last_{};  // reading before
  std::int64_t window_ = 0;  // of the means
};

}  // namespace divvy::console
