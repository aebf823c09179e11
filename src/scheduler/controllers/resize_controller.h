// Admits what running pods are asked to be changed to, and writes down what became of it.
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

// For one thread, that of the client. All outlives it.
class ResizeController : public ClusterObserver {
 public:
  struct Options {
    std::function<std::string()> why_not;  // nothing is written here now; empty: it is
    std::function<std::string()> term;     // of the Lease, as bindings say it
    // What the pod may not have more of for its queue's sake; empty: it may, and is counted with
    // that. Asked once it is booked.
    std::function<std::string(const std::string& uid)> beyond_queue;
    // It has what it says that it has, in the books and for its queue.
    std::function<void(const kube::Pod& pod)> restore;
    // Whether another's plugin hands out the node's devices.
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
  void look();
  boost::asio::awaitable<void> work();
  // Whether there is more to do for it soon.
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
  std::map<std::string, kube::Pod> pods_;               // by UID: with something to do
  std::map<std::string, kube::ChangeResults> results_;  // by node
  bool working_ = false;
  std::uint64_t admitted_ = 0;  // by this process, for tokens
};

}  // namespace divvy::scheduler
