// A workload of Kueue that waits for a worker cluster. Pure. Private.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <boost/json/value.hpp>

#include "base/result.h"
#include "kube/kueue.h"

namespace divvy::hub {

struct PendingWorkload {
  using Clock = std::chrono::steady_clock;

  kube::Meta meta;
  std::int64_t priority = 0;
  std::string created;                 // RFC 3339, UTC
  std::string config;                  // name of its MultiKueueConfig
  std::vector<std::string> nominated;  // clusters
  std::string named;                   // the only accepted cluster; empty: any
  // JSON: what decides whether it fits. Null: it is too large for a question.
  std::shared_ptr<const std::string> question;
  bool applied = false;       // as of kube::KueueWorkload
  Clock::time_point since{};  // it waits
  Clock::time_point nominated_at{};
  bool fits = false;                 // in the cluster that was nominated last, then
  std::vector<std::string> reasons;  // of the last decision, one for each cluster
  // Of the last Event.
  std::string told;
  Clock::time_point told_at{};
};

// Annotation of a pod template: the only accepted worker cluster.
inline constexpr const char* kClusterKey = "use.divvy.dev/cluster";

// Reads what the dispatcher keeps of a Workload. `workload` is the same object, already read.
PendingWorkload pendingOf(const boost::json::value& object, const kube::KueueWorkload& workload);

// Sorts by priority, then by age.
void sortByTurn(std::vector<const PendingWorkload*>& all);

// A question to a worker: which of these workloads fit, each beside those before it.
struct FitQuestion {
  std::string list;  // a List in JSON
  std::vector<std::string> uids;
  std::size_t placed = 0;  // first ones of `uids`, which have a nomination there
  bool whole = true;       // all had place
};

// Returns a question about those that have place in one. `placed` come first and get half of it at
// most: workloads that wait in their cluster keep no others waiting. Of `others`, those from
// `first` on follow, and then those before it.
FitQuestion questionAbout(const std::vector<const PendingWorkload*>& placed,
                          const std::vector<const PendingWorkload*>& others, std::size_t first);

}  // namespace divvy::hub
