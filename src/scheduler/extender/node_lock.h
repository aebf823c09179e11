// Node locks: annotations that lock a node while a vendor's agent hands out devices to one pod. The
// agent finds its pod by the lock, and removes it. Source: facts on the incumbent's control plane,
// 2.3. Private.
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

// ---- text of locks; pure ----

struct LockHolder {
  std::string namespace_name, pod;
  friend bool operator==(const LockHolder&, const LockHolder&) = default;
};

// Returns the value of a lock: "2026-08-21T10:00:00Z,NAMESPACE,POD" for the lock of HAMi's agent,
// the instant alone for other keys (Cambricon's agents). `seconds`: since 1970.
std::string lockText(const std::string& key, std::int64_t seconds, const LockHolder& holder);

struct LockValue {
  std::int64_t seconds = 0;  // since 1970; 0: unreadable
  LockHolder holder;         // empty: the lock names no pod
};
LockValue parseLock(const std::string& text);

// Returns the time after which a lock expires: its pod may never have reached the agent. A lock
// that is as far in the future has expired, too.
std::chrono::seconds lockLife(const std::string& key);

// Returns the annotations by which a node is locked for the agents of `kinds`, ascending. `hami`:
// true if HAMi's agent runs on the node; without it, NVIDIA's devices need no lock.
std::vector<std::string> locksOf(const std::vector<const vendors::Kind*>& kinds, bool hami);

// ---- locking ----

// For the client's thread only. `client` outlives it.
class NodeLocks {
 public:
  explicit NodeLocks(kube::Client& client) : client_(client) {}

  // Takes all locks in `keys`, or none. Takes over locks that have expired, or name a pod that is
  // gone. `still`: false cancels the write. kUnavailable: another pod has a lock, or the API server
  // does not answer. It does not wait for a lock, so that kube-scheduler tries again.
  boost::asio::awaitable<Result<void>> take(std::string node, std::vector<std::string> keys,
                                            LockHolder holder, std::function<bool()> still);
  // Releases the locks in `keys` that `holder` has.
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
