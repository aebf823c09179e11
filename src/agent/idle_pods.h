// Which pods of the node use nothing of what they were given. Pure. Private.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "kube/complaint.h"
#include "tenant_record.h"

namespace divvy::agent {

// A container of a pod.
struct Resting {
  PodContainer lodger;
  bool known = false;          // when it works
  std::uint64_t idle_ms = 0;   // since it last did
  std::uint64_t after_ms = 0;  // it may be idle for so long; 0: for ever
};

// Pods with all of these containers idle for longer than each may be. `wall`: now, in seconds since
// 1970. Who is in `before` and has not worked since keeps its instant there, however clocks are
// rounded. `deadlines`: of those that were told, by UID; past it they are confirmed to be idle.
using Deadlines = std::map<std::string, std::int64_t>;
kube::Complaints idlePods(const std::vector<Resting>& containers, std::int64_t wall,
                          const kube::Complaints& before, const Deadlines& deadlines);

}  // namespace divvy::agent
