// Which queue and which gang a pod says it is of. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <boost/json/value.hpp>

#include "base/result.h"
#include "kube/pod.h"

namespace divvy::scheduler {

// While it is there the pod is not scheduled; only we take it away (policy divvy-gates).
inline constexpr const char* kQueueGate = "divvy.dev/queued";
// Of pods; what users write there is theirs.
inline constexpr const char* kQueueKey = "use.divvy.dev/queue";
inline constexpr const char* kGangKey = "use.divvy.dev/gang";
inline constexpr const char* kGangLeastKey = "use.divvy.dev/gang-min";
// Of namespaces: their default queue.
inline constexpr const char* kSpaceQueueKey = "divvy.dev/queue";

inline constexpr std::uint32_t kMaxOfGang = 4096;

// Where it stands how many members a gang has at least, if its pods do not say.
struct MinMemberRef {
  std::string path;    // of the object
  std::string member;  // of its spec
  friend bool operator==(const MinMemberRef&, const MinMemberRef&) = default;
};

// A group of pods that start together or not at all.
struct PodGroupRef {
  std::string name;  // in the pod's namespace, after the dialect: "gang/NAME", "job/NAME" ...
  std::optional<std::uint32_t> least;
  std::optional<MinMemberRef> in;
  friend bool operator==(const PodGroupRef&, const PodGroupRef&) = default;
};

// As Divvy, scheduler-plugins, Volcano and Kueue write it, and Jobs whose pods say use.divvy.dev/
// gang-min ("parallelism": as the Job says). None: it is of no gang. kUsage: what is accepted.
Result<std::optional<PodGroupRef>> gangOf(const kube::Pod& pod);

// What the object says that `in` names. kCorrupt: nothing, or no number that is accepted.
Result<std::uint32_t> minMemberOf(const boost::json::value& object, const MinMemberRef& in);

// What its annotation or label names; empty: nothing.
std::string queueNamedBy(const kube::Pod& pod);
// What a namespace says of its own; empty: nothing.
std::string queueSaidBy(const kube::Meta& space);

bool isGated(const kube::Pod& pod);            // by us
bool isGatedByOthers(const kube::Pod& pod);    // as Kueue does
std::string othersGate(const kube::Pod& pod);  // the first of theirs; empty: none

}  // namespace divvy::scheduler
