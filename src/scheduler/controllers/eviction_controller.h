// Acts on what agents say against pods of their nodes: tells the pod, its platform and whoever
// looks at it, and evicts it. Private.
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

// A kind of complaint.
struct EvictionCause {
  const char *node_key, *pod_key;  // kube/eviction_request.h
  const char* condition;           // of the pod; its reasons, and Events' too:
  const char *reason, *over_reason, *evicted_reason;
  const char* over;  // told when nothing is complained of any more
  // Why, told with the notice (in the present) and with the eviction (in the past).
  std::string (*why)(const kube::Notice& notice, const std::string& what, std::int64_t now,
                     bool past);
  const char* unless;  // it is evicted, unless ...
};
extern const EvictionCause kIdleGround;    // nobody uses what it was given
extern const EvictionCause kBypassGround;  // it uses what it was not given

// For one thread, that of the client. All outlives it. What is to become of a pod stands in the
// pod: whoever leads next goes on with it, and what was begun and not finished is done again. A pod
// is evicted only after its agent said, past the deadline, that it is so still, its platform,
// where there is one, that it needs no more time, and its node right before that nothing has
// changed.
class EvictionController : public ClusterObserver {
 public:
  struct Options {
    std::string name;  // of the scheduler, for Events
    NoticeOptions notice;
    std::function<std::string()> why_not;  // nothing is written here now; empty: it is
    const bool* stopped = nullptr;
    std::function<std::int64_t()> seconds = {};  // since 1970; empty: the system's clock
    std::chrono::milliseconds every{1000};       // looks at those who are due
  };
  // kUsage: what of the platform's access cannot be used.
  static Result<std::unique_ptr<EvictionController>> make(
      const EvictionCause& ground, boost::asio::any_io_executor executor, kube::Client& client,
      const std::optional<kube::Access>& platform, NoticeCounts& counts, Options options);
  // `platform` may be null: nobody is asked.
  EvictionController(const EvictionCause& ground, boost::asio::any_io_executor executor,
                     kube::Client& client, std::unique_ptr<PlatformCallback> platform,
                     NoticeCounts& counts, Options options);

  void onNodeUpdate(const kube::Node& node) override;
  void onNodeDelete(const std::string& name) override;
  // Pods that were told, by whomever: an agent may have taken back what it said while nobody led.
  void onPodUpdate(const kube::Pod& pod) override;
  void onPodDelete(const std::string& uid) override;

 private:
  // A pod as one node names it: another node may name it, too, and is not believed.
  using Key = std::pair<std::string, std::string>;  // UID, node
  struct TrackedPod {
    std::string space, name;
    std::optional<kube::EvictionRequest> said;  // by the node now; none: nothing
    std::int64_t not_before = 0;                // nothing is to be done: seconds since 1970
    bool denied = false;                        // it is on another node
    std::string told;                           // of trouble, last
  };
  // What is done for one pod: as the API server has it now.
  struct Work {
    Key key;
    kube::Pod pod;
    kube::Notice notice;
    std::string what;  // of the complaint
  };
  using WorkPtr = std::shared_ptr<Work>;

  void merge();
  void look();
  boost::asio::awaitable<void> work();
  boost::asio::awaitable<void> settle(Key key);
  boost::asio::awaitable<void> give(WorkPtr work);
  boost::asio::awaitable<void> tellAll(WorkPtr work);
  boost::asio::awaitable<void> callOff(WorkPtr work);
  boost::asio::awaitable<void> due(WorkPtr work);
  boost::asio::awaitable<void> evict(WorkPtr work);
  // The platform's word; none: it could not be had, which is told. Without a platform: 0.
  boost::asio::awaitable<std::optional<std::int64_t>> ask(CallbackKind news, const WorkPtr& work);
  // Whether the node says now what it said.
  boost::asio::awaitable<bool> stillSo(const WorkPtr& work);
  // None: it is over, or could not be had.
  boost::asio::awaitable<std::optional<kube::Pod>> podOf(Key key);
  boost::asio::awaitable<bool> write(const WorkPtr& work, bool there);
  // A condition, and an Event; whether the condition is there.
  boost::asio::awaitable<bool> tell(const WorkPtr& work, bool so, const char* reason,
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
  std::map<std::string, kube::Complaints> said_;  // by node
  std::map<Key, TrackedPod> cases_;               // only while we lead
  std::int64_t platform_again_ = 0;  // it did not answer: not before, seconds since 1970
  bool working_ = false;
};

}  // namespace divvy::scheduler
