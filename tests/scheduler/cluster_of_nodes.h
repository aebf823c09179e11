// A cluster of 1,000 nodes, as fuzz targets ask it: made once, and the same after each question.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "preemption/disruption_budgets.h"
#include "scheduler/cache.h"
#include "vendors/catalog.h"

namespace divvy::scheduler {

// Nodes n0 to n999 with 1 to 8 devices of 8 sizes. One in ten has
// pods of two priorities with shares of different sizes, which have most of it.
class ClusterOfNodes {
 public:
  static constexpr unsigned kNodes = 1000;

  static ClusterOfNodes& instance() {
    static ClusterOfNodes made;
    return made;
  }

  SchedulerCache& cache() { return cache_; }
  const RunningPods& pods() const { return pods_; }
  // As they are in a request that names them all.
  const std::vector<std::string_view>& names() const { return names_; }

  // The pod under a UID that nobody asked with before.
  kube::Pod fresh(kube::Pod pod);
  // What was reserved or noted for it is gone.
  void forget(const kube::Pod& pod);

 private:
  ClusterOfNodes();
  void occupy(const std::string& node, unsigned number);

  const vendors::Catalog catalog_;
  SchedulerCache cache_;
  RunningPods pods_;
  std::vector<std::string> texts_;
  std::vector<std::string_view> names_;
  std::uint64_t asked_ = 0;
};

}  // namespace divvy::scheduler
