#include "kueue/kueue_queues.h"

#include <utility>

#include <boost/asio/co_spawn.hpp>

#include "asio/rethrow.h"
#include "log/log.h"
#include "runtime/log.h"

namespace divvy::scheduler {

namespace bj = boost::json;

void KueueQueues::follow(boost::asio::any_io_executor executor, kube::Client& client,
                         const bool* stopped) {
  kube::EventHandlers handlers;
  handlers.path = kube::kKueueQueuesPath;
  handlers.set = [this](const bj::value& object) {
    Result<kube::KueueQueue> queue = kube::kueueQueueOf(object);
    if (!queue) {
      unreadable_ = true;
      return logUnreadable("localqueue", queue.error());
    }
    uids_[queue->meta.namespace_name + '/' + queue->meta.name] = queue->meta.uid;
    queues_[queue->meta.uid] = std::move(*queue);
  };
  handlers.gone = [this](const std::string& uid, const std::string&) {
    const auto known = queues_.find(uid);
    if (known == queues_.end()) return;
    const kube::Meta& meta = known->second.meta;
    // A new queue of that name may have come before.
    const auto named = uids_.find(meta.namespace_name + '/' + meta.name);
    if (named != uids_.end() && named->second == uid) uids_.erase(named);
    queues_.erase(known);
  };
  handlers.synced = [] {};
  handlers.trouble = logWatchTrouble("localqueues");
  boost::asio::co_spawn(
      executor, kube::runReflector(client, std::move(handlers), informer_, stopped), rethrow);
}

std::string KueueQueues::whyNot(const kube::KueueWorkload& workload) const {
  if (workload.queue.empty() || !informer_.fresh()) return "";
  const std::string& space = workload.meta.namespace_name;
  const auto named = uids_.find(space + '/' + workload.queue);
  if (named == uids_.end() && unreadable_) return "";
  if (named == uids_.end()) return "namespace " + space + " has no LocalQueue " + workload.queue;
  const std::string& problem = queues_.at(named->second).problem;
  return problem.empty() ? "" : "LocalQueue " + workload.queue + ": " + problem;
}

}  // namespace divvy::scheduler
