// Asking that a pod ends, in the way that heeds disruption budgets. Source: the policy/v1 API.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include <boost/asio/awaitable.hpp>

#include "base/result.h"
#include "kube/client.h"

namespace divvy::kube {

enum class EvictionOutcome : std::uint8_t {
  kEvicted,    // it ends; it is gone when the watch says so
  kGone,       // there is no such pod (any more), or another of its name
  kForbidden,  // a disruption budget does not allow it now
  kRefused,    // for any other reason that the server gave
};

struct Eviction {
  EvictionOutcome end = EvictionOutcome::kRefused;
  std::string why;  // the server's words; empty: it is evicted
};

struct EvictionOptions {
  std::string space, name, uid;  // only the pod of that UID
  // As Call has it.
  std::function<bool()> still = {};
};

// What a reply to such a call says. Pure. kUnavailable: that it could not be decided.
Result<Eviction> evictionOf(const Reply& reply);

// One try: whoever forbids it is not waited for. Errors (kUnavailable): no answer, and it may be
// evicted or not, or the server had no time for it.
boost::asio::awaitable<Result<Eviction>> evict(Client& client, EvictionOptions ask);

}  // namespace divvy::kube
