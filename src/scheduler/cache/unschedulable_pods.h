// Unschedulable pods, and when to requeue them. kube-scheduler filters a pod again only after a
// change that it knows of. It may have filtered after a pod ended, but before the cache observed
// that. Pure. Private.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "engine/request.h"
#include "engine/units.h"
#include "kube/pod.h"
#include "scheduler/cache.h"

namespace divvy::scheduler {

class UnschedulablePods {
 public:
  // Adds a pod that was refused, or updates it; it keeps its turn.
  void enter(const kube::Pod& pod, engine::Request request);
  void leave(const std::string& uid) { refused_.erase(uid); }
  std::size_t size() const { return refused_.size(); }
  std::vector<scheduler::UnschedulablePod> all() const;
  const engine::Request* unschedulableRequest(const std::string& uid) const;
  // Records that capacity may have become free.
  void open() { open_ = true; }
  bool opened() const { return open_; }
  // Takes the records since then back: `opened` is of opened() before them.
  void restoreOpened(bool opened) { open_ = opened; }

  // As PodQueries::mayRequeue.
  bool mayRequeue(engine::Instant now) const;
  // As SchedulerCache::popSchedulable. `fits`: decides for one request. `over`: true ends this
  // call; the next call continues with the remaining pods.
  std::vector<PodRef> popSchedulable(std::size_t most, engine::Instant now,
                                     const std::function<bool(const engine::Request&)>& fits,
                                     const std::function<bool()>& over);

 private:
  struct Entry {
    std::string namespace_name, name;
    std::int64_t priority = 0;
    std::uint64_t turn = 0;
    engine::Request request;
    unsigned calls = 0;
    engine::Instant next{};   // not requeued before
    std::uint64_t round = 0;  // round of the last decision
  };

  std::map<std::string, Entry> refused_;  // by UID
  std::uint64_t turns_ = 0;
  std::uint64_t round_ = 1;
  bool open_ = false;
};

}  // namespace divvy::scheduler
