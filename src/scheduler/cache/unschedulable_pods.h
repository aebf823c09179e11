// Pods that were refused, and when it is worth telling kube-scheduler to look at them again: it
// asks again only when something changes that it knows of, and it may have asked after a pod ended
// and before we knew. Pure. Private.
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
  void enter(const kube::Pod& pod, engine::Request request);
  void leave(const std::string& uid) { refused_.erase(uid); }
  std::size_t size() const { return refused_.size(); }
  std::vector<scheduler::UnschedulablePod> all() const;
  const engine::Request* unschedulableRequest(const std::string& uid) const;
  // Something may be free that was not.
  void open() { open_ = true; }

  // As SchedulerCache says.
  bool mayRequeue(engine::Instant now) const;
  // `over`: no more is to be looked at now; the next call goes on with the others.
  std::vector<PodRef> popSchedulable(std::size_t most, engine::Instant now,
                                     const std::function<bool(const engine::Request&)>& fits,
                                     const std::function<bool()>& over);

 private:
  struct Entry {
    std::string space, name;
    std::int64_t priority = 0;
    std::uint64_t turn = 0;
    engine::Request request;
    unsigned calls = 0;
    engine::Instant next{};   // not to be called before
    std::uint64_t round = 0;  // in which it was looked at last
  };

  std::map<std::string, Entry> refused_;  // by UID
  std::uint64_t turns_ = 0;
  std::uint64_t round_ = 1;
  bool open_ = false;
};

}  // namespace divvy::scheduler
