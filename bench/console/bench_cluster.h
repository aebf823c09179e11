// A large cluster that changes, made up from a seed.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "base/rng.h"
#include "console/cluster_source.h"
#include "console/viewer.h"

namespace divvy::bench {

struct ClusterSize {
  std::size_t nodes = 1000;  // of eight devices
  std::size_t pods = 10'000;
  std::size_t namespaces = 100;
  std::size_t changes_per_s = 50;  // pods with a new use and state
};

std::string spaceName(std::size_t index);

// Times of a source's readings, as the console calls them. Thread-safe.
class ReadingTimes {
 public:
  void begin(double at_ms);
  void end(double at_ms, double cpu_ms);
  // Milliseconds from the end of each reading until the next one begins: the console's own work,
  // and its interval.
  std::vector<double> between() const;
  double sourceCpuMs() const;

 private:
  mutable std::mutex mutex_;
  double last_end_ms_ = 0;
  double cpu_ms_ = 0;
  std::vector<double> between_;
};

// Each reading is a copy, as each reading of a real cluster is a new object. A tenth of its pods
// wait.
class BenchCluster : public console::ClusterSource {
 public:
  // `times` outlives it.
  BenchCluster(const ClusterSize& size, ReadingTimes& times);

  console::ClusterReading read() override;
  Result<boost::json::object> explain(const std::string&, const std::string&) override;
  Result<boost::json::array> plan(const std::string&, const std::string&,
                                  const std::string&) override;
  Result<console::ClusterChangeOutcome> change(const console::ClusterChange&) override;

 private:
  void addNodes();
  void addPod(std::size_t index);
  void advance(double seconds);

  ClusterSize size_;
  ReadingTimes& times_;
  Rng rng_{7};
  console::ClusterReading reading_;
  double changed_ms_ = 0;
};

// Accepts "whole" and "space-N": the token of a viewer of everything, and of one namespace.
class BenchReviews : public console::ViewerReviews {
 public:
  Result<console::Viewer> authenticate(const std::string& token) override;
  Result<console::ViewerScope> scopeOf(const console::Viewer& viewer,
                                       const std::vector<std::string>& namespaces) override;
};

// Milliseconds of a clock that never jumps.
double nowMs();

}  // namespace divvy::bench
