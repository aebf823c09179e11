// Where Prometheus scrapes an agent's /metrics.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace divvy::agent {

struct MetricsOptions {
  std::string host = "127.0.0.1";
  std::uint16_t port = 9394;  // 0: any free port; the log has it
  bool hami = false;          // also under the names of HAMi's monitor
  bool deprecated = true;     // also under the names of the release before
  // Keys of the pod labels that divvy_tenant_labels has.
  std::vector<std::string> pod_labels = {};
};

// Prometheus' name of a pod label, as in kube-state-metrics: "app.kubernetes.io/name" is
// label_app_kubernetes_io_name. Pure.
std::string metricsLabelOf(const std::string& key);
// Parses "team,example.com/project". kUsage: not a key of a label, or two keys with the same
// Prometheus name.
Result<std::vector<std::string>> parsePodLabels(std::string_view text);

}  // namespace divvy::agent
