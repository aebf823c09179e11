// Which pods of the node do not use their devices. Pure. Private.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "kube/eviction_request.h"
#include "tenant/tenant_record.h"

namespace divvy::agent {

// A container of a pod.
struct IdleContainer {
  PodContainer lodger;
  bool known = false;          // its activity is known
  std::uint64_t idle_ms = 0;   // since its last activity
  std::uint64_t after_ms = 0;  // permitted idle time; 0: unlimited
};

// The end of a notice: by the wall clock, as published, and by this machine's monotonic clock,
// which changes of the wall clock do not move.
struct Deadline {
  std::int64_t at = 0;       // seconds since 1970
  std::uint64_t due_ms = 0;  // milliseconds of CLOCK_MONOTONIC
};
// By UID of a pod.
using Deadlines = std::map<std::string, Deadline>;

// Records that the pod's notice ends at `at`; 0 removes it. `wall` in seconds since 1970, `now_ms`
// in milliseconds of CLOCK_MONOTONIC. A known deadline with the same `at` stays as it is.
void noteDeadline(Deadlines* deadlines, const std::string& uid, std::int64_t at, std::int64_t wall,
                  std::uint64_t now_ms);

// The present by both clocks; units as in Deadline.
struct Instant {
  std::int64_t wall = 0;
  std::uint64_t steady_ms = 0;
};

// The pods in which each of these containers is idle for longer than it may be. A pod that is in
// `before` and was not active since keeps its instant there, however clocks are rounded.
// `deadlines`: of pods with a notice; after its deadline a pod is confirmed as idle.
kube::Complaints idlePods(const std::vector<IdleContainer>& containers, const Instant& now,
                          const kube::Complaints& before, const Deadlines& deadlines);

}  // namespace divvy::agent
