// Evicts pods whose devices nobody uses: tells them, their platform, and whoever looks at them.
// Private.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include "idle_step.h"
#include "kube/client.h"
#include "kube/node.h"
#include "kube/pod.h"
#include "metrics.h"
#include "platform.h"

namespace divvy::scheduler {

// For one thread, that of the client. All outlives it. What is to become of a pod stands in the
// pod: whoever leads next goes on with it. A pod is evicted only after its node said right before
// that it is still idle, and its platform, where there is one, that it needs no more time.
class IdleDesk {
 public:
  struct Terms {
    std::string name;  // of the scheduler, for Events
    IdleTerms idle;
    std::function<std::string()> why_not;  // nothing is written here now; empty: it is
    const bool* stopped = nullptr;
    std::function<std::int64_t()> seconds = {};  // since 1970; empty: the system's clock
    std::chrono::milliseconds every{1000};       // looks at those who are due
  };
  // kUsage: what of the platform's access cannot be used.
  static Result<std::unique_ptr<IdleDesk>> make(boost::asio::any_io_executor executor,
                                                kube::Client& client,
                                                const std::optional<kube::Access>& platform,
                                                IdleCounts& counts, Terms terms);
  // `platform` may be null: nobody is asked.
  IdleDesk(boost::asio::any_io_executor executor, kube::Client& client,
           std::unique_ptr<Platform> platform, IdleCounts& counts, Terms terms);

  void heard(const kube::Node& node);
  void gone(const std::string& node);
  // Pods that were told, by whomever: an agent may have taken back what it said while nobody led.
  void see(const kube::Pod& pod);
  void forget(const std::string& uid);

 private:
  struct Case {
    std::string node;
    kube::IdlePod pod;
    std::optional<std::int64_t> since;  // as the node says now; none: not idle
    std::int64_t not_before = 0;        // something could not be done: seconds since 1970
    std::string told;                   // of trouble, last
  };
  using Cases = std::map<std::string, Case>;  // by UID

  void drop(const std::string& node, const kube::IdlePods& but);
  void look();
  boost::asio::awaitable<void> work();
  boost::asio::awaitable<void> settle(std::string uid);
  boost::asio::awaitable<void> notice(std::string uid, kube::Pod pod);
  boost::asio::awaitable<void> callOff(std::string uid, kube::Pod pod, kube::IdleState state);
  boost::asio::awaitable<void> due(std::string uid, kube::Pod pod, kube::IdleState state);
  boost::asio::awaitable<void> evict(std::string uid, kube::IdleState state);
  // The platform's word; none: there is no platform, or it could not be had, which is told.
  boost::asio::awaitable<std::optional<std::int64_t>> tellPlatform(PlatformNews news,
                                                                   std::string uid,
                                                                   kube::IdleState state);
  // Whether the node says now that it is as idle as it was.
  boost::asio::awaitable<bool> stillIdle(std::string uid, kube::IdleState state);
  boost::asio::awaitable<Result<kube::Pod>> podOf(std::string uid);
  boost::asio::awaitable<bool> write(const kube::Pod& pod, std::optional<kube::IdleState> state);
  // A condition, and an Event.
  boost::asio::awaitable<void> tell(std::string uid, bool idle, const char* reason,
                                    std::string message);
  void trouble(const std::string& uid, const std::string& what, std::int64_t seconds);

  boost::asio::any_io_executor executor_;
  kube::Client& client_;
  const std::unique_ptr<Platform> platform_;
  IdleCounts& counts_;
  const Terms terms_;
  Cases cases_;
  bool working_ = false;
};

}  // namespace divvy::scheduler
