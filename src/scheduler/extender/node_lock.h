// What a node is locked by while a vendor's agent hands out devices to one pod: the agent finds its
// pod by it, and takes it away. Source: facts on the incumbent's control plane, 2.3. Private.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <boost/asio/awaitable.hpp>

#include "kube/client.h"
#include "kube/object.h"
#include "vendors/descriptor.h"

namespace divvy::scheduler {

// ---- what stands there; pure ----

struct LockHolder {
  std::string space, pod;
  friend bool operator==(const LockHolder&, const LockHolder&) = default;
};

// "2026-08-21T10:00:00Z,NAMESPACE,POD". Cambricon's agents know the instant only.
std::string lockText(const std::string& key, std::int64_t seconds, const LockHolder& holder);

struct LockValue {
  std::int64_t seconds = 0;  // since 1970; unreadable: 0
  LockHolder holder;         // empty: nobody is named
};
LockValue parseLock(const std::string& text);

// How long it holds: its pod may never have come to its agent.
std::chrono::seconds lockLife(const std::string& key);

// By which annotations a node is locked for the agents of these. NVIDIA's devices may be served by
// an agent that needs none: `hami`: HAMi's is there.
std::vector<std::string> locksOf(const std::vector<const vendors::Kind*>& kinds, bool hami);

// ---- at work ----

// For one thread, that of the client, which outlives it.
class NodeLocks {
 public:
  explicit NodeLocks(kube::Client& client) : client_(client) {}

  // All of them, or none. kUnavailable: another pod has one, or the server does not answer; at
  // once, so that kube-scheduler asks again. Those that expired, or whose pod is gone, are taken.
  boost::asio::awaitable<Result<void>> take(std::string node, std::vector<std::string> keys,
                                            LockHolder holder, std::function<bool()> still);
  // Those that are this pod's.
  boost::asio::awaitable<void> give(std::string node, std::vector<std::string> keys,
                                    LockHolder holder);

 private:
  boost::asio::awaitable<Result<void>> takeOnce(const std::string& node,
                                                const std::vector<std::string>& keys,
                                                const LockHolder& holder,
                                                const std::function<bool()>& still, bool* again);
  boost::asio::awaitable<bool> gone(LockHolder holder);

  kube::Client& client_;
};

}  // namespace divvy::scheduler
