// Keeps Events of the API server longer than the API server does.
#pragma once

#include <cstddef>
#include <map>
#include <string>

#include "console/cluster_source.h"
#include "history/store.h"

namespace divvy::console {

// The newest Events of a cluster, over restarts of the console. An API server deletes them after an
// hour. Not thread-safe.
class EventHistory {
 public:
  static constexpr std::size_t kMaxEvents = 5000;

  // `store` must outlive this object.
  explicit EventHistory(history::Store& store) : store_(store) {}

  // Records the Events of the reading that are new, and adds the earlier ones to it: at most
  // kMaxEvents in all, newest last. The first call reads the store.
  void merge(ClusterReading& reading);

 private:
  using ByUid = std::map<std::string, ClusterEvent>;

  void load();
  void forgetOldest();

  history::Store& store_;
  bool loaded_ = false;
  ByUid kept_;
};

}  // namespace divvy::console
