// Which pods of the node use nothing of what they were given. Pure. Private.
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
  bool known = false;          // when it works
  std::uint64_t idle_ms = 0;   // since it last did
  std::uint64_t after_ms = 0;  // it may be idle for so long; 0: for ever
};

// When a notice ends: by the wall clock, as it was told, and by this machine's steady one, which no
// change of the wall clock moves.
struct Deadline {
  std::int64_t at = 0;       // seconds since 1970
  std::uint64_t due_ms = 0;  // milliseconds of CLOCK_MONOTONIC
};
// By UID of a pod.
using Deadlines = std::map<std::string, Deadline>;

// Notes that the pod's notice ends at `at`, first heard of now: `wall` in seconds since 1970,
// `now_ms` in milliseconds of CLOCK_MONOTONIC. What was heard of it before stands. 0: it has none.
void noteDeadline(Deadlines* deadlines, const std::string& uid, std::int64_t at, std::int64_t wall,
                  std::uint64_t now_ms);

// Now, by both clocks: units as above.
struct Instant {
  std::int64_t wall = 0;
  std::uint64_t steady_ms = 0;
};

// Pods with all of these containers idle for longer than each may be. A pod that is in `before` and
// has not worked since keeps its instant there, however clocks are rounded. `deadlines`: of pods
// that were told; past it they are confirmed to be idle.
kube::Complaints idlePods(const std::vector<IdleContainer>& containers, const Instant& now,
                          const kube::Complaints& before, const Deadlines& deadlines);

}  // namespace divvy::agent
