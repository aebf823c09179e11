// The eviction controller: carries out eviction requests of agents. It writes the eviction notice
// into the pod, notifies the pod's platform, writes a condition and an Event, and evicts the pod.
// Private.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include "controllers/eviction_notice_state.h"
#include "controllers/platform_callback.h"
#include "kube/client.h"
#include "kube/node.h"
#include "kube/pod.h"
#include "runtime/cluster_observer.h"
#include "telemetry/metrics.h"

namespace divvy::scheduler {

// Keys and texts for one kind of eviction request.
struct EvictionCause {
  const char *node_key, *pod_key;                     // annotations (kube/eviction_request.h)
  const char* condition;                              // type of the pod's condition
  const char *reason, *over_reason, *evicted_reason;  // of the condition and of Events
  const char* over;                                   // message once the request is withdrawn
  // Returns the message of the notice (present tense) or of the eviction (`past`). `what`: detail
  // of the request; `now`: seconds since 1970.
  std::string (*why)(const kube::Notice& notice, const std::string& what, std::int64_t now,
                     bool past);
  const char* unless;  // end of "it is evicted at ... unless ..."
};
extern const EvictionCause kIdleGround;    // the pod does not use its devices
extern const EvictionCause kBypassGround;  // limit bypass

// For the client's thread only. All arguments outlive it. The notice in the pod holds all state:
// the next leader continues with it, and repeats unfinished steps. A pod is evicted only after
// three confirmations. Its agent repeats the request after the deadline. Its platform, if there is
// one, requests no more time. Its node still has the request right before the eviction.
class EvictionController : public ClusterObserver {
 public:
  struct Options {
    std::string name;  // of the scheduler, for Events
    NoticeOptions notice;
    std::function<std::string()> why_not;  // why this replica does not write now; empty: it does
    const bool* stopped = nullptr;
    std::function<std::int64_t()> seconds = {};  // since 1970; empty: the system's clock
    std::chrono::milliseconds every{1000};       // period of the check for due pods
  };
  // kUsage: which part of the platform's access cannot be used.
  static Result<std::unique_ptr<EvictionController>> make(
      const EvictionCause& ground, boost::asio::any_io_executor executor, kube::Client& client,
      const std::optional<kube::Access>& platform, NoticeCounts& counts, Options options);
  // `platform`: null: there is none.
  EvictionController(const EvictionCause& ground, boost::asio::any_io_executor executor,
                     kube::Client& client, std::unique_ptr<PlatformCallback> platform,
                     NoticeCounts& counts, Options options);

  void onNodeUpdate(const kube::Node& node) override;
  void onNodeDelete(const std::string& name) override;
  // Tracks pods with a notice of any leader: an agent may have withdrawn its request while no
  // replica led.
  void onPodUpdate(const kube::Pod& pod) override;
  void onPodDelete(const std::string& uid) override;

 private:
  // A pod and the node that names it. A node that the pod does not run on may name it too; that
  // request is ignored.
  using Key = std::pair<std::string, std::string>;  // UID, node
  struct TrackedPod {
    std::string namespace_name, name;
    std::optional<kube::EvictionRequest> said;  // current request of the node; none: withdrawn
    std::int64_t not_before = 0;                // time of the next step, seconds since 1970
    bool denied = false;                        // the pod is on another node
    std::string told;                           // last logged error
  };
  // A step for one pod, with the pod as the API server has it now.
  struct Work {
    Key key;
    kube::Pod pod;
    kube::Notice notice;
    std::string what;  // detail of the eviction request
  };
  using WorkPtr = std::shared_ptr<Work>;

  void merge();
  void startWork();
  boost::asio::awaitable<void> work();
  boost::asio::awaitable<void> settle(Key key);
  boost::asio::awaitable<void> give(WorkPtr work);
  boost::asio::awaitable<void> notify(WorkPtr work);
  boost::asio::awaitable<void> callOff(WorkPtr work);
  boost::asio::awaitable<void> due(WorkPtr work);
  boost::asio::awaitable<void> evict(WorkPtr work);
  // Notifies the platform. Returns the seconds that it requests; 0 without a platform. None: it did
  // not answer, which is logged.
  boost::asio::awaitable<std::optional<std::int64_t>> ask(CallbackKind news, const WorkPtr& work);
  // Reads the node. Returns true if the pod is still due.
  boost::asio::awaitable<bool> stillSo(const WorkPtr& work);
  // Reads the pod. None: the case is over, or the pod cannot be read.
  boost::asio::awaitable<std::optional<kube::Pod>> podOf(Key key);
  // Writes the notice into the pod, or removes it if `there` is false. Returns true if written.
  boost::asio::awaitable<bool> write(const WorkPtr& work, bool there);
  // Writes the condition and an Event. Returns true if the condition is written.
  boost::asio::awaitable<bool> publish(const WorkPtr& work, bool so, const char* reason,
                                       std::string message);
  std::string why(const Work& work, bool past = false) const {
    return ground_.why(work.notice, work.what, now(), past);
  }
  std::string warning(const Work& work) const;
  std::optional<kube::Notice> noticeOf(const kube::Pod& pod) const;
  boost::asio::awaitable<void> event(const WorkPtr& work, const char* reason, std::string message);
  void rest(const Key& key, std::int64_t seconds);
  void trouble(const Key& key, const std::string& what);
  std::int64_t now() const { return options_.seconds(); }

  const EvictionCause& ground_;
  boost::asio::any_io_executor executor_;
  kube::Client& client_;
  const std::unique_ptr<PlatformCallback> platform_;
  NoticeCounts& counts_;
  const Options options_;
  std::map<std::string, kube::Complaints> said_;  // eviction requests by node
  std::map<Key, TrackedPod> cases_;               // empty while another replica leads
  std::int64_t platform_again_ = 0;               // next call after an error, seconds since 1970
  bool working_ = false;
};

}  // namespace divvy::scheduler
