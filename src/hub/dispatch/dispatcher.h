// The dispatcher divvy.dev/dispatcher of MultiKueue: nominates worker clusters for workloads that
// have quota. Private.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/json/array.hpp>

#include "base/result.h"
#include "dispatch/nomination.h"
#include "dispatch/pending_workload.h"
#include "kube/client.h"
#include "kube/informer.h"
#include "kube/kueue.h"
#include "workers/fit_reply.h"

namespace divvy::hub {

// A worker cluster, as the dispatcher asks it.
struct WorkerPort {
  std::string name;
  WorkerPrice price = WorkerPrice::kPrivate;
  std::function<bool()> answers;  // its capacity is known
  // As Worker::ask.
  std::function<boost::asio::awaitable<Result<std::vector<WorkloadFit>>>(std::string list,
                                                                         std::size_t count)>
      ask;
};

// For the client's thread only.
class Dispatcher {
 public:
  struct Options {
    std::chrono::milliseconds spill_after{0};
    bool clears_nominations = false;  // as of HubOptions
    const bool* stopped = nullptr;
  };
  struct Counts {
    std::map<std::string, std::uint64_t> nominations;  // by cluster
    std::uint64_t conflicts = 0, failed_writes = 0, unreadable = 0, rounds = 0;
  };

  // All arguments outlive it.
  Dispatcher(boost::asio::any_io_executor executor, kube::Client& manager,
             std::vector<WorkerPort> workers, Options options);

  // Watches the manager cluster and nominates. Call once.
  void start();

  // Waiting workloads with the reasons of their last decision, at most 1,000.
  boost::json::array rows() const;
  std::size_t waiting() const { return waiting_.size(); }
  const Counts& counts() const { return counts_; }

 private:
  using Clock = PendingWorkload::Clock;
  using Pointers = std::vector<const PendingWorkload*>;
  struct Asked {
    FitQuestion question;
    std::optional<Result<std::vector<WorkloadFit>>> answer;
  };
  struct Round {
    std::map<std::string, Asked> asked;  // by cluster
    // Clusters in which a workload fits that was nominated elsewhere: others may fit there that did
    // not beside it.
    std::set<std::string> relieved;
  };
  struct Informers {
    kube::Informer checks, configs, workloads;
  };

  void follow(const char* path, kube::Informer& informer,
              std::function<Result<void>(const boost::json::value&)> set,
              std::function<void(const std::string& uid)> gone);
  Result<void> onWorkload(const boost::json::value& object);
  void changed();
  boost::asio::awaitable<void> run();
  boost::asio::awaitable<void> round();
  boost::asio::awaitable<std::map<std::string, Asked>> askAll();
  FitQuestion questionFor(const std::string& worker);
  void setFirst(const std::string& worker, const Asked& asked);
  bool accepts(const PendingWorkload& one, const std::string& cluster) const;
  bool isUndecided(const PendingWorkload& one) const;
  std::vector<Candidate> candidatesFor(const PendingWorkload& one, const Round& round) const;
  static void relieve(const std::string& uid, const std::vector<std::string>& nominated,
                      Round* round);
  boost::asio::awaitable<void> decide(const std::string& uid, Round& round);
  boost::asio::awaitable<bool> write(const PendingWorkload& one,
                                     const std::vector<std::string>& clusters);
  boost::asio::awaitable<void> tell(const std::string& uid, const char* reason, std::string message,
                                    bool warning);

  boost::asio::any_io_executor executor_;
  kube::Client& manager_;
  std::vector<WorkerPort> workers_;
  Options options_;
  Informers informers_;
  std::map<std::string, kube::KueueCheck> checks_;         // of MultiKueue, by UID
  std::map<std::string, kube::MultiKueueConfig> configs_;  // by UID
  std::map<std::string, PendingWorkload> waiting_;         // by UID
  std::map<std::string, std::size_t> first_;               // of the next question, by worker
  Counts counts_;
  boost::asio::steady_timer pause_;
  bool changed_ = true;
};

}  // namespace divvy::hub
