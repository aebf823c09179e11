// Where Prometheus finds an agent's /metrics.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace divvy::agent {

struct MetricsOptions {
  std::string host = "127.0.0.1";
  std::uint16_t port = 9394;  // 0: any that is free; the log says which
  bool hami = false;          // under the names of HAMi's monitor, too
  // Of pods' labels those that divvy_tenant_labels has, by their keys.
  std::vector<std::string> pod_labels = {};
};

// As kube-state-metrics calls it: "app.kubernetes.io/name" is label_app_kubernetes_io_name. Pure.
std::string metricsLabelOf(const std::string& key);
// "team,example.com/project". kUsage: what is no key of a label, or two with the same name here.
Result<std::vector<std::string>> parsePodLabels(std::string_view text);

}  // namespace divvy::agent
