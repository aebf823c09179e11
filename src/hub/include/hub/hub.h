// The hub: serves the free capacity of several clusters, and nominates worker clusters of
// MultiKueue.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "hub/worker_price.h"
#include "kube/access.h"

namespace divvy::hub {

struct WorkerOptions {
  std::string name;  // of its MultiKueueCluster, if it is one
  kube::Access access;
  WorkerPrice price = WorkerPrice::kPrivate;
};

struct HubOptions {
  std::vector<WorkerOptions> workers;
  std::string scheduler_namespace, scheduler_service;  // of Divvy's scheduler, in each worker
  std::string host = "127.0.0.1";
  std::uint16_t port = 0;  // 0: any free one
  // The API server of the manager cluster. None: no workload is dispatched.
  std::optional<kube::Access> manager;
  std::chrono::milliseconds spill_after{0};  // before an on-demand cluster is nominated
  bool clears_nominations = false;  // the manager clears nominations, although Kueue applies them
  std::function<Result<void>(std::uint16_t port)> started = {};  // called once it serves
};

// Serves until SIGTERM or SIGINT. kUsage: an access cannot be used. kIo: the address is not
// available.
Result<void> serve(const HubOptions& options);

}  // namespace divvy::hub
