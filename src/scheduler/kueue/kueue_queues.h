// LocalQueues of Kueue: whether workloads of a namespace can get quota in this cluster. Private.
#pragma once

#include <cstddef>
#include <map>
#include <string>

#include <boost/asio/any_io_executor.hpp>

#include "kube/client.h"
#include "kube/informer.h"
#include "kube/kueue.h"

namespace divvy::scheduler {

// For the client's thread only.
class KueueQueues {
 public:
  // Watches them until *stopped is true. All arguments outlive it, and it outlives the watch. Call
  // once.
  void follow(boost::asio::any_io_executor executor, kube::Client& client, const bool* stopped);
  // Says why the workload gets no quota in this cluster. Empty: it may get some, it names no queue,
  // or the queues could not be listed yet.
  std::string whyNot(const kube::KueueWorkload& workload) const;

 private:
  kube::Informer informer_;
  std::map<std::string, kube::KueueQueue> queues_;  // by UID
  std::map<std::string, std::string> uids_;         // by namespace/name
  bool unreadable_ = false;  // a queue could not be read; any missing one may be that one
};

}  // namespace divvy::scheduler
