// The table of pods that the gated pod queue handles: pods with the scheduling gate, members of
// gangs, and pods with a reservation annotation. Pure. Private.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "annotations/reservation_annotation.h"
#include "kube/pod.h"
#include "scheduler/cache.h"
#include "scheduler/pod_group.h"

namespace divvy::scheduler {

// The scheduling gate of a pod: present, in removal by this replica, or absent. It is never put
// back: kOpen is final.
enum class GateState { kGated, kOpening, kOpen };

struct QueuedPod {
  kube::Pod pod;
  std::string created;  // creation timestamp, RFC 3339
  std::string alike;    // equal for pods that fit equally
  bool devices = false;
  std::optional<PodGroupRef> words;
  std::string gang;   // key of the gang; empty: none
  std::string fault;  // why it can never start
  std::optional<ReservationAnnotation> plan;
  unsigned late = 0;  // number of its reservations that expired
  GateState gate = GateState::kGated;
  bool held_back = false;  // /filter refused it
  std::string why;         // why it waits
  bool bound() const { return !pod.node.empty(); }
  bool gated() const { return gate != GateState::kOpen; }
  bool free() const { return !bound() && !pod.ended() && !pod.meta.deleting; }
};

// Pods of one namespace that start together.
struct Gang {
  std::set<std::string> members;  // UIDs
  bool started = false;           // a member was bound
};

// Not thread-safe.
class QueuedPods {
 public:
  using Uids = std::vector<std::string>;

  // The caller's reading of a pod.
  struct Description {
    std::string created;
    bool devices = false;
    std::optional<PodGroupRef> words;
    std::string fault;
    std::optional<ReservationAnnotation> plan;  // none: the known one stays
  };
  // Adds or updates the pod, and its gang.
  QueuedPod& set(const kube::Pod& pod, Description description);
  void remove(const std::string& uid);

  bool contains(const std::string& uid) const { return pods_.contains(uid); }
  // None: no such pod.
  QueuedPod* find(const std::string& uid);
  const QueuedPod* find(const std::string& uid) const;
  // The pod is in the table.
  QueuedPod& at(const std::string& uid) { return pods_.at(uid); }
  const QueuedPod& at(const std::string& uid) const { return pods_.at(uid); }
  std::map<std::string, QueuedPod>& all() { return pods_; }
  const std::map<std::string, QueuedPod>& all() const { return pods_; }

  // Returns the pods that are neither bound nor ended. Valid until the next change.
  std::vector<const kube::Pod*> unbound() const;

  const std::map<std::string, Gang>& gangs() const { return gangs_; }
  // The gang of the pod. None: it has none.
  const Gang* gangOf(const QueuedPod& queued) const;
  // Sets the minimum number of members that `in` names, or the error why it is not known.
  void setMinMember(const MinMemberRef& in, Result<std::uint32_t> least);
  // Returns the references for which gangs wait.
  std::vector<MinMemberRef> unknownMinMembers() const;
  // Returns how many members start together. kUnavailable: not read yet.
  Result<std::uint32_t> minMemberOf(const Gang& gang) const;
  // Returns why no member of the gang may be bound now. Empty: members may be bound. `cache` has
  // the reservations of members.
  std::string holdsBack(const Gang& gang, const SchedulerCache& cache) const;
  // Sorts pods without the gate first, then by creation.
  void sort(Uids* uids) const;

 private:
  void leaveGang(QueuedPod& queued);

  std::map<std::string, QueuedPod> pods_;               // by UID
  std::map<std::string, Gang> gangs_;                   // by "NAMESPACE/NAME"
  std::map<std::string, Result<std::uint32_t>> least_;  // by path of the object that states it
};

}  // namespace divvy::scheduler
