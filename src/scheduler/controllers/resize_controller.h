// The resize controller: admits resizes of running pods and records their results.
#pragma once

#include <functional>
#include <map>
#include <string>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>

#include "kube/client.h"
#include "kube/node.h"
#include "kube/pod.h"
#include "kube/resize_request.h"
#include "runtime/cluster_observer.h"
#include "scheduler/cache.h"
#include "telemetry/metrics.h"

namespace divvy::scheduler {

// For the client's thread only. All arguments outlive it.
class ResizeController : public ClusterObserver {
 public:
  struct Options {
    std::function<std::string()> why_not;  // why this replica does not write now; empty: it does
    std::function<std::string()> term;     // fence of the Lease's term, as in bindings
    // Returns why the queue's quota refuses the pod's new size; empty: it does not, and the new
    // size is charged. Called after SchedulerCache::admitChange.
    std::function<std::string(const std::string& uid)> beyond_queue;
    // Sets the pod's size in the cache and its queue back to those of the pod itself.
    std::function<void(const kube::Pod& pod)> restore;
    // Returns true if another device plugin than Divvy's hands out the node's devices.
    std::function<bool(const std::string& node)> others;
    const bool* stopped = nullptr;
  };
  ResizeController(boost::asio::any_io_executor executor, kube::Client& client,
                   const vendors::Catalog& catalog, SchedulerCache& cache,
                   ShareChangeCounts& counts, Options options);

  void onPodUpdate(const kube::Pod& pod) override;
  void onPodDelete(const std::string& uid) override { pods_.erase(uid); }
  void onNodeUpdate(const kube::Node& node) override;
  void onNodeDelete(const std::string& name) override { results_.erase(name); }

 private:
  void startWork();
  boost::asio::awaitable<void> work();
  // Carries out the pod's next step. Returns true if another step follows soon.
  boost::asio::awaitable<bool> settle(const std::string& uid);
  boost::asio::awaitable<bool> admit(kube::Pod pod);
  boost::asio::awaitable<bool> finish(kube::Pod pod);
  enum class Written { kYes, kNo, kUnknown };
  boost::asio::awaitable<Written> write(const kube::Pod& pod, const kube::Labels& annotations);
  Result<kube::ResizeState> decide(const kube::Pod& pod);

  boost::asio::any_io_executor executor_;
  kube::Client& client_;
  const vendors::Catalog& catalog_;
  SchedulerCache& cache_;
  ShareChangeCounts& counts_;
  Options options_;
  boost::asio::steady_timer pause_;
  std::map<std::string, kube::Pod> pods_;               // pods in a resize, by UID
  std::map<std::string, kube::ChangeResults> results_;  // by node
  bool working_ = false;
  std::uint64_t admitted_ = 0;  // number of resizes that this process decided, for tokens
};

}  // namespace divvy::scheduler
