// The Kueue controller: evaluates the admission check divvy.dev/fit for workloads that have quota.
// Only the leader writes. Private.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include "engine/units.h"
#include "kube/client.h"
#include "kube/informer.h"
#include "kube/kueue.h"
#include "kueue/fit_writer.h"
#include "kueue/kueue_queues.h"
#include "kueue/namespace_queue.h"
#include "kueue/workload_fit.h"
#include "telemetry/metrics.h"

namespace divvy::scheduler {

// Value of spec.controllerName of AdmissionChecks for this controller.
inline constexpr const char* kFitController = "divvy.dev/fit";

// For the client's thread only.
class KueueController {
 public:
  struct Options {
    std::function<std::string()> why_not;  // why this replica does not schedule now; empty: it does
    const bool* stopped = nullptr;
    // Restores reservations that are written in pods, which go first, and returns whether that is
    // done. None: there are none.
    std::function<bool()> settled = {};
  };
  // All arguments outlive it.
  KueueController(boost::asio::any_io_executor executor, kube::Client& client, WorkloadFit fit,
                  KueueCounts& counts, Options options);

  // Watches AdmissionChecks from now on, and Workloads once this controller evaluates one of the
  // checks. `pods`: the informer of pods; workloads are listed when it is fresh. Call once.
  void start(const kube::Informer& pods);
  // Reserves again, as far as it fits, what the term before had reserved.
  void takeOver();
  // As WorkloadFit::wouldFit. A workload without an active LocalQueue here does not fit.
  std::vector<FitAnswer> wouldFit(const std::vector<kube::KueueWorkload>& workloads,
                                  const std::function<bool()>& over) const {
    return fit_.wouldFit(workloads, over,
                         [this](const auto& one) { return informers_.queues.whyNot(one); });
  }

 private:
  // A workload that has quota and is not admitted yet, or was admitted just now.
  struct Followed {
    kube::KueueWorkload workload;
    bool busy = false;           // it is in `turns_`, or its decision is being written
    std::string written;         // the last written state, until it is observed; empty: it was
    engine::Instant again{};     // when to decide again; 0: not by time
    engine::Instant reserved{};  // when its reservations were made
  };
  struct Check {
    kube::KueueCheck object;
    engine::Instant next_write{};  // of its condition
  };
  struct KueueInformers {
    kube::Informer checks, workloads;
    KueueQueues queues;
    bool follows_workloads = false;
    bool absence_logged = false;
    bool restores = true;  // the list of workloads of this term is not complete yet
  };

  void followChecks();
  void followWorkloads();
  void onCheck(const kube::KueueCheck& check);
  void onWorkload(kube::KueueWorkload workload);
  void drop(const std::string& uid);
  void activateChecks();
  std::vector<const kube::KueueCheckState*> statesOf(const kube::KueueWorkload& workload) const;
  void decideSoon(const std::string& uid);
  void decide(const std::string& uid);
  boost::asio::awaitable<void> takeTurns();
  boost::asio::awaitable<void> tick();
  boost::asio::awaitable<void> write(kube::KueueWorkload workload, std::vector<std::string> checks,
                                     FitDecision decision);
  bool mayAct() const {
    return options_.why_not().empty() && !*options_.stopped &&
           (!options_.settled || options_.settled());
  }

  boost::asio::any_io_executor executor_;
  kube::Client& client_;
  FitWriter writer_;
  WorkloadFit fit_;
  KueueCounts& counts_;
  Options options_;
  const kube::Informer* pods_ = nullptr;
  KueueInformers informers_;
  std::map<std::string, Check> checks_;       // of this controller, by UID
  std::map<std::string, Followed> followed_;  // by UID
  NamespaceQueue turns_;
  bool in_turns_ = false;
};

}  // namespace divvy::scheduler
