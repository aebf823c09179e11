// The queue and the pod group (gang) that a pod names. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <boost/json/value.hpp>

#include "base/result.h"
#include "kube/pod.h"

namespace divvy::scheduler {

// Divvy's scheduling gate: a pod with it is not scheduled. Only the scheduler removes it (policy
// divvy-gates).
inline constexpr const char* kQueueGate = "divvy.dev/queued";
// Labels or annotations of pods, which users write.
inline constexpr const char* kQueueKey = "use.divvy.dev/queue";
inline constexpr const char* kGangKey = "use.divvy.dev/gang";
inline constexpr const char* kGangLeastKey = "use.divvy.dev/gang-min";
// Label or annotation of a namespace: its default queue.
inline constexpr const char* kNamespaceQueueKey = "divvy.dev/queue";

inline constexpr std::uint32_t kMaxOfGang = 4096;

// Where an object states the minimum number of members of a gang, if its pods do not.
struct MinMemberRef {
  std::string path;    // of the object, at the API server
  std::string member;  // field of the object's spec
  friend bool operator==(const MinMemberRef&, const MinMemberRef&) = default;
};

// A group of pods that start together or not at all.
struct PodGroupRef {
  std::string name;  // in the pod's namespace, prefixed by dialect: "gang/NAME", "job/NAME" ...
  std::optional<std::uint32_t> least;  // minimum number of members, if the pod states it
  std::optional<MinMemberRef> in;      // object that states it otherwise
  friend bool operator==(const PodGroupRef&, const PodGroupRef&) = default;
};

// Reads the gang of a pod, in the dialects of Divvy, scheduler-plugins, Volcano and Kueue, and of
// Jobs with pods that have use.divvy.dev/gang-min ("parallelism": the Job's). None: the pod is in
// no gang. kUsage: the message names the accepted values.
Result<std::optional<PodGroupRef>> gangOf(const kube::Pod& pod);

// Reads the minimum number of members from `object`, which `in` names. kCorrupt: it has none, or
// not a number from 1 to kMaxOfGang.
Result<std::uint32_t> minMemberOf(const boost::json::value& object, const MinMemberRef& in);

// Returns the queue that the pod's label, or else its annotation, names; empty: none.
std::string queueNamedBy(const kube::Pod& pod);
// Returns the default queue that the namespace's label, or else its annotation, names; empty: none.
std::string queueOfNamespace(const kube::Meta& meta);

bool isGated(const kube::Pod& pod);            // with kQueueGate
bool isGatedByOthers(const kube::Pod& pod);    // with another gate, such as Kueue's
std::string othersGate(const kube::Pod& pod);  // name of the first such gate; empty: none

}  // namespace divvy::scheduler
