// Writes the admission check divvy.dev/fit: its condition, and its state for workloads. Private.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <boost/asio/awaitable.hpp>

#include "base/result.h"
#include "kube/client.h"
#include "kube/kueue.h"
#include "kueue/workload_fit.h"

namespace divvy::scheduler {

// The outcome of a write.
enum class FitWrite : std::uint8_t {
  kWritten,
  kConflict,  // the workload has changed since the decision
  kGone,      // the workload was deleted
  kFailed,    // logged
};

// For the client's thread only.
class FitWriter {
 public:
  // `client` outlives it. `may_act`: whether this replica writes now.
  FitWriter(kube::Client& client, std::function<bool()> may_act)
      : client_(client), may_act_(std::move(may_act)) {}

  // Writes a decision for `checks`, by server-side apply. The API server refuses it if the workload
  // has another version by now. It outlives the call, as do the arguments.
  boost::asio::awaitable<FitWrite> write(const kube::KueueWorkload& workload,
                                         const std::vector<std::string>& checks,
                                         const FitDecision& decision);
  // Writes the condition Active of an AdmissionCheck.
  boost::asio::awaitable<void> activate(kube::KueueCheck check);

 private:
  kube::Client& client_;
  std::function<bool()> may_act_;
};

// Returns the body that writes a decision. `seconds`: since 1970. Pure.
std::string fitPatch(const kube::KueueWorkload& workload, const std::vector<std::string>& checks,
                     const FitDecision& decision, std::int64_t seconds);

}  // namespace divvy::scheduler
