// Reports pods on a node with devices that the cache cannot count: they have no assignment, or one
// that cannot be read. Each is reported once, in an Event and in the log. Private.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <string>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include "kube/client.h"
#include "kube/pod.h"
#include "runtime/cluster_observer.h"
#include "runtime/recent_set.h"
#include "scheduler/cache.h"
#include "vendors/catalog.h"

namespace divvy::scheduler {

// Returns true for an unassigned pod: bound, not ended, requests devices that Divvy places, and has
// no assignment. Pure.
bool isStray(const kube::Pod& pod, const vendors::Catalog& catalog);
// Returns the Event (core/v1) about an unassigned pod, as JSON. Its name is the same for each
// writer. `scheduler`: name of the scheduler; `seconds`: since 1970. Pure.
std::string strayEvent(const kube::Pod& pod, const std::string& scheduler, std::int64_t seconds);
// Returns the Event about a pod with an unreadable assignment, as strayEvent(). `why`: the
// unreadable part. Pure.
std::string unreadableEvent(const kube::Pod& pod, const std::string& why,
                            const std::string& scheduler, std::int64_t seconds);

// For the client's thread only. `client`, `catalog`, `cache` and `stopped` outlive it.
class UnassignedPodReporter : public ClusterObserver {
 public:
  UnassignedPodReporter(boost::asio::any_io_executor executor, kube::Client& client,
                        const vendors::Catalog& catalog, const SchedulerCache& cache,
                        std::string scheduler, std::function<void(const std::string&)> log,
                        const bool* stopped);

  // Reports an unassigned pod, unless it was reported before.
  void onPodUpdate(const kube::Pod& pod) override;
  // Reports a pod with an unreadable assignment, unless it was reported before. `why`: the
  // unreadable part.
  void unreadable(const kube::Pod& pod, const std::string& why);
  std::size_t count() const { return count_; }  // unassigned pods since the start

 private:
  struct Note {
    kube::Pod pod;
    std::string unreadable;  // the unreadable part; empty: there is no assignment
  };
  void add(Note note);
  boost::asio::awaitable<void> publishEvents();

  boost::asio::any_io_executor executor_;
  kube::Client& client_;
  const vendors::Catalog& catalog_;
  const SchedulerCache& cache_;
  std::string scheduler_;
  std::function<void(const std::string&)> log_;
  const bool* stopped_;
  RecentSet known_;
  std::deque<Note> waiting_;
  bool telling_ = false;
  std::size_t count_ = 0;
};

}  // namespace divvy::scheduler
