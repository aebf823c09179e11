// Reservations, nominations and binds: allocations of pods before they are bound. Private.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "cache/cache_state.h"
#include "cache/placement_search.h"
#include "cache/pod_filter.h"
#include "engine/allocation.h"
#include "engine/gang.h"
#include "engine/units.h"
#include "kube/pod.h"
#include "scheduler/cache.h"
#include "scheduler/reservation.h"

namespace divvy::scheduler {

// Functions with names of SchedulerCache keep its contracts.
class Reservations {
 public:
  // All outlive it.
  Reservations(CacheState& state, PlacementSearch& search, PodFilter& filter)
      : state_(state), search_(search), filter_(filter) {}

  Result<void> reserve(const std::string& uid, const std::string& node, engine::Instant expires);
  Result<std::vector<Reservation>> plan(std::span<const kube::Pod> pods,
                                        const std::vector<std::string>& without,
                                        const std::vector<std::string>& not_on,
                                        engine::Instant expires);
  Result<void> restoreReservation(const kube::Pod& pod, const Reservation& was,
                                  engine::Instant expires);
  void unreserve(const std::string& uid, bool forget = false);
  std::size_t expire(engine::Instant now);

  Result<void> nominate(const kube::Pod& pod, const engine::Placement& placement,
                        engine::Instant until);
  void denominate(const std::string& uid);

  Result<BindPlan> assume(const std::string& uid, const std::string& node,
                          std::int64_t nanoseconds);
  void finishBinding(const std::string& uid, BindOutcome end);

 private:
  Result<engine::Gang> readGang(std::span<const kube::Pod> pods,
                                const std::vector<std::string>& without,
                                const std::vector<std::string>& not_on);
  Result<std::vector<engine::Allocation>> place(const engine::Gang& gang, engine::Instant expires);
  Result<void> takeGang(const engine::Gang& gang, const std::vector<engine::Allocation>& given);

  CacheState& state_;
  PlacementSearch& search_;
  PodFilter& filter_;
};

}  // namespace divvy::scheduler
