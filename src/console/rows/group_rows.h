// Rows that sum up shares of a cluster: by workload, queue, pool, team and served model. Pure.
#pragma once

#include <string_view>
#include <vector>

#include "rows/cluster_rows.h"

namespace divvy::console {

const std::vector<std::string_view>& workloadFields();
const std::vector<std::string_view>& queueFields();
const std::vector<std::string_view>& poolFields();
const std::vector<std::string_view>& teamFields();
const std::vector<std::string_view>& servedModelFields();

// `shares`: of all pods.
Rows workloadRows(const ClusterReading& reading, const std::vector<ContainerShare>& shares);
Rows teamRows(const ClusterReading& reading, const std::vector<ContainerShare>& shares);
Rows servedModelRows(const std::vector<ContainerShare>& shares);
Rows queueRows(const std::vector<kube::Queue>& queues);
Rows poolRows(const ClusterReading& reading);

}  // namespace divvy::console
