// Answers for pods that kube-scheduler filters, and for those that it should filter again. Private.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cache/cache_state.h"
#include "cache/placement_search.h"
#include "engine/request.h"
#include "engine/units.h"
#include "kube/pod.h"
#include "scheduler/cache.h"

namespace divvy::scheduler {

// Functions with names of SchedulerCache or PodQueries keep their contracts.
class PodFilter {
 public:
  // Both outlive it.
  PodFilter(CacheState& state, PlacementSearch& search) : state_(state), search_(search) {}

  // Begins each decision for a pod: reads its request and releases its earlier reservation. None:
  // it requests no devices. Errors: as SchedulerCache::filterAndReserve().
  Result<std::optional<engine::Request>> begin(const kube::Pod& pod);
  // Reserves a decided placement until `expires`, and charges the quota. Errors: as
  // PodTable::transit().
  Result<void> reserve(const engine::Request& request, const engine::Placement& placement,
                       engine::Instant expires);

  Result<FilterResult> filterAndReserve(const kube::Pod& pod,
                                        std::span<const std::string_view> nodes,
                                        engine::Instant expires);
  Result<FilterResult> fitting(const kube::Pod& pod, std::span<const std::string_view> nodes);
  Result<std::vector<unsigned>> scores(const kube::Pod& pod,
                                       std::span<const std::string_view> nodes) const;
  std::vector<PodRef> popSchedulable(std::size_t most, engine::Instant now);

 private:
  FilterResult refuse(const kube::Pod& pod, engine::Request request, FilterResult choice);

  CacheState& state_;
  PlacementSearch& search_;
};

}  // namespace divvy::scheduler
