// Pods with devices on a node that our books cannot count: no assignment says which were given, or
// the assignment cannot be read. Each is named once, in an Event and in the log. Private.
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

// Bound, not ended, asks for devices that we place, and no annotation says which it was given.
// Pure.
bool isStray(const kube::Pod& pod, const vendors::Catalog& catalog);
// The Event (core/v1) that says so, as JSON; its name is the same whoever writes it. Pure.
std::string strayEvent(const kube::Pod& pod, const std::string& scheduler, std::int64_t seconds);
// Likewise of an assignment that cannot be read. Pure.
std::string unreadableEvent(const kube::Pod& pod, const std::string& why,
                            const std::string& scheduler, std::int64_t seconds);

// For one thread, that of the client. Client, catalog, cache and flag outlive it.
class UnassignedPodReporter : public ClusterObserver {
 public:
  UnassignedPodReporter(boost::asio::any_io_executor executor, kube::Client& client,
                        const vendors::Catalog& catalog, const SchedulerCache& cache,
                        std::string scheduler, std::function<void(const std::string&)> log,
                        const bool* stopped);

  // Each pod is named once.
  void onPodUpdate(const kube::Pod& pod) override;
  // `why`: what of its assignment cannot be read.
  void unreadable(const kube::Pod& pod, const std::string& why);
  std::size_t count() const { return count_; }  // pods without an assignment, so far

 private:
  struct Note {
    kube::Pod pod;
    std::string unreadable;  // why; empty: there is no assignment
  };
  void add(Note note);
  boost::asio::awaitable<void> tell();

  boost::asio::any_io_executor executor_;
  kube::Client& client_;
  const vendors::Catalog& catalog_;
  const SchedulerCache& cache_;
  std::string scheduler_;
  std::function<void(const std::string&)> say_;
  const bool* stopped_;
  RecentSet known_;
  std::deque<Note> waiting_;
  bool telling_ = false;
  std::size_t count_ = 0;
};

}  // namespace divvy::scheduler
