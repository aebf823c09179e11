// Evicts a pod through the API, so that disruption budgets count. Source: the policy/v1 API.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include <boost/asio/awaitable.hpp>

#include "base/result.h"
#include "kube/client.h"

namespace divvy::kube {

enum class EvictionOutcome : std::uint8_t {
  kEvicted,    // the pod terminates; a watch reports its deletion
  kGone,       // no such pod, or another pod of that name
  kForbidden,  // a disruption budget does not allow it now
  kRefused,    // any other reason of the server
};

struct Eviction {
  EvictionOutcome end = EvictionOutcome::kRefused;
  std::string why;  // the server's message; empty if evicted
};

struct EvictionOptions {
  std::string namespace_name, name, uid;  // only the pod of this UID is evicted
  // As Call::still.
  std::function<bool()> still = {};
  bool dry_run = false;  // the server checks rights and budgets, and evicts nothing
};

// Returns the outcome of a reply to an eviction. Pure. kUnavailable: the server did not decide
// (408, 429 without a budget, 5xx).
Result<Eviction> evictionOf(const Reply& reply);

// Evicts a pod in one attempt; a budget that forbids it is not waited for. kUnavailable: without a
// reply the pod may be evicted or not; with one the server was overloaded or failed. Other errors
// are those of Client::send().
boost::asio::awaitable<Result<Eviction>> evict(Client& client, EvictionOptions ask);

}  // namespace divvy::kube
